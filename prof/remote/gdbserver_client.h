// Steps a program through gdbserver, which knows nothing of traces: a packet to step, an answer that says where the program
// is now, and where that does not do, more packets, for registers and memory.
//
// The answer to a step has the instruction, stack and base pointers. All registers are asked for only when the instruction
// names others in an address. Code is asked for once, if it lies in memory that the program cannot write; else before each step.
//
// All threads step at once, and gdbserver tells of one at a time: the others have not moved, or are told of later.

#ifndef PROF_REMOTE_GDBSERVER_CLIENT_H
#define PROF_REMOTE_GDBSERVER_CLIENT_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connection.h"
#include "prof/trace/trace_writer.h"
#include "step_recorder.h"
#include "system_calls.h"
#include "target_description.h"
#include "traced_end.h"

namespace prof::remote {

class GdbserverClient {
 public:
  // Takes the descriptor of the link. `command`: the program to be started, and its arguments, if gdbserver has none (gdbserver
  // --multi). Throws Error if gdbserver does not do what is needed.
  GdbserverClient(int descriptor, const std::vector<std::string>& command);

  uint32_t process() const { return process_; }
  // The program's name and its arguments.
  const std::vector<std::string>& command() const { return command_; }

  // Steps the program to its end. When the trace takes no more, it goes on without being stepped. `is_local`: it runs on this
  // machine. Throws Error if what comes makes no sense.
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
  };
  struct LinkBroken {};

  std::string ask(std::string_view packet);
  std::string object(const std::string& name, const std::string& annex);
  std::string file(const std::string& path);
  std::string memory(uint64_t address, size_t size);
  void start(const std::vector<std::string>& command);
  TracedEnd step_to_end(TraceWriter& trace);

  uint32_t take_thread(std::string_view packet, Thread& to);
  void deliver(int signal, uint32_t thread);
  std::string go_on(bool steps) const;
  void on_stop(std::string_view packet, StepRecorder& recorder);
  void on_trap(uint32_t number, Thread& thread, const Registers& now, StepRecorder& recorder);
  void executed(uint32_t number, Thread& thread, StepRecorder& recorder);
  void look(uint32_t number, Thread& thread, StepRecorder& recorder);
  void get_registers(uint32_t number, Thread& thread);
  void read_maps(StepRecorder& recorder);
  bool is_constant(uint64_t address) const;

  Connection connection_;
  std::optional<TargetDescription> description_;
  uint32_t process_ = 0;
  std::vector<std::string> command_;
  std::string stop_;  // the last packet that tells of a stop
  std::map<uint32_t, Thread> threads_;
  std::string delivered_;                                     // when it goes on: SIGNAL:THREAD; "" if none is
  std::vector<std::pair<uint64_t, uint64_t>> constant_code_;  // ranges: private, and not to be written
  std::map<uint64_t, std::string> code_;                      // of instructions in these
};

}  // namespace prof::remote

#endif
