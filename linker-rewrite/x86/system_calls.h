// System calls: which one an instruction makes, what its arguments are, and what stands in the copy of one that may
// make a thread or a process. is_system_call in encoding.h tells which instructions make one.

#ifndef LINKER_REWRITE_X86_SYSTEM_CALLS_H
#define LINKER_REWRITE_X86_SYSTEM_CALLS_H

#include <sys/syscall.h>

#include "decode.h"
#include "encoding.h"

namespace profld {

// The number of the system call that the instruction `index` makes, if it is loaded shortly before, whichever way
// control comes there; else -1.
int64_t system_call_number(const Code& code, size_t index);

// Whether code is where handlers of signals return to, by its bytes, as unwinders know it. The C library's unwind table
// has it begin one byte before, amid an instruction, and so has `code`.
bool ends_signal(ByteView code);

// A bit for each argument, the first is bit 0.
struct PointerArguments {
  uint8_t bytes = 0;  // the kernel reads or writes the bytes that it points to; pointers to structures are left out
  uint8_t pages = 0;  // the pages that it points to are changed as a whole: mprotect, madvise, ...
};

// For the number -1: all arguments.
PointerArguments pointer_arguments(int64_t system_call_number);

// Which may make threads and processes that run beside their maker.
inline constexpr int64_t kTaskCalls[] = {SYS_clone, SYS_clone3, SYS_fork};

// Writes a system call that may be one of these; what it makes begins where the word `begin` leads (system_calls.cc).
void write_task_call(InstructionWriter& writer, NewAddr begin);
inline constexpr uint32_t kTaskCallLength = 112;  // bytes

}  // namespace profld

#endif
