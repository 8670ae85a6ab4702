// Which system calls the runtime may still make, after the program has given up its right to some: what seccomp filters
// say, classic BPF over the data of one system call. See sandbox.cc.

#ifndef LIBPROF_ALLOWED_CALLS_H
#define LIBPROF_ALLOWED_CALLS_H

#include <stddef.h>
#include <stdint.h>

namespace libprof {

struct FilterInstruction {  // struct sock_filter
  uint16_t code;
  uint8_t if_true, if_false;
  uint32_t k;
};
static_assert(sizeof(FilterInstruction) == 8);

inline constexpr uint32_t kMaxFilterInstructions = 4096;  // the kernel's limit

struct SystemCall {  // struct seccomp_data
  int32_t number;
  uint32_t architecture;
  uint64_t instruction;  // address after the system call's
  uint64_t arguments[6];
};
static_assert(sizeof(SystemCall) == 64 && offsetof(SystemCall, arguments) == 16);

inline constexpr uint32_t kThisArchitecture = 0xC000003E;  // AUDIT_ARCH_X86_64

// What filters answer in their upper half.
inline constexpr uint32_t kFilterAction = 0xffff0000;
inline constexpr uint32_t kFilterKills = 0x80000000, kFilterLogs = 0x7ffc0000, kFilterAllows = 0x7fff0000;

// The answer of a filter of `size` instructions. `instruction` of the call is not known here: a filter that looks at
// it, or that the kernel would not have accepted, is assumed to kill.
uint32_t run_filter(const FilterInstruction* filter, size_t size, const SystemCall& call);

// Whether there is anything to ask may_call about.
extern uint32_t is_sandboxed;

// Whether the kernel will carry out this system call when the runtime makes it, as far as we know.
bool may_call(int64_t number, const uint64_t (&arguments)[6]);

// A filter of the program's. Inherited by forked children, as the filters are.
struct SeenFilter {
  SeenFilter* next;
  uint64_t size;  // instructions
  FilterInstruction instructions[kMaxFilterInstructions];
};

// From now on may_call asks the filter that the kernel has just read as well. `kept`: zeroed memory, which stays there.
void obey_filter(SeenFilter* kept, const FilterInstruction* instructions, uint64_t size);

// From now on no call may be made, until that is undone as often.
void forbid_all_calls();
void undo_forbid_all_calls();

}  // namespace libprof

#endif
