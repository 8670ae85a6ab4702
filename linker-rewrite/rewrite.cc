// The stages, in their order. docs/architecture describes the rooms that they are in; no room knows the later ones.

#include "rewrite.h"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "libprof/format/trace.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/refusal.h"
#include "linker-rewrite/blocks/block_counters.h"
#include "linker-rewrite/decide/code_dependences.h"
#include "linker-rewrite/decide/movability.h"
#include "linker-rewrite/decide/selection.h"
#include "linker-rewrite/decide/threads.h"
#include "linker-rewrite/discover/discover.h"
#include "linker-rewrite/move/coverage.h"
#include "linker-rewrite/move/entry_jumps.h"
#include "linker-rewrite/move/relocate.h"
#include "linker-rewrite/program/data_references.h"
#include "linker-rewrite/program/fragments.h"
#include "linker-rewrite/program/patch_sites.h"
#include "linker-rewrite/program/replaced.h"
#include "linker-rewrite/unwind/unwind.h"
#include "linker-rewrite/write/layout.h"

namespace profld {

namespace {

// Finds patterns that match nothing. That needs only the names, so it is done before the functions are analysed.
void refuse_without_functions(const Program& program, const Selection& selection) {
  if (std::ranges::none_of(program.ranges, &CodeRange::is_function)) throw refusal(Refusal::no_functions);
  auto has_functions_of = [&](const Selection& s) {
    const NameSelection names(s, *program.image);
    return std::ranges::any_of(program.ranges, [&](const CodeRange& r) { return !r.fragment && names.has(r); });
  };
  if (has_functions_of(selection)) return;
  std::string detail;
  for (const std::string& line : unmatched_patterns(selection, program)) detail += (detail.empty() ? "" : "; ") + line;
  Selection without_exceptions = selection;
  without_exceptions.not_.clear();
  if (detail.empty() && !has_functions_of(without_exceptions))
    detail = "-F matches functions of other files only, which are profiled where one that it matches calls them";
  throw refusal(Refusal::nothing_selected, detail.empty() ? "" : "(" + detail + ")");
}

Report count_functions(const Program& program) {
  Report report;
  for (const CodeRange& r : program.ranges) {
    if (!r.is_function()) continue;
    ++report.functions_total;
    const Group& group = program.groups[r.group];
    if (group.left_out) report.left_out.push_back({r.name(), r.range.start, *group.left_out});
    if (!group.selected) continue;
    ++report.functions_selected;
    if (group.reason)
      report.skipped.push_back({r.name(), r.range.start, *group.reason});
    else
      ++report.functions_instrumented;
  }
  report.code = coverage_of(program);
  return report;
}

void count_imports(const Program& program, const ImportCallCounts& counts, Report& report) {
  report.imports =
      uint64_t(std::ranges::count_if(program.imports, [](const Import& i) { return i.is_called || i.is_jumped_to; }));
  report.import_calls = counts.calls;
  report.import_tail_jumps = counts.tail_jumps;
  report.import_calls_to_special = counts.to_special;
  report.import_calls_from_unhooked = counts.from_unhooked;
}

void refuse_if_nothing_moves(const Report& report) {
  if (report.functions_selected == 0)
    throw refusal(report.left_out.empty() ? Refusal::nothing_selected : Refusal::all_left_out);
  if (report.functions_instrumented == 0)
    throw refusal(Refusal::nothing_can_move, text_of(report.skipped.front().reason));
}

// Gives memory that was freed in small pieces back to the system. The next allocations are large and do not fit in
// there.
void give_back_freed() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// At the end of a stage: gives back the pages of the file, too, that the stage read.
void give_back_memory(const Image& image) {
  image.release();
  give_back_freed();
}

// The file's data is read first, and its pages are given back before the code is gone through.
void decide_what_moves(Program& program, TaskCalls task_calls) {
  const DataReferences data = find_data_references(program);
  give_back_memory(*program.image);
  find_reasons_to_stay(program, data, task_calls);
  give_back_memory(*program.image);
}

// All that is new: the copies and what belongs to them, and the changes to the original's bytes.
Contents copy_functions(const Program& program, const std::vector<EntryJump>& entry_jumps, BlockCounters blocks,
                        const Layout& layout, Report& report) {
  Relocator relocator(program, HookSlots(layout.hook_slots()), layout.library_start(), &blocks, layout.runtime_code());
  relocator.plan(layout.text());
  report.returns = relocator.returns();
  report.tail_jumps = relocator.tail_jumps();
  report.jump_tables = relocator.jump_tables();

  Contents contents;
  if (report.code.is_low()) contents.coverage = report.code;
  contents.counters = blocks.counters;
  contents.counters_are_of_process =
      blocks.increment == Increment::of_process || blocks.increment == Increment::of_process_alone;
  contents.increments_are_locked = is_locked(blocks.increment);
  contents.increments_flags = increments_flags(program, blocks.increment);
  if (!blocks.traced.empty()) {
    contents.trace = encode_trace_program(*program.image, blocks);
    const uint64_t size = prof_format::kTraceProgramOffset + contents.trace.size();
    contents.counters = uint32_t(align_up(size, sizeof(uint64_t)) / sizeof(uint64_t));
  }
  const NewAddr tables = layout.read_only_start(relocator.text_size(), contents.counters);
  const std::optional<AddedCode> added = layout.added_code();
  contents.thunks = relocator.frameless();
  contents.library_start = relocator.library_start();
  const auto meanwhile = [&] {
    contents.unwind = write_unwind(*program.image, *program.frames, relocator.copies(), added ? &*added : nullptr,
                                   NewAddr(align_up((tables + contents.tables.size()).value, 8)), contents.thunks,
                                   relocator.records_of());
    contents.patches = relocator.patches(entry_jumps);
    for (Patch& p : replacement_patches(program, layout.replacement_slots())) contents.patches.push_back(std::move(p));
    for (Patch& p : probe_patches(*program.image, relocator.copies())) contents.patches.push_back(std::move(p));
  };
  CounterWords words;
  words.first_counter = layout.counters_start(relocator.text_size());
  if (blocks.increment == Increment::of_process_alone && blocks.counters != 0) {
    contents.increments.resize(blocks.counters);
    words.increments = contents.increments.data();
  }
  words.trace = {words.first_counter + offsetof(prof_format::TraceWords, cursor),
                 words.first_counter + offsetof(prof_format::TraceWords, limit),
                 words.first_counter + offsetof(prof_format::TraceWords, reads_segments), layout.trace_slot()};
  std::vector<std::vector<NewAddr>> exits;
  std::vector<Patch> relocated = relocator.emit(tables, contents.text, contents.tables, meanwhile, words, &exits);
  if (program.hooks_leave) contents.hook_sites = relocator.hook_sites(exits);
  std::ranges::move(relocated, std::back_inserter(contents.patches));
  contents.imports = relocator.thunks().copies(program.imports);
  contents.copies = relocator.take_copies();
  contents.counted = std::move(blocks.functions);
  return contents;
}

std::vector<OldAddr> arrivals_of(const std::vector<EntryJump>& entry_jumps) {
  std::vector<OldAddr> arrivals;
  arrivals.reserve(entry_jumps.size());
  for (const EntryJump& jump : entry_jumps) arrivals.push_back(jump.arrival);
  return arrivals;
}

BlockCounters count_blocks(const Program& program, const std::vector<EntryJump>& entry_jumps, Increment increment,
                           Report& report) {
  BlockCounters blocks = place_block_counters(program, arrivals_of(entry_jumps), increment);
  report.blocks_counted = true;
  for (const CountedFunction& f : blocks.functions)
    report.blocks += uint64_t(std::count_if(f.blocks.begin(), f.blocks.end() - ptrdiff_t(f.later),
                                            [](const CountedBlock& b) { return b.range.size() != 0; }));
  report.block_counters = blocks.counters;
  report.counters_locked = is_locked(increment);
  report.functions_uncounted = blocks.uncounted;
  return blocks;
}

BlockCounters trace_blocks(const Program& program, const std::vector<EntryJump>& entry_jumps, bool has_memory,
                           Report& report) {
  BlockCounters blocks = place_trace_records(program, arrivals_of(entry_jumps), has_memory);
  report.blocks_traced = true;
  report.blocks = blocks.traced.size();
  report.memory_traced = has_memory;
  for (const TracedBlock& b : blocks.traced)
    for (const TracedAccess& access : b.accesses)
      report.unknown_accesses += (access.form & prof_format::kAddressUnknown) != 0;
  report.functions_uncounted = blocks.uncounted;
  return blocks;
}

// It takes almost as long to free the program's memory as to put the file together, so both are done at once.
std::vector<FilePart> finish_file(Layout& layout, Contents contents, Program program) {
  std::vector<FilePart> file;
  parallel_for(
      2,
      [&](size_t i) {
        if (i == 0) {
          file = layout.finish(std::move(contents));
        } else {
          program = Program();
          give_back_freed();
        }
      },
      1);
  return file;
}

}  // namespace

// How much of the whole work each stage is was measured with gcc's cc1; of discovery, with Chromium.
Rewritten rewrite(const Image& image, const Selection& selection, const RuntimeFile& runtime, const ShowStage& show_all,
                  const LinkerWishes& wishes) {
  // Refuse what headers, symbols and strings show to be impossible. Now the program is of a kind that can be rewritten,
  // the runtime fits it, and all new parts have their places, except the code and the parts after it.
  refuse_unsupported(image);
  FrameTables frame_tables = read_frame_tables(image);
  if (selection.trace && image.link_type() == LinkType::shared_library) throw refusal(Refusal::trace_of_library);
  if (selection.hooks_leave && (image.is_static() || image.link_type() == LinkType::shared_library))
    throw refusal(Refusal::hooks_cannot_leave);
  LinkerWishes all_wishes = wishes;
  all_wishes.traces = selection.trace;
  std::unique_ptr<Layout> layout = Layout::begin(image, runtime, all_wishes, selection.blocks || selection.trace);

  // Find and decode the code. Now each range of code is known to be a function or a fragment, and ranges between which
  // control passes without calls are in one group, except for fragments that only a jump table leads to. Where no table
  // tells of the code that is used, the ranges may be those that can be found by following control.
  double discovered = 0;  // the part of the work that discovery was
  const auto show = [&](double done, const char* stage) { show_all(discovered + (1 - discovered) * done, stage); };
  show(0.05, "finding functions");
  const EhFrame frames = read_eh_frame(image);
  const TaskCalls task_calls =
      selection.blocks && selection.no_hooks && image.is_static() ? TaskCalls::move : TaskCalls::stay;
  Program program = group_functions(image, frames, find_functions(image, frames, task_calls), std::move(frame_tables));
  constexpr double kDiscovery = 0.7;
  const auto show_discovery = [&](double share) { show_all(0.05 + (kDiscovery - 0.05) * share, "finding functions"); };
  const std::optional<MadeFrames> made =
      selection.discover ? discover_functions(program, show_discovery) : std::nullopt;
  if (made) discovered = kDiscovery;
  if (made)
    program = group_functions(image, made->frames, find_functions(image, made->frames, task_calls),
                              std::move(program.frame_tables));
  refuse_without_functions(program, selection);
  if (takes_heap_after_data(program)) {
    if (image.is_position_independent()) throw refusal(Refusal::heap_after_data);
    layout = Layout::begin(image, runtime, all_wishes, selection.blocks || selection.trace, Place::in_front);
  }
  give_back_memory(image);

  // Decide what can move. Now each group has a reason to stay, or it is known where all its jumps lead.
  show(0.2, "understanding jumps");
  decide_what_moves(program, task_calls);

  // Ask what the user wants. Now each group knows whether it is selected, and so whether it moves, and is hooked.
  select_groups(program, selection);

  // Find where control may still arrive in the old code. Now there is room for a jump to the copy at each such place,
  // and groups without that room have a reason to stay. From here on nothing changes what moves. Now it is known as
  // well which calls of functions of other files get hooks.
  show(0.65, "placing jumps to the copies");
  const std::vector<EntryJump> entry_jumps = place_entry_jumps(program);
  Rewritten result{{}, count_functions(program)};
  result.report.unmatched_patterns = unmatched_patterns(selection, program);
  refuse_if_nothing_moves(result.report);
  count_imports(program, select_import_calls(program, selection), result.report);
  give_back_memory(image);

  // Copy what moves. Now all new code, tables and unwind tables are there, for the addresses at which they will lie,
  // and the changes to the old bytes.
  show(0.7, "copying functions");
  layout->name_copies(program);
  BlockCounters blocks;
  if (selection.blocks) {
    const bool begins_threads = task_calls == TaskCalls::move ? select_task_calls(program) : layout->begins_threads();
    const Increment increment =
        choose_increment(program, !selection.no_hooks && !selection.hooks_leave, begins_threads);
    blocks = count_blocks(program, entry_jumps, increment, result.report);
  }
  if (selection.trace) {
    if (selection.no_hooks && may_share_counters(program, layout->begins_threads()))
      throw refusal(Refusal::trace_without_hooks);
    blocks = trace_blocks(program, entry_jumps, selection.trace_memory, result.report);
  }
  Contents contents = copy_functions(program, entry_jumps, std::move(blocks), *layout, result.report);
  contents.is_thread_pointer_doubtful = is_thread_pointer_doubtful(program);
  contents.has_hooks = !selection.no_hooks;
  give_back_memory(image);

  // Put the file together. Now it only has to be written.
  show(0.85, "putting the file together");
  result.file = finish_file(*layout, std::move(contents), std::move(program));
  return result;
}

}  // namespace profld
