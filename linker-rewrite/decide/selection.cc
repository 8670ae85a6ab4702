#include "selection.h"

#include <algorithm>

#include "ifunc.h"
#include "linker-rewrite/program/fragments.h"
#include "linker-rewrite/program/replaced.h"
#include "name_selection.h"

namespace profld {

namespace {

bool has_loop(const Group& g) {
  for (const Code& code : g.code.parts)
    for (const Insn& insn : code.insns)
      if ((insn.flow == Flow::jump || insn.flow == Flow::jump_if || insn.flow == Flow::jump_if_short) &&
          code.target(insn) <= code.address(insn))
        return true;
  return false;
}

uint64_t size_of(const Group& g) {
  uint64_t size = 0;
  for (const Code& part : g.code.parts) size += part.range.size();
  return size;
}

}  // namespace

bool is_leaf(const Program& program, const Group& g) {
  auto leaves_by = [&](const CodeRange& from, const Insn& insn) {
    if (insn.flow == Flow::call || insn.flow == Flow::call_indirect) return true;
    const bool jumps = insn.flow == Flow::jump || insn.flow == Flow::jump_if || insn.flow == Flow::jump_if_short;
    return jumps && is_tail_call(program, from, program.code(from).address(insn), program.code(from).target(insn));
  };
  for (uint32_t r : g.ranges)
    for (const Insn& insn : program.code(program.ranges[r]).insns)
      if (leaves_by(program.ranges[r], insn)) return false;
  return std::ranges::none_of(g.indirect.jumps, [](const IndirectJump& j) { return j.kind == JumpKind::tail_call; });
}

bool is_small(const Program& program, const Group& g) {
  return size_of(g) <= kSmallFunction && !has_loop(g) && g.indirect.jumps.empty() && is_leaf(program, g);
}

void select_groups(Program& program, const Selection& s) {
  for (Group& g : program.groups) {
    g.selected = false;
    g.left_out.reset();
  }
  const NameSelection names(s, *program.image);
  for (const CodeRange& r : program.ranges)
    if (!r.fragment && names.has(r)) program.groups[r.group].selected = true;
  for (Group& g : program.groups) {
    if (size_of(g) < s.min_size || (s.no_leaves && is_leaf(program, g))) g.selected = false;
  }
  if (program.image->link_type() == LinkType::shared_library) {
    for (const ReplacedFunction& f : replaced_functions(*program.image))
      if (const ptrdiff_t r = program.range_of(f.address); r >= 0)
        program.groups[program.ranges[size_t(r)].group].left_out = LeftOut::replaced;
    for (uint32_t g : groups_of_resolvers(program))
      if (program.groups[g].selected) program.groups[g].left_out = LeftOut::chosen_by_resolver;
    if (!s.all && s.only.empty())
      for (Group& g : program.groups)
        if (g.selected && !g.left_out && is_small(program, g)) g.left_out = LeftOut::too_small;
  }
  for (Group& g : program.groups) {
    if (g.left_out) g.selected = false;
    g.hooked = g.selected && !s.no_hooks;
  }
}

}  // namespace profld
