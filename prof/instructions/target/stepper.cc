#include "stepper.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/format/trace.h"
#include "only_stepped.h"
#include "plain_code.h"
#include "prof/instructions/remote/records.h"
#include "straight_code.h"
#include "tracee.h"

namespace prof::target {

namespace {

constexpr uint64_t kTrapFlag = 0x100;
constexpr uint64_t kFlagsOfHandler = 8 + offsetof(ucontext_t, uc_mcontext.gregs[REG_EFL]);  // after a return address

// It stands in the second byte of the flags.
void correct_pushed(pid_t thread, uint64_t flags) {
  std::string byte = read_memory(thread, flags + 1, 1);
  if (byte.empty() || !(uint8_t(byte[0]) & kTrapFlag >> 8)) return;
  byte[0] = char(uint8_t(byte[0]) & ~uint8_t(kTrapFlag >> 8));
  write_memory(thread, flags + 1, byte);
}

}  // namespace

void TrapFlag::on_registers(user_regs_struct& registers) {
  is_loose_ = !is_own_ && (registers.eflags & kTrapFlag);
  if (is_loose_) registers.eflags &= ~kTrapFlag;
}

void TrapFlag::on_step(pid_t thread, std::string_view code) {
  const bool pushes = pushes_flags(code);
  user_regs_struct now;
  if ((!pushes && !pops_flags(code)) || !get_registers(thread, now)) return;
  if (!pushes)
    is_own_ = (now.eflags & kTrapFlag) != 0;
  else if (!is_own_)
    correct_pushed(thread, now.rsp);
}

void TrapFlag::on_handler(pid_t thread) const {
  user_regs_struct now;
  if (!is_own_ && get_registers(thread, now)) correct_pushed(thread, now.rsp + kFlagsOfHandler);
}

void take_trap_flag_from(pid_t thread) {
  user_regs_struct now;
  if (!get_registers(thread, now) || !(now.eflags & kTrapFlag)) return;
  now.eflags &= ~kTrapFlag;
  set_registers(thread, now);
}

namespace {

// Records what plain_code.h runs: each instruction with its registers, or how many ran one after the other.
class PlainRecorder : public PlainCode::Watcher {
 public:
  PlainRecorder(remote::RecordWriter& records, bool by_blocks) : records_(records), by_blocks_(by_blocks) {}

  void found(uint64_t address, std::string_view bytes, size_t size, uint64_t next) final;
  void ran(const PlainState& before, size_t size) final;
  // What has run is in the records.
  void finish();

 protected:
  virtual void define(uint64_t address, std::string_view bytes) = 0;
  virtual void learn(uint64_t address, std::string_view code, uint64_t next) = 0;  // for blocks
  virtual void has_recorded() = 0;

