// The programs of seccomp filters: classic BPF over the data of one system call.

#ifndef LIBPROF_SECCOMP_FILTER_H
#define LIBPROF_SECCOMP_FILTER_H

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

}  // namespace libprof

#endif
