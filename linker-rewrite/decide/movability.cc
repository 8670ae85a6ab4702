// When in doubt, leave it out. A function that stays where it was does what it did before. If a function moves although
// the program depends on where its code lies, or on its bytes, the program goes wrong. So a group (a function with all
// its parts) stays if one of these is true:
//
//   * it does not decode, its unwind tables or an indirect jump is not understood (the parts that follow say so);
//   * it belongs to a run-time system that finds frames by return address (v8_builtins, keep_what_inherits_registers);
//   * its return address is not a caller's: the outermost function (_start), signal trampolines, retpolines, context
//     switches;
//   * two threads of control leave a system call in it: vfork and clone. The child would run the exit hook on the
//     parent's frames, or on a stack that has none (TaskCalls::stay);
//   * a function that it calls returns to an address after the return address (split stacks), reads what is there
//     (inline_data.cc), or compares that address with others (compared_callers.cc);
//   * its bytes are data: read through a RIP-relative operand, or through a pointer (code_as_data.cc);
//   * its bytes are changed while the program runs (program/patch_sites.cc), or when it is loaded (relocated_code.cc);
//   * an OCaml program's frame table has a return address in it that is after no call;
//   * it is entered in the middle: by a call, or through an interior address that other code takes (range tests on the
//     program counter, as in glibc's cancellation; restartable sequences); or a probe is in the middle of an
//     instruction;
//   * data has an address inside it that no jump is known to use (inner_addresses.cc), or its start is compared with
//     other addresses (code_as_data.cc).

#include "movability.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "code_dependences.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/discover/body.h"
#include "linker-rewrite/elf/image.h"
#include "linker-rewrite/jumps/tables.h"
#include "linker-rewrite/program/fragments.h"
#include "linker-rewrite/program/patch_sites.h"
#include "linker-rewrite/program/program.h"
#include "linker-rewrite/unwind/unwind.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/semantics.h"
#include "linker-rewrite/x86/system_calls.h"

