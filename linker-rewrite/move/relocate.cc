#include "relocate.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <string_view>
#include <vector>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/refusal.h"
#include "linker-rewrite/x86/record_code.h"
#include "linker-rewrite/x86/semantics.h"
#include "plan.h"

namespace profld {

// A stack that overflows is an exception in OCaml, Stack_overflow. The run-time system's handler of SIGSEGV raises it
// if the fault is near the stack pointer and the program counter is in OCaml's code; what overflows elsewhere ends the
// program. Where that code is the run-time system registers when it starts, as CODE FRAGMENTS: one for all modules, and
// one for its own code in assembly. Values, too, refer to the first (Marshal writes closures as places in it), and
// these keep the original's addresses. So the fragments stay as they are, and there are more of them: the copies of
// both, and the hooks, which touch the stack before a function does, and so meet its end first.
//
// The run-time system's call for its code in assembly, which it tells apart by two labels, gets another function in its
// place. That makes the call, and then one for each of the new fragments (x86/encoding.h). They are told, as the code
// in assembly is, to be of no use for Marshal. Plugins are registered in another way; a stack that overflows in a copy
// of theirs ends the program.

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

// nullopt if it is no program of OCaml's, or makes no such call.
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

// Where the copies of the ranges are, each range that has some.
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

}  // namespace

namespace {

// Where the records of a trace are in a copy, for its unwind tables. Ascending by offset: first those in the
// copy of the code; then what jumps with records lead to, and what full windows need, each ascending by place.
std::vector<PlacedRecord> record_places(const Code& code, const RangePlan& plan, const RangeCopy& copy) {
  std::vector<PlacedRecord> placed;
  if (copy.out_of_line == 0) return placed;
  const uint32_t out_of_line = uint32_t(copy.size) - copy.out_of_line;
  uint32_t taken_edge = out_of_line, full_window = out_of_line + length_of_taken_edges(plan);
  std::vector<PlacedRecord> taken_edges, full_windows;

  const auto place_in = [&](std::vector<PlacedRecord>& list, uint32_t at, uint32_t size, uint32_t insn,
                            const RecordCode& record) {
    const OldAddr place = code.address(code.insns[insn]);
    list.push_back({at, size, place, record, false});
    full_windows.push_back({full_window, kFullWindowLength, place, record, true});
    full_window += kFullWindowLength;
  };
  const auto place_edge = [&](const EdgeRecord& edge) {
    const uint32_t length = length_of(edge);
    if (!edge.record) {  // an increment; beside its jump it needs nothing
      if (!edge.is_taken) return;
      taken_edges.push_back({taken_edge, length + kJumpLength, code.address(code.insns[edge.insn]), {}, false});
      taken_edge += length + kJumpLength;
    } else if (edge.is_taken) {
      place_in(taken_edges, taken_edge, length + kJumpLength, edge.insn, *edge.record);
      taken_edge += length + kJumpLength;
    } else {  // the last thing before the next instruction
      const uint64_t next = code.insns[edge.insn].offset + code.insns[edge.insn].length;
      place_in(placed, uint32_t(copy.offset(next)) - length, length, edge.insn, *edge.record);
    }
  };

  const std::vector<EdgeRecord> none;
  const std::vector<EdgeRecord>& edges = plan.edges ? *plan.edges : none;
  auto edge = edges.begin();
  if (plan.counters)
    for (const CounterPlace& counter : *plan.counters) {
      for (; edge != edges.end() && edge->insn < counter.insn; ++edge) place_edge(*edge);
      if (!counter.record) continue;
      const uint32_t hook = counter.insn == plan.enter_hook_before ? kHookLength : 0;
      const uint64_t at = copy.offset(code.insns[counter.insn].offset) + hook;
      place_in(placed, uint32_t(at), length_of_record(*counter.record), counter.insn, *counter.record);
    }
  for (; edge != edges.end(); ++edge) place_edge(*edge);

  placed.insert(placed.end(), taken_edges.begin(), taken_edges.end());
  placed.insert(placed.end(), full_windows.begin(), full_windows.end());
  return placed;
}

// The body of a copy has the same address modulo this as the original: compilers align loops, and processors cache code
// in lines.
constexpr uint64_t kBodyAlignment = 64;

}  // namespace

Relocator::Relocator(const Program& program, HookSlots hook_slots, std::optional<LibraryStart> library_start,
                     const BlockCounters* counters, AnchoredRange runtime_code)
    : program_(program),
      hook_slots_(hook_slots),
      counters_(counters),
      library_start_(library_start),
      runtime_code_(runtime_code) {}

