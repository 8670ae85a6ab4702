#include "replaced.h"

#include <algorithm>

#include "linker-rewrite/base/refusal.h"
#include "linker-rewrite/x86/encoding.h"

namespace profld {

namespace {

constexpr ReplacedFunction kReplaced[] = {{"prctl", "_profprctl", {}}, {"syscall", "_profsyscall", {}}};

bool is_jumped_to(const Code& code, OldRange bytes) {
  return std::ranges::any_of(code.insns, [&](const Insn& insn) {
    const bool jumps = insn.flow == Flow::jump || insn.flow == Flow::jump_if || insn.flow == Flow::jump_if_short;
    return jumps && bytes.contains(code.target(insn));
  });
}

}  // namespace

std::vector<ReplacedFunction> replaced_functions(const Image& image) {
  std::vector<ReplacedFunction> found;
  if (image.link_type() != LinkType::shared_library) return found;
  for (ReplacedFunction f : kReplaced) {
    const auto symbol = std::ranges::find_if(image.dynamic_symbols(), [&](const Symbol& s) {
      return s.name == f.name && s.section != SHN_UNDEF && s.type == STT_FUNC;
    });
    if (symbol == image.dynamic_symbols().end()) return {};  // another library, with a function of that name
    f.address = symbol->address;
    found.push_back(f);
  }
  return found;
}

std::vector<Patch> replacement_patches(const Program& program, NewAddr slots) {
  std::vector<Patch> patches;
  for (const ReplacedFunction& f : replaced_functions(*program.image)) {
    const ptrdiff_t r = program.range_of(f.address);
    if (r < 0 || program.ranges[size_t(r)].range.start != f.address) throw refusal(Refusal::no_room_for_replacement);
    const Code& code = program.code(program.ranges[size_t(r)]);
    const OldAddr at = f.address + (starts_with_endbr64(code.bytes) ? kEndbr64Length : 0);
    const OldRange bytes{at, at + kJumpThroughLength};
    if (bytes.end > code.range.end || is_jumped_to(code, bytes)) throw refusal(Refusal::no_room_for_replacement);
    patches.push_back({*program.image->file_offset(at), jump_through_bytes(unmoved(at), slots)});
    slots += 8;
  }
  return patches;
}

}  // namespace profld
