// System calls: which one an instruction makes, and what its arguments are. is_system_call in encoding.h tells which
// instructions make one.

#ifndef LINKER_REWRITE_X86_SYSTEM_CALLS_H
#define LINKER_REWRITE_X86_SYSTEM_CALLS_H

#include "decode.h"

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

}  // namespace profld

#endif
