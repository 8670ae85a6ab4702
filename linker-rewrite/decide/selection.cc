#include "selection.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "linker-rewrite/names/pattern.h"
#include "linker-rewrite/program/fragments.h"
#include "linker-rewrite/program/program.h"
#include "linker-rewrite/program/replaced.h"
#include "linker-rewrite/text/numbers.h"

namespace profld {

namespace {

// Functions that a library chooses among when it is loaded: strlen for this processor or for that one.

// The group of the function that starts at `a`, or -1.
ptrdiff_t group_at(const Program& program, OldAddr a) {
  const ptrdiff_t r = program.range_of(a);
  if (r < 0 || program.ranges[size_t(r)].range.start != a) return -1;
  return ptrdiff_t(program.ranges[size_t(r)].group);
}

// Groups (indexes) with resolvers of IFUNC symbols.
std::vector<uint32_t> resolvers_of(const Program& program) {
  std::vector<uint32_t> resolvers;
  const auto add = [&](OldAddr a) {
    if (const ptrdiff_t g = group_at(program, a); g >= 0) resolvers.push_back(uint32_t(g));
  };
  const Image& image = *program.image;
  for (const auto* table : {&image.symbols(), &image.dynamic_symbols()})
    for (const Symbol& s : *table)
      if (s.type == STT_GNU_IFUNC && s.section != SHN_UNDEF) add(s.address);
  for (const Relocation& r : image.relocations())
    if (r.type == R_X86_64_IRELATIVE) add(OldAddr(uint64_t(r.addend)));
  return resolvers;
}

// Groups with functions that these may choose. A resolver chooses among the functions whose addresses it takes.
std::vector<uint32_t> chosen_by(const std::vector<uint32_t>& resolvers, const Program& program) {
  std::vector<uint32_t> groups;
  for (uint32_t resolver : resolvers)
    for (const Code& code : program.groups[resolver].code.parts)
      for (const Insn& insn : code.insns)
        if (insn.rip_relative && takes_address(code, insn))
          if (const ptrdiff_t g = group_at(program, code.target(insn)); g >= 0) groups.push_back(uint32_t(g));
  return groups;
}

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

Selection kept_by(const Selection& s) {
  Selection kept;
  kept.only = s.keep;
  kept.debug_names = s.debug_names;
  return kept;
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
    std::vector<uint32_t> resolvers = resolvers_of(program);
    const std::vector<uint32_t> chosen = s.no_hooks ? std::vector<uint32_t>() : chosen_by(resolvers, program);
    resolvers.insert(resolvers.end(), chosen.begin(), chosen.end());
    for (uint32_t g : resolvers)
      if (program.groups[g].selected) program.groups[g].left_out = LeftOut::chosen_by_resolver;
    if (!s.no_hooks && !s.all && s.only.empty())
      for (Group& g : program.groups)
        if (g.selected && !g.left_out && is_small(program, g)) g.left_out = LeftOut::too_small;
  }
  program.hooks_leave = s.hooks_leave;
  if (!s.keep.empty()) {
    const Selection kept_alone = kept_by(s);
    const NameSelection kept(kept_alone, *program.image);
    for (const CodeRange& r : program.ranges)
      if (!r.fragment && kept.has(r)) program.groups[r.group].keeps_hooks = true;
  }
  for (Group& g : program.groups) {
    if (g.left_out) g.selected = false;
    g.hooked = g.selected && !s.no_hooks;
  }
}

namespace {

using prof_names::Languages;
using prof_names::Name;
using prof_names::Nearest;
using prof_names::Pattern;

Languages languages_of(const Image& image, const DebugNames& more) {
  Languages languages;
  for (const Symbol& symbol : image.symbols()) languages.note(symbol.name);
  for (const auto& [address, names] : more)
    for (const std::string& name : names) languages.note(name);
  return languages;
}

// `more`: names besides those in the program itself.
std::vector<Name> names_of(const CodeRange& range, Languages languages, const DebugNames& more) {
  std::vector<Name> names;
  for (const std::string& name : range.names) names.emplace_back(name, languages);
  if (names.empty()) names.emplace_back("#" + prof_text::hexadecimal_digits(range.range.start.value));
  if (const auto found = more.find(range.range.start); found != more.end())
    for (const std::string& name : found->second) names.emplace_back(name, languages);
  return names;
}

// Calls `see` with each name of a function that can be selected, until it returns false.
void see_names(const Program& program, const DebugNames& more, const std::function<bool(const Name&)>& see) {
  const Languages languages = languages_of(*program.image, more);
  for (const CodeRange& range : program.ranges) {
    if (range.fragment) continue;
    for (const Name& name : names_of(range, languages, more))
      if (!see(name)) return;
  }
  for (const Symbol& symbol : program.image->dynamic_symbols())
    if (symbol.section == SHN_UNDEF && !symbol.name.empty() && !see(Name(symbol.name, languages))) return;
}

struct Unmatched {
  std::string option;
  Pattern pattern;
  Nearest nearest;
};

}  // namespace

NameSelection::NameSelection(const Selection& selection, const Image& image)
    : filter_(selection.only, selection.not_), debug_names_(selection.debug_names) {
  if (!filter_.is_empty()) languages_ = languages_of(image, debug_names_);
}

bool NameSelection::has(const CodeRange& range) const {
  return filter_.is_empty() || filter_.selects(names_of(range, languages_, debug_names_));
}

bool NameSelection::has(const std::string& import) const {
  return filter_.is_empty() || filter_.selects(std::vector<Name>{Name(import, languages_)});
}

std::vector<std::string> unmatched_patterns(const Selection& selection, const Program& program) {
  std::vector<Unmatched> unmatched;
  for (const std::string& glob : selection.only) unmatched.push_back({"-F", Pattern(glob), Nearest(Pattern(glob))});
  for (const std::string& glob : selection.not_) unmatched.push_back({"-N", Pattern(glob), Nearest(Pattern(glob))});
  for (const std::string& glob : selection.keep) unmatched.push_back({"--keep", Pattern(glob), Nearest(Pattern(glob))});
  if (unmatched.empty()) return {};
  see_names(program, selection.debug_names, [&](const Name& name) {
    std::erase_if(unmatched, [&](const Unmatched& u) { return u.pattern.matches(name); });
    return !unmatched.empty();
  });
  if (unmatched.empty()) return {};
  see_names(program, selection.debug_names, [&](const Name& name) {
    for (Unmatched& u : unmatched) u.nearest.add(name);
    return true;
  });
  std::vector<std::string> lines;
  for (const Unmatched& u : unmatched) {
    const std::string question = u.nearest.question();
    lines.push_back(u.option + " " + u.pattern.glob() + ": matches no function" +
                    (question.empty() ? "" : "; " + question));
  }
  return lines;
}

}  // namespace profld
