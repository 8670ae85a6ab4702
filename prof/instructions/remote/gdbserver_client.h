// Steps a program through gdbserver, which knows nothing of traces: a packet to step, an answer that says where the
// program is now, and where that does not do, more packets, for registers and memory.
//
// The answer to a step has the instruction, stack and base pointers. All registers are asked for only when the
// instruction names others in an address. Code is asked for once, if it lies in memory that the program cannot write;
// else before each step.
//
// All threads step at once, and gdbserver tells of one at a time: the others have not moved, or are told of later.
//
// If processes that the program makes are to be stepped as well, the packets name threads by process and thread (the
// extension "multiprocess"), and gdbserver tells of a child before its first instruction. A thread in vfork does not
// stop before its child has executed another program or ended, and gdbserver would wait for that: it is not let go on
// until then.

#ifndef PROF_INSTRUCTIONS_REMOTE_GDBSERVER_CLIENT_H
#define PROF_INSTRUCTIONS_REMOTE_GDBSERVER_CLIENT_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packet.h"
#include "prof/instructions/trace/trace_writer.h"
#include "registers.h"
#include "step_recorder.h"
#include "system_calls.h"

namespace prof::remote {

// Which bytes of gdbserver's packet `g` are which register.
//
// gdbserver describes the registers of its target in XML, in a file that includes others: each register has a name, a
// size in bits and, where it does not just follow the one before, a number. In `g` they stand in the order of their
// numbers.

class TargetDescription {
 public:
  // `file` gives the text of a file by its name, "" if there is none. The first is "target.xml". Throws Error if a
  // register is missing that addresses are computed from.
  explicit TargetDescription(const std::function<std::string(const std::string& name)>& file);

  // Of the bytes of a packet `g`; false if it is too short.
  bool read(std::string_view bytes, Registers& to) const;
  VectorRegisters vectors(std::string_view bytes) const;

 private:
  struct Place {
    size_t offset = 0, size = 0;  // bytes
  };
  const Place* find(const std::string& name) const;

  std::map<std::string, Place> places_;
};

class GdbserverClient {
 public:
  // Takes the descriptor of the link. `command`: the program to be started, and its arguments, if gdbserver has none
  // (gdbserver --multi). Throws Error if gdbserver does not do what is needed. `follows_forks`: processes that the
  // program makes are stepped, too.
  GdbserverClient(int descriptor, const std::vector<std::string>& command, bool follows_forks);

  uint32_t process() const { return program_; }
  // The program's name and its arguments.
  const std::vector<std::string>& command() const { return command_; }

  // Steps the program to its end, and to that of its children. When the trace takes no more, it goes on without being
  // stepped. `is_local`: it runs on this machine. Throws Error if what comes makes no sense.
  TracedEnd record(TraceWriter& trace, bool is_local);

 private:
  // A thread that is stopped, and what it is about to do.
  struct Thread {
    Registers registers = {};  // rip, rsp and rbp; the others if has_all
    bool has_all = false;
    VectorRegisters vectors;
    std::string code;
    std::optional<SystemCall> call;
    bool was_signalled = false;  // a signal was delivered with the last step
    bool is_known = false;
    bool is_interrupted = false;       // in its system call
    std::optional<Registers> restart;  // before a system call that a signal interrupted: it may begin again
    uint32_t vfork_child = 0;  // a process: the thread is not let go on before it has executed a program or ended
  };
  struct Process {
    std::vector<std::pair<uint64_t, uint64_t>> constant_code;  // ranges: private, and not to be written
    std::map<uint64_t, std::string> code;                      // of instructions in these
  };
  struct Delivery {
    int signal;
    TracedThread thread;
  };
  struct LinkBroken {};

  std::string ask(std::string_view packet);
  std::string object(const std::string& name, const std::string& annex);
  std::string file(const std::string& path);
  std::string memory(uint64_t address, size_t size);
  void start(const std::vector<std::string>& command);

  std::string thread_word(TracedThread thread) const;
  std::optional<TracedThread> take_thread_word(std::string_view& word) const;
  std::optional<TracedThread> take_thread(std::string_view packet, Thread& to) const;
  void select(TracedThread thread);
  void deliver(int signal, TracedThread thread);
  static bool is_about_to(const Thread& thread, std::initializer_list<uint64_t> calls);
  std::string step_packet();
  std::string continue_packet();
  std::string delivery(const std::string& action) const;
  template <typename Waits>
  std::string actions(const std::string& action, Waits waits) const;
  void on_stop(std::string_view packet, StepRecorder& recorder);
  void look_for_ended_threads(StepRecorder& recorder);
  void on_thread_end(std::map<TracedThread, Thread>::iterator ended, StepRecorder& recorder);
  void on_process_end(uint32_t process, StepRecorder& recorder);
  void on_unrecorded_stop(std::string_view packet, StepRecorder& recorder);
  bool on_fork(std::string_view packet, TracedThread parent, StepRecorder& recorder);
  void on_exec(TracedThread traced, StepRecorder& recorder);
  bool on_trap(TracedThread traced, Thread& thread, const Registers& now, StepRecorder& recorder);
  void executed(TracedThread traced, Thread& thread, StepRecorder& recorder);
  void look(TracedThread traced, Thread& thread, StepRecorder& recorder);
  void get_registers(TracedThread traced, Thread& thread);
  void read_maps(uint32_t process, StepRecorder& recorder);
  bool is_constant(uint32_t process, uint64_t address) const;

  Connection connection_;
  std::optional<TargetDescription> description_;
  const bool follows_forks_;
  uint32_t program_ = 0;  // its process
  std::vector<std::string> command_;
  std::string stop_;       // the last packet that tells of a stop
  TracedThread selected_;  // the one that registers and memory are asked of; none: gdbserver chose it
  std::map<uint32_t, Process> processes_;
  std::map<TracedThread, Thread> threads_;
  std::optional<Delivery> delivered_;  // when it goes on
  TracedThread made_;                  // a thread that gdbserver has not told of yet
  bool is_told_of_threads_ = false;    // when they are made
};

}  // namespace prof::remote

#endif