namespace profld {

namespace {

// The part of a program that V8 (node) compiled ahead of time for its own use.
//
// V8 writes the functions of JavaScript's library, its interpreter's handlers and the stubs around calls with a
// compiler of its own, once, and links them into the program as one block of code. They look like functions, have
// symbols, and must stay where they are, as they are: V8 finds out by return address which of them a frame belongs to
// and what its collector has to look at there; they keep the address of their own start in a register and compute
// others from it; and a sum over the block, checked at start, tells whether a byte of it was changed.
//
// The block has no unwind tables. Only symbols know the names of these functions, and the start and size of the block.
// So it is told by the symbols that all of V8's builds give it (CONTRIBUTING, "What must always hold").

// The code of V8's built-in functions. Empty if the program has none, or no symbols that tell. (Without symbols these
// functions are not found at all, and so they stay.)
OldRange v8_builtins(const Image& image) {
  auto find = [&](const char* name) {
    return std::ranges::find_if(image.symbols(), [&](const Symbol& s) { return s.name == name; });
  };
  const auto code = find("v8_Default_embedded_blob_code_"), size = find("v8_Default_embedded_blob_code_size_");
  if (code == image.symbols().end() || size == image.symbols().end()) return {};
  const auto word = image.bytes(size->address, sizeof(uint32_t));
  if (!word) return {};
  return {code->address, code->address + Reader(*word, "data").u32()};
}

// Code that no table names and that finds memory through registers which its callers have set; and what belongs to it.
//
// A function of the usual calling convention gets its arguments in rdi, rsi, rdx, rcx, r8, r9 and on the stack, and
// keeps rbx, rbp and r12 to r15 for its caller (System V ABI for AMD64, section 3.2.1). It may save these six; what is
// in them is nothing that it could use. Code that uses one of them as an address before it has set it belongs to a
// system of its own, which keeps something there for all of its code: V8 its roots in r13, Haskell's programs their
// registers in r13 and their stack in rbp.
//
// Such a system often has tables of its own, by which it finds, with a return address, what belongs to a frame: V8's
// collector and exceptions do. It knows nothing of copies. If unwind tables or symbols tell of such a function, they
// are how its authors want it to be seen. One that no table names stays in any case; if it was discovered, it is kept
// in place here. And what it calls directly, or what calls it, stays as well: it may be of the same system and use no
// such register, as V8's way in from C++, JSEntry, which unwind tables do tell of.
//
// Only what runs before the first calls is looked at: after a call it would have to be known whether that returns.

using RegisterSet = uint16_t;  // by the numbers in semantics.h

constexpr RegisterSet bit(uint8_t reg) { return reg < kRegisters ? RegisterSet(1u << reg) : RegisterSet(0); }

constexpr uint64_t kFarthest = 4096;  // bytes of unknown code that are looked at
constexpr size_t kMaxInstructions = 256;

bool is_discovered(const CodeRange& r) { return r.fde && r.fde->made && r.names.empty() && !r.fragment; }

// Whether code in the range, entered at its start, uses one of these registers as an address before it has set it.
bool inherits_registers(const Image& image, OldRange range) {
  const auto bytes = image.bytes(range.start, range.size());
  if (!bytes) return false;
  Code code;
  code.range = range;
  code.bytes = *bytes;
  DecodeCache& cache = DecodeCache::of_this_thread();
  std::map<OldAddr, RegisterSet> as_left;  // by the caller, when control is there
  std::vector<OldAddr> to_do;
  const auto reach = [&](OldAddr at, RegisterSet registers) {
    if (!range.contains(at) || as_left.size() > kMaxInstructions) return;
    const auto [found, is_new] = as_left.try_emplace(at);
    if (!is_new && (found->second | registers) == found->second) return;
    found->second |= registers;
    to_do.push_back(at);
  };
  reach(range.start, kKeptRegisters);
  while (!to_do.empty()) {
    const OldAddr at = to_do.back();
    to_do.pop_back();
    const uint64_t offset = at - range.start;
    const Insn* const known = cache.find_insn(code.bytes.subspan(offset));
    if (!known || known->length > range.size() - offset) continue;
    Insn insn = *known;
    insn.offset = uint32_t(offset);
    const Semantics op = semantics_of(code, insn);
    const RegisterSet here = as_left[at];
    if (op.action != Action::lea && (here & (bit(op.memory.base) | bit(op.memory.index)))) return true;
    const RegisterSet after = here & RegisterSet(~op.writes);
    const bool is_conditional = insn.flow == Flow::jump_if || insn.flow == Flow::jump_if_short;
    if (insn.flow == Flow::next || is_conditional) reach(code.next(insn), after);
    if (insn.flow == Flow::jump || is_conditional) reach(code.target(insn), after);
  }
  return false;
}

// The same of code in no range.
bool unknown_code_inherits(const Program& program, OldAddr start) {
  const ptrdiff_t before = program.range_starts.last_not_above(start);
  OldRange range{start, start + kFarthest};
  if (size_t(before + 1) < program.ranges.size())
    range.end = std::min(range.end, program.ranges[size_t(before + 1)].range.start);
  while (range.size() > 1 && !program.image->bytes(range.start, range.size())) range.end = start + range.size() / 2;
  return inherits_registers(*program.image, range);
}

// Adds reasons to stay to such functions that were discovered, to what they call, and to what calls such code.
void keep_what_inherits_registers(Program& program) {
  std::vector<uint8_t> inherits(program.ranges.size());
  parallel_for(program.ranges.size(), [&](size_t i) {
    const CodeRange& r = program.ranges[i];
    inherits[i] = is_discovered(r) && inherits_registers(*program.image, r.range);
  });

  struct Neighbour {
    size_t range;  // it calls, or is called by, what inherits registers
    OldAddr other;
  };
  const auto neighbours =
      parallel_collect<Neighbour>(program.ranges.size(), [&](size_t i, std::vector<Neighbour>& out) {
        const Code& code = program.code(program.ranges[i]);
        for (const Insn& insn : code.insns) {
          if (insn.flow != Flow::call && insn.flow != Flow::jump && insn.flow != Flow::jump_if) continue;
          const OldAddr target = code.target(insn);
          if (target == OldAddr()) continue;  // of a weak function that is not there; a static PIE has its headers at 0
          const ptrdiff_t to = program.range_of(target);
          if (to < 0 ? unknown_code_inherits(program, target) : inherits[size_t(to)] != 0) out.push_back({i, target});
          if (to >= 0 && inherits[i] && is_discovered(program.ranges[size_t(to)]))
            out.push_back({size_t(to), code.range.start});
        }
      });
  for (size_t i = 0; i < inherits.size(); ++i)
    if (inherits[i]) program.groups[program.ranges[i].group].stay(ReasonCode::inherits_register);
  for (const Neighbour& n : neighbours)
    program.groups[program.ranges[n.range].group].stay({ReasonCode::beside_inheriting, n.other});
}

bool makes_system_call(const Code& code, std::initializer_list<int64_t> numbers) {
  for (size_t i = 0; i < code.insns.size(); ++i) {
    if (!is_system_call(code.bytes_of(code.insns[i]))) continue;
    if (std::ranges::find(numbers, system_call_number(code, i)) != numbers.end()) return true;
  }
  return false;
}

bool leaves_twice(const Code& code) {
  constexpr int64_t kClone = 56, kVfork = 58, kClone3 = 435;
  return makes_system_call(code, {kClone, kVfork, kClone3});
}

// Where signal handlers return to. Unwinders know it by its bytes, or by its unwind table, if it has one.
bool ends_signal(const Code& code) {
  constexpr int64_t kSigreturn = 15;
  return makes_system_call(code, {kSigreturn});
}

// gcc -fsplit-stack: a function compares its stack pointer with a word of the thread, which is reserved for that, and
// if necessary does `call __morestack; ret`. __morestack goes on one byte after its return address, after the `ret`.
// In the copy the hook would be there.
bool splits_stack(const Code& code) {
  return std::ranges::any_of(code.insns,
                             [&](const Insn& insn) { return compares_with_stack_limit(code.bytes_of(insn)); });
}

// The target of a jump table's entry that leads to the end of a part, if a fragment begins there that belongs to no
// function so far. (Otherwise that end stands for an index that cannot occur.) 0 if there is none.
OldAddr find_fragment_after(const Program& program, const FunctionCode& function, const IndirectJumps& indirect) {
  for (const JumpTable& t : indirect.tables)
    for (OldAddr target : t.targets) {
      if (std::ranges::none_of(function.parts, [&](const Code& c) { return c.range.end == target; })) continue;
      const ptrdiff_t i = program.range_of(target);
      if (i < 0 || program.ranges[size_t(i)].range.start != target || program.ranges[size_t(i)].entered) continue;
      const Group& other = program.groups[program.ranges[size_t(i)].group];
      if (std::ranges::all_of(other.ranges, [&](uint32_t r) { return program.ranges[r].fragment; })) return target;
    }
  return OldAddr();
}

// The reason why a group has to stay, from its own code only. `outside`: see Unresolved.
std::optional<Reason> own_reason(const Program& program, const LastCalls& last_calls, const DataReferences& data,
                                 TaskCalls task_calls, Group& group, OldAddr* outside) {
  for (const Code& code : group.code.parts)
    if (code.insns.empty()) return ReasonCode::part_not_decoded;
  for (uint32_t index : group.ranges) {
    const CodeRange& r = program.ranges[index];
    const Code& code = program.code(r);
    // The part of glibc's clone that runs in the new thread has a table of its own.
    const bool is_where_thread_starts = task_calls == TaskCalls::move && r.fragment;
    if (r.fde && r.fde->no_return_address && !is_where_thread_starts) return ReasonCode::no_return_address;
    if (const auto why = why_not_rewritable(*program.image, *program.frames, r.range)) return why;
    if (task_calls == TaskCalls::stay && leaves_twice(code)) return ReasonCode::returns_twice;
    if (r.fde && r.fde->made && ends_signal(code)) return ReasonCode::signal_frame;
    if (splits_stack(code)) return ReasonCode::splits_stack;
    for (const Insn& insn : code.insns) {
      if (insn.rip_relative || insn.field_size == 0) continue;
      const OldAddr target = code.target(insn);
      if (insn.flow == Flow::call) {
        if (r.range.contains(target) && target != r.range.start)
          return Reason(ReasonCode::calls_own_middle, code.address(insn));
        continue;
      }
      for (const Code& part : group.code.parts)
        if (part.range.contains(target) && !part.is_target(target))
          return Reason(ReasonCode::jumps_between_instructions, code.address(insn));
    }
  }
  if (return_address_is_changed(group.code)) return ReasonCode::changes_return_address;
  auto indirect = resolve_indirect_jumps(*program.image, *program.frames, last_calls, data, group.code);
  if (!indirect) {
    *outside = indirect.error().outside;
    return indirect.error().reason;
  }
  if (const OldAddr fragment = find_fragment_after(program, group.code, *indirect); fragment != OldAddr()) {
    *outside = fragment;
    return Reason(ReasonCode::table_of_fragment, fragment);
  }
  group.indirect = std::move(*indirect);
  return why_not_relocated(program, group);
}

// Restartable sequences (struct rseq_cs in rseq(2)): words in data that hold the address at which the kernel goes on
// when a thread is taken off its processor within one. The kernel demands a signature before that address, so they can
// be found anywhere in data. The address where the critical section starts stands in front of the word.
constexpr uint64_t kStartBeforeAbort = 16;  // bytes
std::vector<OldAddr> critical_sections(const Image& image, const DataReferences& data) {
  std::vector<OldAddr> words;
  for (const auto& [word, target] : data.code_pointers) {
    const auto before = image.bytes(target - kRseqSignatureSize, kRseqSignatureSize);
    if (before && is_rseq_signature(*before)) words.push_back(word);
  }
  std::ranges::sort(words);
  return words;
}

// Whether a call of the code ends at that address.
bool ends_with_call(const Code& code, OldAddr end) {
  if (code.insns.empty()) return false;
  const Insn& insn = code.insns[code.covering(end - 1)];
  return code.next(insn) == end && (insn.flow == Flow::call || insn.flow == Flow::call_indirect);
}

// A site in front of a function, in no range, belongs to that function. It may seem to belong to the one before it as
// well, if that ends in a call that does not return.
void keep_what_is_patched(Program& program) {
  program.patch_sites = find_patch_sites(*program.image).sites;
  for (OldAddr site : program.patch_sites) {
    const auto stays = [&](ptrdiff_t range) {
      program.groups[program.ranges[size_t(range)].group].stay({ReasonCode::patched, site});
    };
    const ptrdiff_t i = program.range_of(site);
    if (i >= 0) stays(i);
    const ptrdiff_t next = program.range_starts.last_not_above(site) + 1;
    if (size_t(next) == program.ranges.size()) continue;
    if (i < 0 || is_padding(*program.image, {site, program.ranges[size_t(next)].range.start})) stays(next);
  }
}

}  // namespace

void find_reasons_to_stay(Program& program, const DataReferences& data, TaskCalls task_calls) {
  const OldRange builtins = v8_builtins(*program.image);
  for (const CodeRange& r : program.ranges)
    if (builtins.contains(r.range.start)) program.groups[r.group].reason = ReasonCode::v8_builtin;
  keep_what_is_patched(program);
  const LastCalls last_calls(program);
  std::vector<OldAddr> outside(program.groups.size());
  parallel_for(program.groups.size(), [&](size_t i) {
    Group& g = program.groups[i];
    if (!g.reason) g.reason = own_reason(program, last_calls, data, task_calls, g, &outside[i]);
  });
  // The jump table leads to a fragment that nothing else leads to.
  for (uint32_t i = 0; i < program.groups.size(); ++i)
    while (outside[i] != OldAddr()) {
      const ptrdiff_t to = program.range_of(std::exchange(outside[i], OldAddr()));
      if (to < 0) break;
      const CodeRange& r = program.ranges[size_t(to)];
      if (r.group == i || !r.may_be_fragment_of_any()) break;
      add_fragment(program, i, uint32_t(to));
      Group& g = program.groups[i];
      g.reason = own_reason(program, last_calls, data, task_calls, g, &outside[i]);
    }
  program.image->release();  // all code was read, and will be read once more

  // Now the reasons that come from other code.
  auto stays = [&](ptrdiff_t range, const Reason& reason) {
    program.groups[program.ranges[size_t(range)].group].stay(reason);
  };
  auto goes_to_label = [&](uint32_t from, InsnRef at, const CodeRange& r, OldAddr label) {
    const std::vector<LabelUse>& uses = program.groups[from].indirect.label_uses;
    return std::ranges::binary_search(uses, LabelUse{{at, 0, true}, label}) && program.code(r).index(label);
  };
  struct Reference {
    ptrdiff_t to;  // a range that stays because of it
    Reason reason;
  };
  const auto references =
      parallel_collect<Reference>(program.groups.size(), [&](size_t g, std::vector<Reference>& out) {
        for (uint32_t part = 0; part < program.groups[g].code.parts.size(); ++part) {
          const Code& code = program.groups[g].code.parts[part];
          for (uint32_t i = 0; i < code.insns.size(); ++i) {
            const Insn& insn = code.insns[i];
            if (insn.flow != Flow::call && !insn.rip_relative) continue;
            const OldAddr target = code.target(insn);
            const ptrdiff_t to = program.range_of(target);
            if (to < 0) continue;
            const CodeRange& r = program.ranges[size_t(to)];
            const bool inside = target != r.range.start;
            if (insn.rip_relative && !takes_address(code, insn)) {
              const OldAddr end = target + semantics_of(code, insn).memory_size;
              for (size_t read = size_t(to); read < program.ranges.size(); ++read) {
                if (read != size_t(to) && program.ranges[read].range.start >= end) break;
                out.push_back({ptrdiff_t(read), {ReasonCode::bytes_read_by_code, code.address(insn)}});
              }
            } else if (insn.flow == Flow::call && inside)
              out.push_back({to, {ReasonCode::called_in_middle, code.address(insn)}});
            else if (insn.rip_relative && inside && r.group != g && !goes_to_label(uint32_t(g), {part, i}, r, target))
              out.push_back({to, {ReasonCode::inner_address_used, code.address(insn)}});
          }
        }
      });
  for (const Reference& r : references) stays(r.to, r.reason);
  for (const InnerEntry& e : program.inner_entries)
    stays(program.range_of(e.at), {ReasonCode::called_in_middle, e.caller});
  for (const Probe& probe : find_probes(*program.image))
    if (const ptrdiff_t i = program.range_of(probe.address); i >= 0)
      if (!program.code(program.ranges[size_t(i)]).index(probe.address))
        stays(i, {ReasonCode::probe_between_instructions, probe.address});
  const NamedAddresses named = addresses_named(program);
  const std::vector<CodeAccess> accesses = find_code_accesses(program, named);
  for (const CodeAccess& a : accesses)
    if (!a.is_comparison) stays(a.range, {ReasonCode::bytes_read_by_code, a.at});
  for (const ReturnWord& w : program.frame_tables.words)
    if (const ptrdiff_t i = program.range_of(w.return_address - 1); i >= 0)
      if (!ends_with_call(program.code(program.ranges[size_t(i)]), w.return_address))
        stays(i, {ReasonCode::frame_after_no_call, w.return_address});
  const InlineDataUse inline_data = find_inline_data(program);
  for (uint32_t g : inline_data.skipping) program.groups[g].stay(ReasonCode::changes_return_address);
  for (const InlineData& d : inline_data.calls) program.groups[d.group].stay({ReasonCode::data_after_call, d.at});
  keep_what_inherits_registers(program);
  for (const CodeAccess& a : accesses)
    if (a.is_comparison) stays(a.range, {ReasonCode::place_compared, a.at});
  keep_compared_callers(program, data, named);
  const std::vector<OldAddr> sections = critical_sections(*program.image, data);
  for (const auto& [word, target] : data.code_pointers)
    if (std::ranges::binary_search(sections, word) || std::ranges::binary_search(sections, word + kStartBeforeAbort))
      if (const ptrdiff_t to = program.range_of(target); to >= 0) stays(to, ReasonCode::restartable_sequence);
  for (const InnerAddress& a : find_inner_addresses(program, data))
    stays(a.range, {a.in_instruction ? ReasonCode::inner_address_used : ReasonCode::inner_address_in_data, a.at});
}

}  // namespace profld