 private:
  remote::RecordWriter& records_;
  const bool by_blocks_;
  uint64_t start_ = 0, end_ = 0, count_ = 0;  // instructions one after the other, not recorded yet
};

remote::Registers registers_of(const PlainState& from) {
  const auto& r = from.general.registers;
  remote::Registers to = {r[plain_rax], r[plain_rbx], r[plain_rcx], r[plain_rdx], r[plain_rsi], r[plain_rdi],
                          r[plain_rbp], r[plain_rsp], r[8],         r[9],         r[10],        r[11],
                          r[12],        r[13],        r[14],        r[15],        from.at};
  to[remote::reg_flags] = from.general.flags & remote::kDirectionFlag;
  to[remote::reg_fs_base] = from.fs_base;
  to[remote::reg_gs_base] = from.gs_base;
  return to;
}

void PlainRecorder::found(uint64_t address, std::string_view bytes, size_t size, uint64_t next) {
  finish();  // what ran is told before its code is another
  define(address, bytes);
  if (by_blocks_ && next != 0) learn(address, bytes.substr(0, size), next);
}

void PlainRecorder::ran(const PlainState& before, size_t size) {
  if (!by_blocks_) {
    records_.step(registers_of(before));
    has_recorded();
    return;
  }
  if (size == 0) return;
  if (count_ != 0 && before.at != end_) finish();
  if (count_++ == 0) start_ = before.at;
  end_ = before.at + size;
}

void PlainRecorder::finish() {
  if (count_ == 0) return;
  records_.block(start_, count_);
  count_ = 0;
  has_recorded();
}

using remote::Registers;

constexpr int kNotified = SIGTRAP;  // si_code of a stop that the kernel makes before a handler begins

bool is_interrupted(const user_regs_struct& registers) {
  return long(registers.orig_rax) >= 0 && remote::is_interrupted(registers.rax);
}

bool maps_code(const user_regs_struct& before) {
  return before.rax == SYS_mmap && (before.rdx & PROT_EXEC) && int(before.r8) >= 0;
}

// Whether the SIGTRAP of a step waits for the thread, which was stopped for another reason first. Where nobody takes
// it, it would end the program.
bool has_trap_to_come(pid_t thread) {
  __ptrace_peeksiginfo_args which = {0, 0, 16};
  siginfo_t found[16];
  const long count = ptrace(PTRACE_PEEKSIGINFO, thread, &which, found);
  for (long i = 0; i < count; ++i)
    if (found[i].si_signo == SIGTRAP && found[i].si_code > 0) return true;
  return false;
}

}  // namespace

void Stepper::take(pid_t number) {
  auto& made = threads_[number];
  made = std::make_unique<Thread>();
  made->number = number;
  made->process = process_of(number);
  if (made->process == 0) made->process = number;
  const bool is_new = !processes_.contains(made->process);
  processes_[made->process];
  made->records.event(prof_format::kEventThreadBegin, {uint64_t(number)});
  if (is_new) tell_maps(*made);
}

int Stepper::run(pid_t program) {
  program_ = program;
  send_all();
  for (const auto& [number, thread] : threads_) resume(*thread, 0);
  while ((!threads_.empty() || !half_told_.empty()) && !connection_.is_broken()) {
    int status = 0;
    const pid_t number = waitpid(-1, &status, __WALL);
    if (number > 0)
      on_status(number, status);
    else if (errno != EINTR)
      break;
  }
  send_all();
  return status_;
}

void Stepper::on_status(pid_t number, int status) {
  const auto found = threads_.find(number);
  const bool has_ended = WIFEXITED(status) || WIFSIGNALED(status);
  if (found == threads_.end()) {
    if (number == program_ && has_ended) status_ = status;
    if (has_ended) {
      half_told_.erase(number);
      return;
    }
    tell_half(number);
    // A thread or process that was just made: its first stop.
    const pid_t process = process_of(number);
    if (!settings_.follows_forks && !processes_.contains(process)) {
      take_trap_flag_from(number);
      ptrace(PTRACE_DETACH, number, nullptr, 0L);
      return;
    }
    take(number);
    resume(*threads_[number], 0);
    return;
  }
  Thread& thread = *found->second;
  if (thread.stretch) {
    if (has_ended)
      thread.records.event(prof_format::kEventLost, {0});  // how far it came is not known any more
    else
      record_stretch(thread);
    thread.stretch.reset();
    thread.is_known = false;
  }
  if (has_ended) {
    on_end(thread, status);
    return;
  }
  const int event = status >> 16, signal = WSTOPSIG(status);
  if (event == PTRACE_EVENT_STOP && number == program_ && connection_.wants_stop()) {
    let_go(number);
  } else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {  // SIGSTOP, perhaps, stopped all threads of the process
    ptrace(PTRACE_LISTEN, number, nullptr, 0L);
  } else if (event == PTRACE_EVENT_STOP &&
             has_trap_to_come(number)) {  // SIGCONT came before the end of a step was told
    ptrace(PTRACE_CONT, number, nullptr, 0L);
  } else if (event != 0) {
    on_event(thread, event);
  } else if (signal == SIGTRAP) {
    on_trap(thread);
  } else {
    thread.records.event(prof_format::kEventSignal, {uint64_t(signal)});
    resume(thread, signal);
  }
}

void Stepper::tell_half(pid_t number) {
  if (!half_told_.insert(number).second) half_told_.erase(number);
}

void Stepper::on_event(Thread& thread, int event) {
  unsigned long message = 0;
  ptrace(PTRACE_GETEVENTMSG, thread.number, nullptr, &message);
  switch (event) {
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
      thread.records.event(prof_format::kEventFork, {message});
      [[fallthrough]];
    case PTRACE_EVENT_CLONE:
      tell_half(pid_t(message));
      [[fallthrough]];
    case PTRACE_EVENT_VFORK_DONE:
      ptrace(PTRACE_SINGLESTEP, thread.number, nullptr, 0L);  // it is still in the system call
      return;
    case PTRACE_EVENT_EXEC:
      // It may have been another thread's call, which has this one's number now.
      if (const auto caller = threads_.find(pid_t(message)); caller != threads_.end()) {
        Thread& from = *caller->second;
        if (from.is_known) {
          record_step(from);
          if (from.call) from.records.event(prof_format::kEventSystemCall, from.call->event(0));
        }
        send(from);
        if (&from != &thread) threads_.erase(caller);
      }
      thread.records.event(prof_format::kEventExec, {});
      processes_[thread.process].code.clear();
      processes_[thread.process].straight.forget();
      processes_[thread.process].plain.forget();
      processes_[thread.process].mappings.forget();
      thread.has_breakpoint = false;
      thread.trap_flag.forget();
      tell_maps(thread);
      send_all();
      thread.is_known = false;
      break;
    default:
      break;
  }
  resume(thread, 0);
}

void Stepper::on_trap(Thread& thread) {
  siginfo_t info = {};
  if (ptrace(PTRACE_GETSIGINFO, thread.number, nullptr, &info) != 0) return;  // it is gone: its end will be told
  switch (info.si_code) {
    case TRAP_TRACE: {
      const bool was_call = thread.call.has_value();
      record(thread);
      if (was_call) break;
      go_on(thread);
      return;
    }
    case TRAP_HWBKPT:  // the end of a stretch, which was recorded
      go_on(thread);
      return;
    case TRAP_BRKPT: {
      user_regs_struct now;
      if (!get_registers(thread.number, now)) return;
      const bool has_moved = !thread.is_known || now.rip != thread.raw.rip;
      if (is_int1(thread.code)) {
        record(thread);
        resume(thread, SIGTRAP);
        return;
      }
      if (thread.call && has_moved)
        record(thread);
      else if (thread.restart && !has_moved)
        record_restart(thread);
      break;  // else: the end of a system call that made this thread or program
    }
    case SI_KERNEL:  // int3
      record(thread);
      resume(thread, SIGTRAP);
      return;
    case kNotified:
      thread.trap_flag.on_handler(thread.number);
      break;
    default:
      thread.records.event(prof_format::kEventSignal, {SIGTRAP});
      resume(thread, SIGTRAP);
      return;
  }
  // The kernel may have signals to deliver before the next instruction: that one has to be the thread's own.
  resume(thread, 0);
}

void Stepper::on_end(Thread& thread, int status) {
  // The last thing that it did was a system call that does not return.
  if (WIFEXITED(status) && thread.is_known && thread.call) record_step(thread);
  thread.records.event(prof_format::kEventThreadEnd, {uint64_t(thread.number)});
  if (thread.number == program_) status_ = status;
  send(thread);
  const pid_t process = thread.process;
  threads_.erase(thread.number);
  for (const auto& [number, other] : threads_) {
    if (other->process == process) return;
  }
  processes_.erase(process);
}

bool Stepper::look(Thread& thread) {
  if (!read_registers(thread)) return false;
  look_at_code(thread);
  return true;
}

bool Stepper::read_registers(Thread& thread) {
  thread.is_known = false;
  if (!get_registers(thread.number, thread.raw)) return false;
  thread.trap_flag.on_registers(thread.raw);
  return true;
}

void Stepper::look_at_code(Thread& thread) {
  char bytes[remote::kLongestInstruction];
  const size_t size = read_code(thread.number, thread.raw.rip, bytes);
  const Code& code = define(processes_[thread.process], thread.raw.rip, {static_cast<const char*>(bytes), size});
  thread.code = {code.bytes.data(), code.size};
  thread.call.reset();
  if (remote::is_system_call(thread.code)) {
    const pid_t number = thread.number;
    thread.call.emplace(registers_of(thread.raw),
                        [number](uint64_t address, size_t most) { return read_memory(number, address, most); });
  } else if (!settings_.by_blocks && may_need_vectors(thread.code)) {
    thread.records.vectors(vectors_of(thread.number));
  }
  if (runs_plain_ && is_beyond_running(thread.number, thread.raw, thread.code, has_others(thread))) runs_plain_ = false;
  thread.is_known = true;
}

const Stepper::Code& Stepper::define(Process& process, uint64_t address, std::string_view bytes) {
  const auto [found, is_new] = process.code.try_emplace(address);
  Code& code = found->second;
  if (!is_new && std::string_view(code.bytes.data(), code.size) == bytes) return code;
  if (!is_new) {
    send_all();  // what was recorded up to now ran the old bytes
    process.straight.forget();
    process.plain.forget();
  }
  code.size = uint8_t(bytes.size());
  std::memcpy(code.bytes.data(), bytes.data(), bytes.size());
  remote::add_definition(process.definitions, address, bytes);
  return code;
}

void Stepper::record(Thread& thread) {
  if (!thread.is_known) return;
  record_step(thread);
  thread.restart.reset();
  if (thread.call) record_call(thread);
  thread.trap_flag.on_step(thread.number, thread.code);
  send_if_full(thread);
}

void Stepper::record_step(Thread& thread) {
  if (!settings_.by_blocks) {
    thread.records.step(registers_of(thread.raw));
    return;
  }
  user_regs_struct now;
  if (get_registers(thread.number, now)) {
    if (now.rip == thread.raw.rip && is_repeated(thread.code)) return;  // it goes on
    processes_[thread.process].straight.learn(thread.raw.rip, thread.code, now.rip);
  }
  thread.records.block(thread.raw.rip, 1);
  if (loads_stack_segment(thread.code)) thread.records.event(prof_format::kEventLost, {1});  // the next one ran with it
}

// Its bytes are still those that were learnt.
bool Stepper::is_unchanged(const Thread& thread, const StraightCode::Stretch& stretch) const {
  for (const StraightCode::Piece& piece : stretch.pieces) {
    if (read_memory(thread.number, piece.start, piece.bytes.size()) != piece.bytes) return false;
  }
  return true;
}

bool Stepper::set_breakpoint(Thread& thread, uint64_t address) const {
  if (thread.has_breakpoint && thread.breakpoint == address) return true;
  if (!set_debug_register(thread.number, kFirstBreakpoint, address)) return false;
  if (!thread.has_breakpoint && !set_debug_register(thread.number, kBreakpointControl, kFirstEnabled)) return false;
  thread.has_breakpoint = true;
  thread.breakpoint = address;
  return true;
}

bool Stepper::run_stretch(Thread& thread) {
  if (!has_breakpoints_) return false;
  StraightCode& straight = processes_[thread.process].straight;
  const StraightCode::Stretch* const stretch = straight.find(thread.raw.rip);
  if (!stretch) return false;
  if (!is_unchanged(thread, *stretch)) {
    straight.forget();
    return false;
  }
  if (!set_breakpoint(thread, stretch->end)) return false;
  if (thread.trap_flag.is_loose() && !set_registers(thread.number, thread.raw)) return false;
  thread.stretch = *stretch;
  ptrace(PTRACE_CONT, thread.number, nullptr, 0L);
  return true;
}

void Stepper::record_stretch(Thread& thread) {
  user_regs_struct now;
  if (!get_registers(thread.number, now)) return;
  Process& process = processes_[thread.process];
  const auto run = process.straight.instructions_before(*thread.stretch, now.rip);
  if (!run) thread.records.event(prof_format::kEventLost, {0});
  uint64_t rest = run.value_or(0);
  for (const StraightCode::Piece& piece : thread.stretch->pieces) {
    const uint64_t n = std::min<uint64_t>(piece.instructions, rest);
    if (n != 0) thread.records.block(piece.start, n);
    rest -= n;
  }
  thread.restart.reset();
  send_if_full(thread);
}

void Stepper::record_call(Thread& thread) {
  user_regs_struct now;
  if (!get_registers(thread.number, now)) return;
  thread.records.event(prof_format::kEventSystemCall, thread.call->event(now.rax));
  processes_[thread.process].mappings.on_call(thread.raw);
  if (is_interrupted(now)) thread.restart = thread.raw;
  if (maps_code(thread.raw) && long(now.rax) > 0) tell_maps(thread);
}

void Stepper::record_restart(Thread& thread) {
  user_regs_struct again = *thread.restart;
  again.rax = remote::restarted_call(thread.raw.rax, again.rax);
  thread.raw = again;
  thread.call.emplace(registers_of(again), [](uint64_t, size_t) { return std::string(); });
  record_step(thread);
  thread.restart.reset();
  record_call(thread);
}

void Stepper::resume(Thread& thread, int signal) {
  if (look(thread) && settings_.by_blocks && signal == 0 && run_stretch(thread)) return;
  ptrace(PTRACE_SINGLESTEP, thread.number, nullptr, long(signal));
}

void Stepper::go_on(Thread& thread) {
  if (read_registers(thread)) {
    run_plain(thread);
    look_at_code(thread);
    if (settings_.by_blocks && run_stretch(thread)) return;
  }
  ptrace(PTRACE_SINGLESTEP, thread.number, nullptr, 0L);
}

bool Stepper::has_others(const Thread& thread) const {
  return std::any_of(threads_.begin(), threads_.end(), [&](const auto& entry) {
    return entry.second.get() != &thread && entry.second->process == thread.process;
  });
}

class Stepper::Recorder final : public PlainRecorder {
 public:
  Recorder(Stepper& stepper, Process& process, Thread& thread)
      : PlainRecorder(thread.records, stepper.settings_.by_blocks),
        stepper_(stepper),
        process_(process),
        thread_(thread) {}

