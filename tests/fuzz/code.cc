// Machine code: the first piece of the input is the code of two functions, of which the second has kLast bytes; the
// second piece is read-only data, with jump tables perhaps. Whatever can be moved is moved and written.

#include "fuzz.h"
#include "linker-rewrite/decide/movability.h"
#include "linker-rewrite/decide/selection.h"
#include "linker-rewrite/move/entry_jumps.h"
#include "linker-rewrite/move/relocate.h"
#include "linker-rewrite/program/fragments.h"
#include "tests/unit/elf_fixture.h"

using namespace profld;

namespace {

constexpr uint64_t kCode = 0x1000, kLast = 8, kCopies = 0x100000;

// .eh_frame with a CIE and an FDE for each range: CFA rsp+8 throughout.
Bytes unwind_table(uint64_t at, const std::vector<OldRange>& ranges) {
  Bytes out;
  const uint8_t cie[] = {0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0};
  append_bytes(out, cie);
  for (const OldRange& r : ranges) {
    append(out, uint32_t(16));
    append(out, uint32_t(out.size()));
    append(out, int32_t(r.start.value - (at + out.size())));
    append(out, uint32_t(r.size()));
    append(out, uint32_t(0));
  }
  append(out, uint32_t(0));
  return out;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fuzz::Pieces pieces = fuzz::split(data, size);
  if (pieces.first.size() <= kLast || pieces.first.size() > 0x1000) return 0;
  const OldAddr start(kCode), end = start + pieces.first.size(), middle = end - kLast;
  const uint64_t tables = align_up(end.value, 0x1000);
  elf_fixture::SmallElf elf;
  elf.type = size % 2 ? ET_DYN : ET_EXEC;
  elf.loads.push_back({kCode, PF_R | PF_X, Bytes(pieces.first.begin(), pieces.first.end())});
  elf.loads.push_back({tables, PF_R, unwind_table(tables, {{start, middle}, {middle, end}})});
  elf.eh_frame = {tables, elf.loads.back().bytes.size()};
  append_bytes(elf.loads.back().bytes, pieces.second);
  const Image image = elf.image();
  fuzz::expecting_errors([&] {
    const EhFrame frames = read_eh_frame(image);
    Program program = group_functions(image, frames, find_functions(image, frames));
    find_reasons_to_stay(program, find_data_references(program));
    select_groups(program, {});
    const std::vector<EntryJump> entry_jumps = place_entry_jumps(program);
    Relocator relocator(program, HookSlots(NewAddr(0x80000)), std::nullopt);
    relocator.plan(NewAddr(kCopies));
    Bytes text, clones;
    relocator.emit(NewAddr(align_up(kCopies + relocator.text_size(), 8)), text, clones, [] {});
    relocator.patches(entry_jumps);
  });
  return 0;
}
