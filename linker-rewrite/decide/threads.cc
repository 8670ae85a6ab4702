#include "threads.h"

#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/format/blocks.h"
#include "linker-rewrite/base/address.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/discover/search.h"
#include "linker-rewrite/program/noreturn.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/semantics.h"
#include "linker-rewrite/x86/system_calls.h"

namespace profld {

namespace {

// The numbers that a system call may have, by all ways through its function that lead to it. Compilers keep them in
// other registers where there are several calls, or a loop.
class NumberSearch {
 public:
  NumberSearch(const Program& program, const FunctionCode& code)
      : code_(code), noreturn_(*program.image, *program.frames) {
    for (uint32_t p = 0; p < code_.parts.size(); ++p) {
      const Code& part = code_.parts[p];
      for (uint32_t i = 0; i < part.insns.size(); ++i) {
        const Insn& insn = part.insns[i];
        if (insn.flow == Flow::jump_indirect) has_unknown_ways_ = true;
        if (is_branch(insn) && insn.field_size != 0) branches_.emplace(part.target(insn), Place{p, i});
      }
    }
  }

  // Whether that of an instruction may be one of `numbers`.
  bool may_be(uint32_t part, uint32_t index, std::span<const int64_t> numbers) {
    if (has_unknown_ways_) return true;
    to_do_ = {{{part, index}, kRax}};
    seen_ = {to_do_.front()};
    while (!to_do_.empty()) {
      const Place place = to_do_.back().first;
      const uint8_t reg = to_do_.back().second;
      to_do_.pop_back();
      bool has_way = false, may_be = place == Place{0, 0};  // the function's entry
      const auto come_from = [&](Place before) {
        has_way = true;
        may_be = may_be || !is_other_after(before, reg, numbers);
      };
      const Code& at = code_.parts[place.first];
      if (place.second > 0 && goes_on(at, at.insns[place.second - 1])) come_from({place.first, place.second - 1});
      const auto [first, last] = branches_.equal_range(at.address(at.insns[place.second]));
      for (auto branch = first; branch != last; ++branch) come_from(branch->second);
      // Without a way that we know there is one that we do not, but for what fills up code before a loop.
      if (may_be || (!has_way && !is_filling(at, place.second))) return true;
    }
    return false;
  }

 private:
  using Place = std::pair<uint32_t, uint32_t>;  // part, index of the instruction

  static bool is_branch(const Insn& insn) {
    return insn.flow == Flow::jump || insn.flow == Flow::jump_if || insn.flow == Flow::jump_if_short;
  }
  bool goes_on(const Code& code, const Insn& insn) {
    const bool is_call = insn.flow == Flow::call || insn.flow == Flow::call_indirect;
    if (is_call) return insn.field_size == 0 || !noreturn_.never_returns(insn, code.target(insn));
    return insn.flow != Flow::jump && insn.flow != Flow::jump_indirect && insn.flow != Flow::ret &&
           insn.flow != Flow::stop;
  }

  static bool is_filling(const Code& code, uint32_t index) {
    const CachedInsn* cached = DecodeCache::of_this_thread().find(code.bytes_of(code.insns[index]));
    return cached && cached->is_no_operation();
  }

  // Whether the register has another number after the instruction, as far as that tells; what was before it is looked
  // at later.
  bool is_other_after(Place place, uint8_t reg, std::span<const int64_t> numbers) {
    constexpr uint16_t kKept = 0xf028;     // by functions: rbx, rbp, r12 to r15
    constexpr uint16_t kChanged = 0x0803;  // by the kernel: rax, rcx, r11
    const Code& code = code_.parts[place.first];
    const Insn& insn = code.insns[place.second];
    const bool is_call = insn.flow == Flow::call || insn.flow == Flow::call_indirect;
    if (is_call && !(kKept >> reg & 1)) return false;
    const Semantics effect = semantics_of(code, insn);
    const uint16_t writes = is_system_call(code.bytes_of(insn)) ? kChanged : effect.writes;
    uint8_t source = reg;
    if (!is_call && writes >> reg & 1) {
      if (effect.to.type != Operand::Type::reg || effect.to.reg != reg || effect.to.size < 4) return false;
      const auto is_other = [&](int64_t n) { return std::ranges::find(numbers, n) == numbers.end(); };
      if (effect.action == Action::zero) return is_other(0);
      if (effect.action != Action::move || effect.sign_extend) return false;
      if (effect.from.type == Operand::Type::immediate) return is_other(int64_t(uint32_t(effect.immediate)));
      if (effect.from.type != Operand::Type::reg || effect.from.size < 4) return false;
      source = effect.from.reg;
    }
    const State state{place, source};
    if (seen_.insert(state).second) to_do_.push_back(state);
    return true;
  }

