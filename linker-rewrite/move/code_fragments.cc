// A stack that overflows is an exception in OCaml, Stack_overflow. The run-time system's handler of SIGSEGV raises it if the
// fault is near the stack pointer and the program counter is in OCaml's code; what overflows elsewhere ends the program.
// Where that code is the run-time system registers when it starts, as CODE FRAGMENTS: one for all modules, and one for its
// own code in assembly. Values, too, refer to the first (Marshal writes closures as places in it), and these keep the
// original's addresses. So the fragments stay as they are, and there are more of them: the copies of both, and the hooks,
// which touch the stack before a function does, and so meet its end first.
//
// The run-time system's call for its code in assembly, which it tells apart by two labels, gets another function in its
// place. That makes the call, and then one for each of the new fragments (x86/range_calls.h). They are told, as the code
// in assembly is, to be of no use for Marshal. Plugins are registered in another way; a stack that overflows in a copy of
// theirs ends the program.

#include "code_fragments.h"

#include <algorithm>
#include <string_view>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/x86/semantics.h"

namespace profld {

namespace {

const Symbol* find_symbol(const Image& image, std::string_view name) {
  for (const auto* symbols : {&image.dynamic_symbols(), &image.symbols()})
    for (const Symbol& s : *symbols)
      if (s.name == name && s.section != SHN_UNDEF) return &s;
  return nullptr;
}

// From the first module's code to the end of the last one's, by the labels that each module has. The code in assembly
// has such labels, too.
OldRange code_of_modules(const Image& image, OldRange in_assembly) {
  OldRange all{OldAddr(UINT64_MAX), OldAddr()};
  for (const auto* symbols : {&image.dynamic_symbols(), &image.symbols()})
    for (const Symbol& s : *symbols) {
      if (s.section == SHN_UNDEF || !s.name.starts_with("caml")) continue;
      if (s.address >= in_assembly.start && s.address <= in_assembly.end) continue;
      if (s.name.ends_with("__code_begin")) all.start = std::min(all.start, s.address);
      if (s.name.ends_with("__code_end")) all.end = std::max(all.end, s.address);
    }
  return all;
}

// Whether one of the few instructions before the call has that address in it: that of the first argument.
bool passes(const Image& image, const Code& code, size_t call, OldAddr address) {
  constexpr size_t kMax = 8;
  for (size_t i = call; i-- > 0 && call - i <= kMax && code.insns[i].flow == Flow::next;) {
    const Insn& insn = code.insns[i];
    if (insn.rip_relative && takes_address(code, insn) && code.target(insn) == address) return true;
    const Semantics op = semantics_of(code, insn);
    if (!image.is_position_independent() && op.immediate_field != 0 && uint64_t(op.immediate) == address.value)
      return true;
  }
  return false;
}

}  // namespace

std::optional<FragmentCall> find_fragment_call(const Program& program) {
  const Image& image = *program.image;
  if (program.frame_tables.words.empty() || image.link_type() == LinkType::shared_library) return std::nullopt;
  const Symbol* const begin = find_symbol(image, "caml_system__code_begin");
  const Symbol* const end = find_symbol(image, "caml_system__code_end");
  const Symbol* const function = find_symbol(image, "caml_register_code_fragment");
  if (!begin || !end || !function) return std::nullopt;
  const OldRange in_assembly{begin->address, end->address};
  const auto calls =
      parallel_collect<FragmentCall>(program.groups.size(), [&](size_t g, std::vector<FragmentCall>& out) {
        for (uint32_t part = 0; part < program.groups[g].code.parts.size(); ++part) {
          const Code& code = program.groups[g].code.parts[part];
          for (uint32_t i = 0; i < code.insns.size(); ++i)
            if (code.insns[i].flow == Flow::call && code.target(code.insns[i]) == function->address &&
                passes(image, code, i, in_assembly.start))
              out.push_back({uint32_t(g), {part, i}, function->address, {}});
        }
      });
  if (calls.size() != 1) return std::nullopt;
  FragmentCall call = calls.front();
  call.ranges = {code_of_modules(image, in_assembly), in_assembly};
  return call;
}

std::vector<NewRange> copies_of_ranges(const std::vector<OldRange>& ranges, const CopyMap& copies) {
  std::vector<NewRange> found;
  for (const OldRange& range : ranges) {
    const auto& all = copies.copies();
    const auto first =
        std::ranges::lower_bound(all, range.start, {}, [](const RangeCopy& c) { return c.original.start; });
    const auto last = std::ranges::lower_bound(all, range.end, {}, [](const RangeCopy& c) { return c.original.start; });
    if (first < last) found.push_back({first->start, std::prev(last)->start + std::prev(last)->size});
  }
  return found;
}

}  // namespace profld