void Relocator::plan(NewAddr text) {
  std::vector<uint32_t> moving;
  for (uint32_t i = 0; i < program_.ranges.size(); ++i)
    if (program_.groups[program_.ranges[i].group].moves()) moving.push_back(i);
  std::vector<RangeCopy> copies(moving.size());
  plans_.resize(moving.size());
  parallel_for(moving.size(), [&](size_t i) {
    const CodeRange& r = program_.ranges[moving[i]];
    RangeCopy& c = copies[i];
    c.original = r.range;
    c.function = r.fragment ? program_.groups[r.group].code.entry : r.range.start;
    c.fragment = r.fragment;
    plans_[i] = plan_copy(program_, moving[i], program_.groups[r.group].hooked, c, counters_);
  });

  NewAddr end = text;
  copies_.expect(copies.size());
  for (size_t i = 0; i < copies.size(); ++i) {
    RangeCopy& c = copies[i];
    const uint32_t hook = plans_[i].enter_hook_before;
    const Code& code = program_.code(program_.ranges[moving[i]]);
    const OldAddr body = hook == RangePlan::kNone ? c.original.start : c.original.start + code.insns[hook].offset;
    const uint64_t skip = (body.value - c.body - end.value) & (kBodyAlignment - 1);
    c.start = end + skip;
    end = c.start + c.size;
    returns_ += plans_[i].returns;
    tail_jumps_ += plans_[i].tail_jumps;
    copies_.add(std::move(c));
  }
  copies_.sort();  // they are in order already; the map is now complete
  thunks_.place(program_.imports, end);
  if (thunks_.size() != 0 || library_start_) end = thunks_.start() + thunks_.size();
  if (library_start_) {
    library_start_at_ = end;
    end += kLibraryStartSize;
  }
  frameless_ = {thunks_.start(), end > thunks_.start() ? end - thunks_.start() : 0};
  fragment_call_ = find_fragment_call(program_);
  if (fragment_call_) {
    fragments_ = copies_of_ranges(fragment_call_->ranges, copies_);
    fragment_calls_ = end;
    end += size_of_range_calls(fragments_.size());
  }
  monitored_ends_ = find_monitored_ends(program_);
  text_start_ = text;
  text_size_ = end - text;
}

RecordsOf Relocator::records_of() const {
  if (!counters_ || counters_->edges.empty()) return {};
  return [this](const RangeCopy& copy) {
    const RangePlan& plan = plans_[copy.index];
    return record_places(program_.code(program_.ranges[plan.range]), plan, copy);
  };
}

uint64_t Relocator::jump_tables() const {
  uint64_t n = 0;
  for (const Group& group : program_.groups)
    if (group.moves()) n += group.indirect.tables.size();
  return n;
}

void Relocator::emit_table(const JumpTable& t, const Group& group, NewAddr clone, uint8_t* out) const {
  if (t.entry_size > sizeof(uint64_t)) throw internal_error("a jump table with entries of more than 8 bytes");
  const NewAddr base = t.base == t.address ? t.named_in_clone(clone) : copies_.jump_target(t.base);
  for (OldAddr target : t.targets) {
    NewAddr to = copies_.jump_target(target);
    // The end of a range stands for an index that cannot occur. Use the address after the copy.
    for (const Code& part : group.code.parts)
      if (target == part.range.end && program_.range_of(target) < 0)
        to = copies_.find(part.range.start)->address(target);
    const uint64_t value = t.relative ? to.value - base.value : to.value;
    std::memcpy(out, &value, t.entry_size);
    if (read_entry(out, t.entry_size, t.sign_extended) != value)
      throw internal_error("an entry of a jump table is too short for the place of a copy");
    out += t.entry_size;
  }
}