  using State = std::pair<Place, uint8_t>;  // what a register has before an instruction
  const FunctionCode& code_;
  Noreturn noreturn_;
  bool has_unknown_ways_ = false;
  std::multimap<OldAddr, Place> branches_;  // by where they lead
  std::vector<State> to_do_;
  std::set<State> seen_;
};

// Whether any two bytes of the range may be a system call.
bool has_bytes_of_call(const Program& program, OldRange range) {
  const auto bytes = program.image->bytes(range.start, range.size());
  for (uint64_t i = 0; bytes && i + 1 < bytes->size(); ++i)
    if (may_enter_kernel((*bytes)[i], (*bytes)[i + 1])) return true;
  return false;
}

// Calls is_enough(at, instruction's bytes) for each instruction that may make one of these system calls, until it
// returns true; whether it did. Code that does not decode may make any if it has bytes of a system call: for it there
// are no bytes.
template <class IsEnough>
bool any_call(const Program& program, const Group& group, std::span<const int64_t> numbers, IsEnough is_enough) {
  const FunctionCode& code = group.code;
  std::optional<NumberSearch> search;
  for (uint32_t p = 0; p < code.parts.size(); ++p) {
    const Code& part = code.parts[p];
    if (part.insns.empty() && has_bytes_of_call(program, program.ranges[group.ranges[p]].range) &&
        is_enough(InsnRef{p, 0}, ByteView()))
      return true;
    if (ends_signal(part.bytes)) continue;
    for (uint32_t i = 0; i < part.insns.size(); ++i) {
      const ByteView bytes = part.bytes_of(part.insns[i]);
      const CachedInsn* cached = DecodeCache::of_this_thread().find(bytes);
      if (!cached || !cached->enters_kernel()) continue;
      if (is_system_call(bytes)) {
        const int64_t number = system_call_number(part, i);
        if (number < 0 && !search) search.emplace(program, code);
        const bool may_be =
            number < 0 ? search->may_be(p, i, numbers) : std::ranges::find(numbers, number) != numbers.end();
        if (!may_be) continue;
      }
      if (is_enough({p, i}, bytes)) return true;
    }
  }
  return false;
}

bool may_make(const Program& program, const Group& group, std::span<const int64_t> numbers) {
  return any_call(program, group, numbers, [](InsnRef, ByteView) { return true; });
}

// Code that is in no function, and in no linker's stub. Some of it runs all the same; most of it is data, such as
// tables of numbers beside functions in assembly, in which any two bytes may stand.
class OutsideCode : public Surroundings {
 public:
  explicit OutsideCode(const Program& program) : program_(program) {
    std::vector<OldRange> known = linkage_stubs(*program.image);
    for (const CodeRange& function : program.ranges) known.push_back(function.range);
    std::ranges::sort(known, {}, &OldRange::start);
    for (const OldRange& code : program.image->code()) append_uncovered(ranges_, code, known);
  }

  // Whether two bytes that `is_wanted` tells of may be the end of an instruction to which control comes.
  bool may_run(bool (*is_wanted)(uint8_t, uint8_t)) {
    std::vector<OldAddr> places;
    for (const OldRange& range : ranges_) {
      const auto bytes = program_.image->bytes(range.start, range.size());
      for (uint64_t i = 0; bytes && i + 1 < bytes->size(); ++i)
        if (is_wanted((*bytes)[i], (*bytes)[i + 1])) places.push_back(range.start + i);
    }
    return !places.empty() && reaches_any(places);
  }

 private:
  static constexpr uint64_t kMaxBefore = 4;  // bytes of an instruction before its last two

  Returns returns(const Insn&, OldAddr) const override { return Returns::yes; }
  const std::vector<OldAddr>* targets_of(OldAddr) const override { return nullptr; }

  void come_to(OldAddr a) {
    if (range_with(ranges_, a) && seen_.insert(a).second) to_do_.push_back(a);
  }
  void come_to_code(OldAddr a) {
    come_to(a);
    code_.insert(a);
  }
  void come_to_roots() {
    const Roots roots = find_roots(program_, undescribed_code(program_));
    for (const OldAddr a : roots.starts) come_to_code(a);
    for (const auto& addresses : {roots.pointers, roots.in_data, roots.written})
      for (const OldAddr a : addresses) come_to(a);
    for (const OutsideReference& reference : program_.outside) {
      const bool may_be_data = reference.kind == OutsideReference::Kind::named;
      may_be_data ? come_to(reference.target) : come_to_code(reference.target);
    }
    // A function in assembly may have no type.
    for (const auto* symbols : {&program_.image->symbols(), &program_.image->dynamic_symbols()})
      for (const Symbol& s : *symbols)
        if (s.section != SHN_UNDEF) come_to(s.address);
    for (const Group& group : program_.groups)
      for (const Code& part : group.code.parts)
        if (!part.insns.empty() && runs_on(part.insns.back())) come_to_code(part.range.end);
  }
  static bool runs_on(const Insn& last) {
    return last.flow == Flow::next || last.flow == Flow::jump_if || last.flow == Flow::jump_if_short;
  }

