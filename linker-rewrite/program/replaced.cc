#include "replaced.h"

#include <algorithm>
#include <string_view>

#include "linker-rewrite/base/refusal.h"
#include "linker-rewrite/x86/encoding.h"

namespace profld {

namespace {

constexpr ReplacedFunction kReplaced[] = {{"prctl", "_profprctl.libprof", {}}, {"syscall", "_profsyscall.libprof", {}}};

// A library that stands before the C library (LD_PRELOAD) may have functions of these names, too, which must go on to
// run. Only C libraries have the function that starts a program.
constexpr const char* kOfCLibrariesOnly = "__libc_start_main";

const Symbol* find_function(const Image& image, std::string_view name) {
  const auto symbol = std::ranges::find_if(image.dynamic_symbols(), [&](const Symbol& s) {
    return s.name == name && s.section != SHN_UNDEF && s.type == STT_FUNC;
  });
  return symbol == image.dynamic_symbols().end() ? nullptr : &*symbol;
}

bool is_jumped_to(const Code& code, OldRange bytes) {
  return std::ranges::any_of(code.insns, [&](const Insn& insn) {
    const bool jumps = insn.flow == Flow::jump || insn.flow == Flow::jump_if || insn.flow == Flow::jump_if_short;
    return jumps && bytes.contains(code.target(insn));
  });
}

}  // namespace

std::vector<ReplacedFunction> replaced_functions(const Image& image) {
  std::vector<ReplacedFunction> found;
  if (image.link_type() != LinkType::shared_library || !find_function(image, kOfCLibrariesOnly)) return found;
  for (ReplacedFunction f : kReplaced) {
    const Symbol* symbol = find_function(image, f.name);
    if (!symbol) return {};
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
