// Unwind tables: the first piece of the input is .eh_frame, the second what lies after it, LSDAs perhaps. What is
// understood of them is rewritten for copies of the functions, and the result must be readable.

#include "fuzz.h"
#include "linker-rewrite/unwind/cfa.h"
#include "linker-rewrite/unwind/lsda.h"
#include "tests/unit/unwind_fixture.h"

using namespace profld;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kCode = 0x1000, kCodeSize = 0x400, kTables = 0x2000;
  const fuzz::Pieces pieces = fuzz::split(data, size);
  elf_fixture::SmallElf elf;
  elf.loads.push_back({kCode, PF_R | PF_X, Bytes(kCodeSize, 0x90)});
  elf.loads.push_back({kTables, PF_R, Bytes(pieces.first.begin(), pieces.first.end())});
  append_bytes(elf.loads.back().bytes, pieces.second);
  if (elf.loads.back().bytes.empty()) return 0;
  elf.eh_frame = {kTables, pieces.first.size()};
  const Image image = elf.image();
  fuzz::expecting_errors([&] {
    const EhFrame frames = read_eh_frame(image);
    for (const Fde& f : frames.fdes) {
      read_lsda(image, frames, f);
      for (OldAddr a : {f.range.start, f.range.start + f.range.size() / 2, f.range.end - 1})
        frame_is_empty_at(frames, f, a);
    }
    unwind_fixture::rewrite(image, frames, unsigned(size));
  });
  return 0;
}