std::vector<Patch> Relocator::emit(NewAddr tables_at, Bytes& text, Bytes& tables,
                                   const std::function<void()>& meanwhile, const CounterWords& counters,
                                   std::vector<std::vector<NewAddr>>* exits) const {
  // Step 1: place the tables. The code needs their addresses.
  struct Clone {
    const JumpTable* table;
    const Group* group;
    uint64_t at;  // in `tables`
  };
  std::vector<Clone> clones;
  uint64_t size = 0;
  std::vector<std::vector<AddressChange>> addresses(program_.ranges.size());
  for (const Group& group : program_.groups) {
    if (!group.moves()) continue;
    for (const JumpTable& t : group.indirect.tables) {
      size = align_up(size, t.entry_size);
      for (const AddressField& u : t.uses)
        addresses[group.ranges[u.at.part]].push_back(
            {u.at.insn, u.field, u.rip_relative, t.named_in_clone(tables_at + size)});
      clones.push_back({&t, &group, size});
      size += t.targets.size() * t.entry_size;
    }
    for (const LabelUse& u : group.indirect.label_uses)
      addresses[group.ranges[u.field.at.part]].push_back(
          {u.field.at.insn, u.field.field, u.field.rip_relative, copies_.jump_target(u.label)});
  }

  if (fragment_call_ && program_.groups[fragment_call_->group].moves()) {
    const Group& group = program_.groups[fragment_call_->group];
    const auto [part, insn] = fragment_call_->at;
    addresses[group.ranges[part]].push_back({insn, group.code.parts[part].insns[insn].field, true, fragment_calls_});
  }

  for (const MonitoredEnd& m : monitored_ends_) {
    const Group& group = program_.groups[m.group];
    if (group.moves())
      addresses[group.ranges[m.field.at.part]].push_back(
          {m.field.at.insn, m.field.field, m.field.rip_relative, text_end()});
  }

  // Step 2: write the tables, and make room for the code.
  tables.resize(size);
  const std::vector<RangeCopy>& copies = copies_.copies();
  parallel_for(clones.size() + 1, [&](size_t i) {
    if (i == 0)
      text.assign(text_size_, kFillByte);
    else
      emit_table(*clones[i - 1].table, *clones[i - 1].group, tables_at + clones[i - 1].at,
                 tables.data() + clones[i - 1].at);
  });

  // Step 3: write the code.
  if (thunks_.size() != 0) thunks_.write(hook_slots_, text.data() + (thunks_.start() - text_start_));
  if (library_start_) {
    std::optional<NewAddr> old_init;
    if (library_start_->old_init) old_init = copies_.call_target(*library_start_->old_init);
    write_library_start(*library_start_, old_init, library_start_at_, text.data() + (library_start_at_ - text_start_));
  }
  if (fragment_call_) {
    InstructionWriter writer(text.data() + (fragment_calls_ - text_start_), fragment_calls_);
    write_range_calls(writer, copies_.call_target(fragment_call_->function), fragments_, runtime_code_);
  }
  std::vector<std::vector<Patch>> relocated(copies.size());
  if (exits) exits->resize(copies.size());
  parallel_for(copies.size() + 1, [&](size_t i) {
    if (i == 0) return meanwhile();
    if (i % Image::kFunctionsPerRelease == 0) program_.image->release();
    const RangePlan& plan = plans_[i - 1];
    relocated[i - 1] = emit_copy(program_, copies_, hook_slots_, thunks_, counters, plan, copies[i - 1],
                                 std::move(addresses[plan.range]), text.data() + (copies[i - 1].start - text_start_),
                                 exits ? &(*exits)[i - 1] : nullptr);
  });
  std::vector<Patch> patches;
  for (std::vector<Patch>& of_copy : relocated) std::ranges::move(of_copy, std::back_inserter(patches));
  return patches;
}

// Control may pass from one group to another without a hook: a range runs into the next, or jumps to it with a frame of
// its own. Then whichever was entered, any of the exits may be used. By group, the first of those that go together.
std::vector<uint32_t> Relocator::groups_together() const {
  std::vector<uint32_t> first(program_.groups.size());
  std::iota(first.begin(), first.end(), 0u);
  const auto find = [&](uint32_t g) {
    while (first[g] != g) g = first[g] = first[first[g]];
    return g;
  };
  const auto join = [&](const CodeRange& from, OldAddr to) {
    const ptrdiff_t other = program_.range_of(to);
    if (other < 0 || !program_.groups[program_.ranges[size_t(other)].group].moves()) return;
    const uint32_t a = find(from.group), b = find(program_.ranges[size_t(other)].group);
    first[std::max(a, b)] = std::min(a, b);
  };
  for (const RangePlan& plan : plans_) {
    const CodeRange& range = program_.ranges[plan.range];
    const Code& code = program_.code(range);
    const Flow last = code.insns.back().flow;
    const bool calls = last == Flow::call || last == Flow::call_indirect;  // of what does not return
    if (plan.falls_off && !plan.leave_hook_at_end && !calls) join(range, range.range.end);
    for (const Insn& insn : code.insns) {
      if (insn.flow != Flow::jump && insn.flow != Flow::jump_if && insn.flow != Flow::jump_if_short) continue;
      const OldAddr target = code.target(insn);
      if (!range.range.contains(target) && !is_tail_call(program_, range, code.address(insn), target))
        join(range, target);
    }
  }
  for (uint32_t g = 0; g < first.size(); ++g) first[g] = find(g);
  return first;
}

