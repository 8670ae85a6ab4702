// The stages, in their order. docs/architecture has the rooms that they live in, of which none knows the later ones:
//
//   image -> functions -> fragments (decode) -> movability (jump tables) -> entry jumps -> copies -> unwind -> layout

#include "rewrite.h"

#include <cxxabi.h>
#include <fnmatch.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/decide/movability.h"
#include "linker-rewrite/decide/refuse.h"
#include "linker-rewrite/move/entry_jumps.h"
#include "linker-rewrite/move/relocate.h"
#include "linker-rewrite/program/data_references.h"
#include "linker-rewrite/program/fragments.h"
#include "linker-rewrite/program/probes.h"
#include "linker-rewrite/unwind/unwind.h"
#include "linker-rewrite/write/layout.h"

namespace profld {

namespace {

bool matches(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const std::string& p) { return fnmatch(p.c_str(), name.c_str(), 0) == 0; });
}

bool matches(const std::vector<std::string>& patterns, const CodeRange& r) {
  if (patterns.empty()) return false;
  if (r.names.empty()) {
    char name[24];
    std::snprintf(name, sizeof name, "#%llx", static_cast<unsigned long long>(r.range.start.value));
    return matches(patterns, name);
  }
  return std::ranges::any_of(r.names, [&](const std::string& name) {
    if (matches(patterns, name)) return true;
    std::unique_ptr<char, decltype(&std::free)> demangled(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr),
                                                          std::free);
    return demangled && matches(patterns, demangled.get());
  });
}

bool is_selected(const Selection& s, const CodeRange& r) {
  return (s.only.empty() || matches(s.only, r)) && !matches(s.not_, r);
}

uint64_t size_of(const Group& g) {
  uint64_t size = 0;
  for (const Code& part : g.code.parts) size += part.range.size();
  return size;
}

// True if nothing is called from the group, by a tail call either.
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

// Where the kernel enters (_start) nobody called and nothing returns: no function, so it has no call to count.
bool is_function(const CodeRange& r) { return !r.fragment && !(r.fde && r.fde->no_return_address); }

void count_functions(const Program& program, const std::vector<bool>& moves, const std::vector<bool>& selected,
                     Report& report) {
  for (const CodeRange& r : program.ranges) {
    if (!is_function(r)) continue;
    ++report.functions_total;
    if (!selected[r.group]) continue;
    ++report.functions_selected;
    if (moves[r.group])
      ++report.functions_instrumented;
    else
      report.skipped.push_back({r.name(), r.range.start, program.groups[r.group].reason});
  }
}

// To the system, what was freed in small pieces. What comes next are large ones, which do not fit in.
void give_back_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void forget(Program program) {
  program = Program();
  give_back_memory();
}

// All that is new.
Contents copy_functions(const Program& program, const std::vector<bool>& moves, const std::vector<bool>& hooked,
                        const std::vector<Landing>& landings, const Layout& layout, Report& report) {
  Relocator relocator(program, moves, hooked, layout.enter_slot(), layout.leave_slot());
  relocator.plan(layout.text());
  report.returns = relocator.returns();
  report.tail_jumps = relocator.tail_jumps();
  report.jump_tables = relocator.jump_tables();

  Contents contents;
  const NewAddr tables = layout.read_only_start(relocator.text_size());
  const std::optional<AddedCode> added = layout.added_code();
  relocator.emit(tables, contents.text, contents.tables, [&] {
    contents.unwind = write_unwind(*program.image, *program.frames, relocator.copies(), added ? &*added : nullptr,
                                   NewAddr(align_up((tables + contents.tables.size()).value, 8)));
    contents.patches = relocator.patches(landings);
    for (Patch& p : probe_patches(*program.image, relocator.copies())) contents.patches.push_back(std::move(p));
  });
  contents.copies = relocator.take_copies();
  return contents;
}

}  // namespace

// The parts of the work that the stages are were measured with gcc's cc1.
Rewritten rewrite(const Image& image, const Selection& selection, const std::string& runtime_path,
                  const ShowStage& show) {
  refuse_unsupported(image);
  show(0.05, "finding functions");
  const EhFrame frames = read_eh_frame(image);
  Program program = group_functions(image, frames, find_functions(image, frames));
  if (std::ranges::none_of(program.ranges, is_function))
    throw Error(
        "no functions found: neither unwind tables nor symbols name any; build it with -fasynchronous-unwind-tables");
  image.release();  // from here on it is mostly about the instructions
  show(0.2, "understanding jumps");
  find_reasons_to_stay(program, find_data_references(program));
  give_back_memory();

  // A group is hooked as a whole: control passes between its ranges without calls.
  std::vector<bool> selected(program.groups.size());
  for (const CodeRange& r : program.ranges)
    if (!r.fragment && is_selected(selection, r)) selected[r.group] = true;
  for (size_t g = 0; g < selected.size(); ++g) {
    const Group& group = program.groups[g];
    if (size_of(group) < selection.min_size || (selection.no_leaves && is_leaf(program, group))) selected[g] = false;
  }
  std::vector<bool> moves(program.groups.size());
  for (size_t g = 0; g < moves.size(); ++g) moves[g] = selected[g] && program.groups[g].reason.empty();
  show(0.65, "placing jumps to the copies");
  const std::vector<Landing> landings = place_landings(program, moves);

  Rewritten result;
  count_functions(program, moves, selected, result.report);
  if (result.report.functions_selected == 0)
    throw Error("no function matches -F, -N, --min-size and --no-leaves; check the patterns against nm(1)");
  if (result.report.functions_instrumented == 0)
    throw Error("no function can be instrumented; the first stays in place for this reason: " +
                result.report.skipped.front().reason);

  show(0.7, "copying functions");
  auto layout = Layout::begin(image, runtime_path);
  const std::vector<bool> hooked = selection.no_hooks ? std::vector<bool>(selected.size()) : selected;
  Contents contents = copy_functions(program, moves, hooked, landings, *layout, result.report);
  show(0.85, "putting the file together");
  // To forget the program takes almost as long as to put the file together.
  parallel_for(
      2,
      [&](size_t i) {
        if (i == 0)
          result.file = layout->finish(std::move(contents));
        else
          forget(std::move(program));
      },
      1);
  return result;
}

}  // namespace profld