 private:
  void define(uint64_t address, std::string_view bytes) override { stepper_.define(process_, address, bytes); }
  void learn(uint64_t address, std::string_view code, uint64_t next) override {
    process_.straight.learn(address, code, next);
  }
  void has_recorded() override { stepper_.send_if_full(thread_); }

  Stepper& stepper_;
  Process& process_;
  Thread& thread_;
};

void Stepper::run_plain(Thread& thread) {
  if (!runs_plain_ || !PlainCode::can_run(thread.raw)) return;
  Process& process = processes_[thread.process];
  if (!process.plain.may_run(thread.raw.rip)) return;
  const bool is_alone = !has_others(thread);
  process.mappings.look(thread.number);
  batch_.begin(thread.number, process.mappings, is_alone);
  Recorder recorder(*this, process, thread);
  const size_t count = process.plain.run(thread.raw, batch_, recorder);
  recorder.finish();
  batch_.finish();
  if (count == 0) return;
  set_registers(thread.number, thread.raw);
  thread.trap_flag.on_registers_set();
  thread.restart.reset();
}

// They are sent at once: before what other threads do in that memory.
void Stepper::tell_maps(Thread& thread) {
  thread.records.maps(file_of_process(thread.process, "maps"));
  if (program_ != 0) send(thread);
}

void Stepper::send_if_full(Thread& thread) {
  if (thread.records.size() + processes_[thread.process].definitions.size() >= settings_.buffer) send(thread);
}

void Stepper::send(Thread& thread) {
  Process& process = processes_[thread.process];
  if (thread.records.size() == 0 && process.definitions.empty()) return;
  connection_.send(remote::records_packet(uint32_t(thread.process), uint32_t(thread.number), process.definitions,
                                          thread.records.take()));
  process.definitions.clear();
}

void Stepper::send_all() {
  for (const auto& [number, thread] : threads_) send(*thread);
}

void Stepper::let_go(pid_t stopped) {
  send_all();
  for (const auto& [number, thread] : threads_) {
    int status = 0, signal = 0;
    if (number != stopped) {
      ptrace(PTRACE_INTERRUPT, number, nullptr, nullptr);
      if (waitpid(number, &status, __WALL) != number || !WIFSTOPPED(status)) continue;
      if (status >> 16 == 0 && WSTOPSIG(status) != SIGTRAP) signal = WSTOPSIG(status);
    }
    if (thread->has_breakpoint) set_debug_register(number, kBreakpointControl, 0);
    if (has_trap_to_come(number)) {
      ptrace(PTRACE_CONT, number, nullptr, 0L);
      if (waitpid(number, &status, __WALL) != number || !WIFSTOPPED(status)) continue;
    }
    if (!thread->trap_flag.is_own()) take_trap_flag_from(number);
    ptrace(PTRACE_DETACH, number, nullptr, long(signal));
  }
  threads_.clear();
  while (waitpid(program_, &status_, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace prof::target
