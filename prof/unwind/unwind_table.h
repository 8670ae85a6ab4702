// How to get from a function's frame to its caller's, at each instruction of a file: what its unwind tables (.eh_frame)
// say.
//
// libdw reads the tables. Three things it leaves to us:
//
// - What it says of one instruction is kept for that one only. It also tells for which range of instructions a row of
//   the table holds, but after DW_CFA_restore_state that range begins too early.
// - A register of which the table says nothing is called undefined by libdw, or unchanged, by a list of its own in
//   which rbx and rax are exchanged. Here it is unchanged: callers use none of the registers that a function may
//   change.
// - Compilers do not say in their tables that a register has been popped at the end of a function, since exceptions
//   never come from there. Its old place is below the stack pointer then, and it is unchanged if only the end of the
//   function follows (ends_function).

#ifndef PROF_UNWIND_UNWIND_TABLE_H
#define PROF_UNWIND_UNWIND_TABLE_H

#include <elfutils/libdw.h>

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace prof {

// Registers by their numbers in DWARF (System V ABI, x86-64, figure 3.36): rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8
// to r15, and the return address.
enum : uint8_t { kRbp = 6, kRsp = 7, kReturnAddress = 16, kRegisters = 17 };

// An operation of a DWARF expression (DWARF 5, 2.5), as libdw has it.
struct UnwindOperation {
  uint8_t atom = 0;  // DW_OP_*
  uint64_t number = 0, number2 = 0;
  uint64_t offset = 0;  // in the expression, where branches lead to
  auto operator<=>(const UnwindOperation&) const = default;
};
using UnwindExpression = std::vector<UnwindOperation>;

// What a register is in the caller's frame.
struct RegisterRule {
  uint8_t number = 0;
  bool is_address = true;  // `value` is where it is saved; false: what it is
  UnwindExpression value;  // DW_OP_call_frame_cfa is the CFA
  auto operator<=>(const RegisterRule&) const = default;
};

struct UnwindRule {
  bool is_signal_frame = false;         // the kernel's, of a handler: the caller was interrupted, and made no call
  bool is_outermost = false;            // it has no caller
  UnwindExpression cfa;                 // the stack pointer in the caller's frame
  std::vector<RegisterRule> registers;  // all others are unchanged; the return address is among them if it is saved
  auto operator<=>(const UnwindRule&) const = default;
};

class UnwindTable {
 public:
  // Of a file, or of the kernel's code in each process ("[vdso]"). One that cannot be read has no rules.
  explicit UnwindTable(const std::string& path);
  UnwindTable(const UnwindTable&) = delete;
  ~UnwindTable();

  // Null if the tables say nothing of the instruction at this offset in the file. Lives as long as this object.
  const UnwindRule* rule(uint64_t offset);

  // Whether the instruction is where the program or the dynamic linker begins, which nobody calls.
  bool is_entry(uint64_t offset) const;

  // Whether the instruction is of the runtime of rewritten programs, the library with the hooks or the part of a static
  // program that it is. It does some of its work on stacks of its own.
  bool is_runtime(uint64_t offset) const {
    return offset >= runtime_.offset && offset - runtime_.offset < runtime_.size;
  }

  // Whether from this instruction on only what ends a function follows: registers are popped, and it returns or jumps
  // to another one.
  bool ends_function(uint64_t offset) const;

 private:
  struct Segment {
    uint64_t address = 0, offset = 0, size = 0;
  };
  static Segment section_named(Elf* elf, std::string_view wanted);  // zeros if there is none
  std::optional<uint64_t> address_of(uint64_t offset) const;
  std::optional<UnwindRule> read_rule(uint64_t address) const;
  std::string bytes_at(uint64_t offset, uint64_t size) const;

  int fd_ = -1;
  Elf* elf_ = nullptr;
  Dwarf_CFI* tables_ = nullptr;
  uint64_t entry_ = 0;
  Segment runtime_;
  std::vector<Segment> segments_;                          // that may be run
  std::set<UnwindRule> rules_;                             // each once
  std::unordered_map<uint64_t, const UnwindRule*> known_;  // by offset
};

}  // namespace prof

#endif