  // Follows control from all that names an address here. An indirect jump leads to such an address as well, or by a
  // table to any place around it; so may code that is not understood. (A table of a function that leads here is not
  // seen.)
  bool reaches_any(const std::vector<OldAddr>& places) {
    come_to_roots();
    while (!to_do_.empty()) {
      const OldAddr start = to_do_.back();
      to_do_.pop_back();
      const Body body = explore(*program_.image, {start, range_with(ranges_, start)->end}, {{start, {}}}, {}, *this);
      const bool has_table = body.is_understood ? !body.jumps.empty() : code_.contains(start);
      for (const OldAddr place : places) {
        if (has_table && range_with(ranges_, start)->contains(place)) return true;
        for (uint64_t before = 0; before <= kMaxBefore; ++before)
          if (body.reaches(place - before)) return true;
      }
      for (const BodyExit& leaves : body.exits) come_to(leaves.target);
      for (const auto& addresses : {body.calls, body.code})
        std::ranges::for_each(addresses, [&](OldAddr a) { come_to(a); });
    }
    return false;
  }

  const Program& program_;
  std::vector<OldRange> ranges_;   // ascending
  std::set<OldAddr> seen_, code_;  // code_: what is certainly code
  std::vector<OldAddr> to_do_;
};

// Whether the program's own code may make one of these system calls (numbers of x86-64): it has an instruction that
// does, or one of which the number is not known, or that is made as 32-bit programs make theirs, whose numbers are
// others; or control may come to bytes in no function that are a system call.
bool may_make_system_call(const Program& program, std::span<const int64_t> numbers) {
  std::atomic<bool> found = false;
  parallel_for(program.groups.size(), [&](size_t g) {
    if (!found && may_make(program, program.groups[g], numbers)) found = true;
  });
  return found || OutsideCode(program).may_run(may_enter_kernel);
}

// Whether a function of the program, of those whose code is known, has an instruction that `is_wanted` says so of. It
// gets a CachedInsn, and is called by several threads at once.
template <class IsWanted>
bool any_instruction(const Program& program, IsWanted is_wanted) {
  std::atomic<bool> found = false;
  parallel_for(program.groups.size(), [&](size_t g) {
    if (found) return;
    for (const Code& code : program.groups[g].code.parts) {
      const auto has_it = [&](const Insn& insn) {
        const CachedInsn* cached = DecodeCache::of_this_thread().find(code.bytes_of(insn));
        return cached && is_wanted(*cached);
      };
      if (std::ranges::any_of(code.insns, has_it)) found = true;
    }
  });
  return found;
}

constexpr const char* kSetter = "arch_prctl";

}  // namespace

bool uses_gs(const Program& program) {
  return any_instruction(program, [](const CachedInsn& in) { return in.flags.uses_gs; }) ||
         std::ranges::any_of(program.image->dynamic_symbols(),
                             [](const Symbol& s) { return s.section == SHN_UNDEF && s.name == kSetter; });
}

// The runtime of a static program keeps a word of each thread among its thread-local variables (write/tls.cc): the
// program header PT_TLS asks the C library for room in front of where the register fs points. A static program without
// a C library may set fs to memory of its own, without a look at the headers, and then there is no such room.
//
// A program that has PT_TLS itself, or that nothing but the kernel and the runtime set fs for, is safe. All others may
// do either: musl, without thread-local variables, has no PT_TLS in its programs but looks for it. So the runtime has
// to look, when such a program runs (libprof/life/thread_pointer.cc); hooks are slower until then.
//
// What sets fs is the system call arch_prctl, clone and clone3 for a new thread, and the instruction wrfsbase.

namespace {

bool has_wrfsbase(const Program& program) {
  return any_instruction(program, [](const CachedInsn& in) { return in.sets_thread_pointer(); }) ||
         OutsideCode(program).may_run(may_end_wrfsbase);
}

}  // namespace

bool is_thread_pointer_doubtful(const Program& program) {
  constexpr int64_t kSetters[] = {SYS_arch_prctl, SYS_clone, SYS_clone3};
  if (!program.image->is_static() || program.image->segment(PT_TLS)) return false;
  return may_make_system_call(program, kSetters) || has_wrfsbase(program);
}

// Threads that increment the same word at the same time lose increments, unless these have the prefix lock: then they
// cost about twenty cycles, and more where threads do it all at once. So a thread of a program has counters of its own,
// which its increments find by the segment register gs (libprof/file/block_counters.cc).
//
// A library has no such base: gs has one for each thread, and it is the distance to the counters that belong to the
// program. Nor is there one where the program uses gs itself. There all threads increment the same array, with lock,
// and gs is left alone (libprof/file/block_counters.cc). But most processes have a single thread, which needs no lock.
// So in libraries without hooks increments have a prefix that means nothing, and the runtime writes lock in its place,
// before the first thread is made (libprof/life/libraries.cc), or when a library is loaded that may make threads
// without telling it.
//
// In copies without hooks: the problem. A thread has counters of its own as soon as the runtime knows of it, at its
// first hook. In a copy without hooks (profld -b --no-hooks) that may be never: then it increments the counters of the
// thread that made it, at the same time as that one, and of two such increments one may be lost.
//
// The way taken. libprof-sampler.so stands in the place of the functions by which programs make threads, and gives each
// of them its counters before it runs. So threads share none, unless they are made in another way: by a system call of
// the program's own; by the C library for itself, when it is asked to call a function of the program's in a thread
// (SIGEV_THREAD and the like); or by clone. A program that may do any of that gets increments with the prefix lock,
// which are never lost, and cost about twenty cycles. The same holds with another runtime.
//
// A static program has all that makes threads in its own code. So there the copy of each system call that may make one
// has the runtime begin it (x86/system_calls.cc). Only if one is not in code that moves, increments are locked.
//
// Forked children are alike: until the runtime knows of them, they count in their parent's profile. The C library tells
// it of fork, but not of _Fork; in a static program it knows of both.
//
// Limit. A library may make threads by system calls of its own, and have them call functions of the program.

namespace {

// Functions of C libraries that make threads, or processes, without the runtime's knowledge. Without the underscores
// before them.
constexpr std::string_view kMakers[] = {"aio_fsync",   "aio_fsync64",  "aio_read",  "aio_read64",  "aio_write",
                                        "aio_write64", "clone",        "clone3",    "Fork",        "getaddrinfo_a",
                                        "lio_listio",  "lio_listio64", "mq_notify", "timer_create"};

bool is_maker(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  return std::ranges::find(kMakers, name) != std::end(kMakers);
}

bool imports_makers(const Image& image) {
  return std::ranges::any_of(image.dynamic_symbols(),
                             [](const Symbol& s) { return s.section == SHN_UNDEF && is_maker(s.name); });
}

// (vfork lets the caller wait.)
bool may_make_tasks(const Program& program) { return may_make_system_call(program, kTaskCalls); }

}  // namespace

Increment choose_increment(const Program& program, bool has_hooks, bool runtime_begins_threads) {
  const bool is_library = program.image->link_type() == LinkType::shared_library;
  if (is_library && !has_hooks && runtime_begins_threads) return Increment::of_process_alone;
  if (is_library || uses_gs(program)) return Increment::of_process;
  return !has_hooks && may_share_counters(program, runtime_begins_threads) ? Increment::of_thread_locked
                                                                           : Increment::of_thread;
}

bool may_share_counters(const Program& program, bool runtime_begins_threads) {
  const Image& image = *program.image;
  if (image.is_static()) return !runtime_begins_threads && may_make_tasks(program);
  return !runtime_begins_threads || imports_makers(image) || may_make_tasks(program);
}

bool select_task_calls(Program& program) {
  if (uses_gs(program)) return false;
  std::atomic<bool> may_be_others = OutsideCode(program).may_run(may_enter_kernel);
  parallel_for(program.groups.size(), [&](size_t g) {
    Group& group = program.groups[g];
    const auto is_other = [&](InsnRef at, ByteView bytes) {
      if (!group.moves() || !is_system_call(bytes)) return true;
      group.task_calls.push_back(at);
      return false;
    };
    if (!may_be_others && any_call(program, group, kTaskCalls, is_other)) may_be_others = true;
  });
  if (!may_be_others) return true;
  for (Group& group : program.groups) group.task_calls.clear();
  return false;
}

// The C library, or a part of it, makes threads when it is asked to, by pthread_create or one of the makers.
uint32_t increments_flags(const Program& program, Increment increment) {
  if (increment == Increment::of_thread_locked) return prof_format::kMakesThreads;
  if (increment != Increment::of_process_alone) return 0;
  const Image& image = *program.image;
  const auto has = [&](const char* name) {
    return std::ranges::any_of(image.dynamic_symbols(),
                               [&](const Symbol& s) { return s.section != SHN_UNDEF && s.name == name; });
  };
  if (has("fork")) return prof_format::kHasFork;
  return !has("pthread_create") && (imports_makers(image) || may_make_tasks(program)) ? prof_format::kMakesThreads : 0;
}

}  // namespace profld