HookSites Relocator::hook_sites(const std::vector<std::vector<NewAddr>>& exits) const {
  HookSites sites;
  sites.functions.resize(program_.groups.size());
  const std::vector<uint32_t> together = groups_together();
  std::vector<bool> is_kept(together.size());
  for (uint32_t g = 0; g < together.size(); ++g)
    if (program_.groups[g].keeps_hooks) is_kept[together[g]] = true;
  const std::vector<RangeCopy>& copies = copies_.copies();
  for (size_t i = 0; i < copies.size(); ++i) {
    const uint32_t group = together[program_.ranges[plans_[i].range].group];
    if (is_kept[group]) continue;
    HookSites::Function& function = sites.functions[group];
    if (plans_[i].enter_hook_before != RangePlan::kNone) function.entries.push_back(copies[i].start + copies[i].body);
    function.exits.insert(function.exits.end(), exits[i].begin(), exits[i].end());
  }
  for (uint32_t i = 0; i < program_.imports.size(); ++i)
    if (const NewAddr thunk = thunks_.enter(i); thunk != NewAddr() && !program_.imports[i].keeps_hooks)
      sites.functions.push_back({{thunk + kHookLength}, {}, true});
  if (thunks_.size() != 0) sites.thunks = thunks_.start();
  return sites;
}

std::optional<NewAddr> Relocator::return_address_of_copy(OldAddr return_address) const {
  const OldAddr in_call = return_address - 1;
  const RangeCopy* copy = copies_.find(in_call);
  if (!copy) return std::nullopt;
  const RangePlan& plan = plans_[copy->index];
  const uint32_t call = uint32_t(program_.code(program_.ranges[plan.range]).covering(in_call));
  const auto change = std::ranges::lower_bound(plan.changes, call, {}, &Change::insn);
  const bool before_thunk = change != plan.changes.end() && change->insn == call && change->form == Form::import_call;
  return copy->address(return_address) - (before_thunk ? kCallLength : 0);
}

std::vector<Patch> Relocator::patches(const std::vector<EntryJump>& entry_jumps) const {
  std::vector<Patch> patches;
  const Image& image = *program_.image;
  auto write_jump = [&](OldAddr from, NewAddr to) {
    patches.push_back({*image.file_offset(from), jump_bytes(unmoved(from), to)});
  };
  for (const EntryJump& j : entry_jumps) {
    const NewAddr to = copies_.call_target(j.arrival);
    if (j.island == OldAddr()) {
      write_jump(j.from, to);
    } else {
      patches.push_back({*image.file_offset(j.from), short_jump_bytes(j.from, j.island)});
      write_jump(j.island, to);
    }
  }
  // Pointers to labels: an address inside a function, not its entry, that a relocation makes.
  for (const Relocation& r : image.relocations()) {
    if (r.type != R_X86_64_RELATIVE || program_.frame_tables.has(r.where)) continue;
    const OldAddr target(uint64_t(r.addend));
    const RangeCopy* c = copies_.find(target);
    if (!c || target == c->original.start) continue;
    if (!program_.code(program_.ranges[size_t(program_.range_of(target))]).index(target)) continue;
    Patch p{r.addend_at, {}};
    append(p.bytes, copies_.jump_target(target).value);
    patches.push_back(std::move(p));
  }
  if (fragment_call_ && !program_.groups[fragment_call_->group].moves()) {
    const Code& code = program_.groups[fragment_call_->group].code.parts[fragment_call_->at.part];
    const Insn& call = code.insns[fragment_call_->at.insn];
    Patch p{*image.file_offset(code.address(call) + call.field), {}};
    append(p.bytes, displacement(unmoved(code.next(call)), fragment_calls_));
    patches.push_back(std::move(p));
  }
  for (const MonitoredEnd& m : monitored_ends_) {
    const Group& group = program_.groups[m.group];
    if (group.moves()) continue;
    const Code& code = group.code.parts[m.field.at.part];
    const Insn& insn = code.insns[m.field.at.insn];
    Patch p{*image.file_offset(code.address(insn) + m.field.field), {}};
    append(p.bytes,
           m.field.rip_relative ? displacement(unmoved(code.next(insn)), text_end()) : int32_t(text_end().value));
    patches.push_back(std::move(p));
  }
  for (const ReturnWord& w : program_.frame_tables.words)
    if (const auto address = return_address_of_copy(w.return_address)) {
      Patch p{w.at, {}};
      append(p.bytes, address->value);
      patches.push_back(std::move(p));
    }
  for (const Group& group : program_.groups) {
    if (!group.moves()) continue;
    for (OldAddr word : group.indirect.label_words) {
      const OldAddr label(Reader(*image.bytes(word, 8), "data").u64());
      Patch p{*image.file_offset(word), {}};
      append(p.bytes, copies_.jump_target(label).value);
      patches.push_back(std::move(p));
    }
  }
  return patches;
}

}  // namespace profld
