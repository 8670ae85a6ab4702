// What ptrace(2) gives of a stopped thread: registers, memory, code; and how a program is started under it.

#ifndef PROF_INSTRUCTIONS_TARGET_TRACEE_H
#define PROF_INSTRUCTIONS_TARGET_TRACEE_H

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "prof/instructions/remote/registers.h"

namespace prof::target {

// Starts a program, which is looked for as a shell does, and stops it before its first instruction. Threads and
// processes that it makes will be traced, and die when this process does. Throws Error if it cannot be started.
pid_t start_program(const std::vector<std::string>& arguments);

// A debug register of the processor, which the kernel keeps for each thread.
bool set_debug_register(pid_t thread, size_t number, uint64_t value);
// Address of the first breakpoint, and which are enabled: the first, before an instruction runs.
inline constexpr size_t kFirstBreakpoint = 0, kBreakpointControl = 7;
inline constexpr uint64_t kFirstEnabled = 1;

// Whether the processor stops at breakpoints that are set there. Virtual ones may take them and go on.
bool has_breakpoints();

// Keeps this process, and what it starts, on the processor that it is on. A step then needs no other processor to wake
// up.
void stay_on_one_processor();

// False if the thread is gone, here and below.
bool get_registers(pid_t thread, user_regs_struct& to);
bool set_registers(pid_t thread, const user_regs_struct& from);
remote::Registers registers_of(const user_regs_struct& from);
remote::VectorRegisters vectors_of(pid_t thread);

// Up to `size` bytes, as many as can be read.
std::string read_memory(pid_t thread, uint64_t address, size_t size);
// Memory that the program may not write, too.
bool write_memory(pid_t thread, uint64_t address, std::string_view bytes);

// Reads the bytes of an instruction into `to`; returns how many there are.
size_t read_code(pid_t thread, uint64_t address, char (&to)[remote::kLongestInstruction]);

// Whether it may be an instruction whose addresses or whose mask stand in vector registers. Some that it names do not.
bool may_need_vectors(std::string_view code);

// The process that a thread is of; 0 if it is gone.
pid_t process_of(pid_t thread);

// A file of /proc/PID; "" if there is none.
std::string file_of_process(pid_t process, const char* name);

}  // namespace prof::target

#endif
