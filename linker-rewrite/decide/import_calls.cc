// Functions of other files (imports) have no copies with hooks. So the hooks stand where the program calls them, one
// before the call and one after it, and what is recorded looks as if the function had hooks of its own: it has a node,
// and so have the functions of the program that it calls (the comparison of qsort).
//
// The function called may leave by longjmp, by an exception or not at all. The call after it is not reached then; the
// runtime drops the frame when it sees that it is gone, as it does with the frames of functions (shadow_stack.cc). No
// return address is changed, and the arguments, on the stack too, are where they would be.
//
// A tail jump leaves nothing to come back to. It is counted, and the time goes to the function that called the one that
// jumps, as with all code that has no hooks. To make a call of it would move the arguments on the stack.
//
// Left alone are functions
//
//   * that return twice (setjmp), or go on with another stack (swapcontext): hooks after the call would run a second
//     time, and after vfork in a second process that shares the memory;
//   * that compilers call in their own way: __tls_get_addr, whose call linkers may find by its bytes, and mcount, which
//     is called before the function has begun and looks at its caller.
//
// There is no other mark of these than their names. And a function that is called through a pointer in a register is
// not seen: nothing tells which it is.

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/program/fragments.h"
#include "linker-rewrite/program/imports.h"
#include "selection.h"

namespace profld {

namespace {

// Without the underscores before them: libraries have several spellings of each.
constexpr std::string_view kReturnTwice[] = {"getcontext", "savectx",     "setcontext", "setjmp",
                                             "sigsetjmp",  "swapcontext", "vfork"};
constexpr std::string_view kCalledByCompilers[] = {"fentry__", "mcount", "tls_get_addr"};

bool is_special(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  return std::ranges::find(kReturnTwice, name) != std::end(kReturnTwice) ||
         std::ranges::find(kCalledByCompilers, name) != std::end(kCalledByCompilers);
}

struct Site {
  uint32_t group;
  InsnRef at;
  uint32_t symbol;
  OldAddr through;  // a stub, or the word in the GOT
  bool is_stub, is_tail_jump;
};

bool is_indirect_tail_jump(const Group& group, InsnRef at) {
  return std::ranges::any_of(group.indirect.jumps,
                             [&](const IndirectJump& j) { return j.at == at && j.kind == JumpKind::tail_call; });
}

// In a file without section headers, nothing but their bytes tells stubs from functions.
bool has_moved(const Program& program, OldAddr target) {
  const ptrdiff_t range = program.range_of(target);
  return range >= 0 && program.groups[program.ranges[size_t(range)].group].moves();
}

// Appends the calls of imports in one group.
void find_sites(const Program& program, const ImportTable& imports, uint32_t g, std::vector<Site>& sites) {
  const Group& group = program.groups[g];
  for (uint32_t part = 0; part < group.code.parts.size(); ++part) {
    const Code& code = group.code.parts[part];
    const CodeRange& range = program.ranges[group.ranges[part]];
    for (uint32_t i = 0; i < code.insns.size(); ++i) {
      const Insn& insn = code.insns[i];
      const bool indirect = insn.flow == Flow::call_indirect || insn.flow == Flow::jump_indirect;
      const bool calls = insn.flow == Flow::call || insn.flow == Flow::call_indirect;
      const bool jumps = insn.flow == Flow::jump || insn.flow == Flow::jump_if || insn.flow == Flow::jump_if_short ||
                         insn.flow == Flow::jump_indirect;
      if ((!calls && !jumps) || (indirect && !insn.rip_relative)) continue;
      const OldAddr target = code.target(insn);
      if (!indirect && (range.range.contains(target) || has_moved(program, target))) continue;
      const std::optional<uint32_t> symbol = imports.symbol_called(code, insn);
      if (!symbol) continue;
      if (jumps && !(indirect ? is_indirect_tail_jump(group, {part, i})
                              : is_tail_call(program, range, code.address(insn), target)))
        continue;
      sites.push_back({.group = g,
                       .at = {part, i},
                       .symbol = *symbol,
                       .through = target,
                       .is_stub = !indirect,
                       .is_tail_jump = jumps});
    }
  }
}

}  // namespace

ImportCallCounts select_import_calls(Program& program, const Selection& selection) {
  ImportCallCounts counts;
  const ImportTable table(*program.image);
  if (!selection.imports || selection.no_hooks || table.empty()) return counts;
  const std::vector<Site> sites = parallel_collect<Site>(program.groups.size(), [&](size_t g, std::vector<Site>& out) {
    if (program.groups[g].selected) find_sites(program, table, uint32_t(g), out);
  });

  const std::vector<Symbol>& symbols = program.image->dynamic_symbols();
  const NameSelection names(selection, *program.image);
  const Selection kept_alone = kept_by(selection);
  const NameSelection kept(kept_alone, *program.image);
  constexpr uint32_t kLeft = UINT32_MAX, kSpecial = UINT32_MAX - 1;
  std::unordered_map<uint32_t, uint32_t> chosen;  // by symbol: index in Program::imports, or one of these
  for (const Site& site : sites) {
    const std::string& name = symbols[site.symbol].name;
    const auto [known, is_new] = chosen.try_emplace(site.symbol, kLeft);
    const bool is_wanted = selection.imports_only.empty() || selection.imports_only.contains(name);
    if (is_new && is_wanted && is_special(name)) known->second = kSpecial;
    if (is_new && is_wanted && known->second != kSpecial && names.has(name)) {
      known->second = uint32_t(program.imports.size());
      program.imports.push_back({.name = name, .address = site.through, .has_stub = site.is_stub});
      program.imports.back().keeps_hooks = !selection.keep.empty() && kept.has(name);
    }
    // Nothing is known of how long a tail call lasts.
    if (known->second == kLeft || (site.is_tail_jump && program.hooks_leave)) continue;
    if (known->second == kSpecial) {
      ++counts.to_special;
      continue;
    }
    Group& group = program.groups[site.group];
    if (!group.moves() || !group.hooked) {
      ++counts.from_unhooked;
      continue;
    }
    Import& import = program.imports[known->second];
    if (site.is_stub && !import.has_stub) {
      import.address = site.through;
      import.has_stub = true;
    }
    (site.is_tail_jump ? import.is_jumped_to : import.is_called) = true;
    ++(site.is_tail_jump ? counts.tail_jumps : counts.calls);
    group.import_calls.push_back({site.at, known->second});
  }
  return counts;
}

}  // namespace profld
