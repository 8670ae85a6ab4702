// Runs plain instructions (plain_instruction.h) of a stopped thread, in this process, some of them by the
// processor itself (NativeCode).
//
// To stop a thread after each instruction takes a hundred times as long as to read what the instruction needs, have it
// computed here, and write what became of it. So a thread that is stopped is advanced here, instruction by instruction,
// as far as all of them are plain and have the memory that they need; what is not so the thread does itself, from where
// it then stands. An instruction either is run here as a whole, or leaves no trace.
//
// Instructions that lie one after the other are decoded together, up to one that may go elsewhere. Before each time
// that they run their bytes are compared; a write to them ends that time. So code that changes itself is run as it is.

#ifndef PROF_INSTRUCTIONS_TARGET_PLAIN_CODE_H
#define PROF_INSTRUCTIONS_TARGET_PLAIN_CODE_H

#include <sys/user.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memory.h"
#include "plain_instruction.h"

namespace prof::target {

// Computations that are run by the processor with registers given to it: a place in this process for their code, and
// for the one operand in memory that each may have.
//
// All general registers but the stack pointer have the values of the frame while such a computation runs, and so do the
// status flags; what becomes of them is in the frame after it. The stack stays that of this process, so that signals
// may come.

constexpr uint64_t kStatusFlags = 0x8d5;  // carry, parity, adjust, zero, sign, overflow

struct NativeFrame {
  std::array<uint64_t, kPlainRegisters> registers;  // that of the stack pointer is neither read nor written
  uint64_t flags;                                   // status flags, on the way in; others mean nothing on the way out
};

class NativeCode {
 public:
  NativeCode();
  ~NativeCode();
  NativeCode(const NativeCode&) = delete;
  NativeCode& operator=(const NativeCode&) = delete;

  // Memory that may be written and run could be had: not all systems give it.
  bool is_there() const { return memory_ != nullptr; }
  // The code that runs these; it has to be called with run(). Null if there is no room: clear() makes some.
  const void* add(const NativeBytes& bytes);
  void clear();

  void run(const void* code, NativeFrame& frame) const;
  // The operand in memory.
  uint8_t* operand() const { return memory_; }

 private:
  uint8_t* memory_ = nullptr;
  size_t used_ = 0;
  std::unordered_map<std::string_view, const void*> known_;  // views of memory_
};

// What instructions are run with.
struct PlainState {
  NativeFrame general;  // its flags are all of them
  uint64_t at = 0;      // the instruction pointer
  uint64_t fs_base = 0, gs_base = 0;
};

class PlainCode {
 public:
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // Instructions there are about to be run: the bytes that begin with one, as far as an instruction can reach; its
    // size; and where it always goes on, or 0.
    virtual void found(uint64_t address, std::string_view bytes, size_t size, uint64_t next) = 0;
    // One of this size has run: what was before. 0: it will be repeated.
    virtual void ran(const PlainState& before, size_t size) = 0;
  };

  // Whether the thread is in a state in which instructions can be run for it.
  static bool can_run(const user_regs_struct& registers);
  // False if a look at the instruction there has shown that it is not plain. It may have changed.
  bool may_run(uint64_t address) const;
  // Runs what can be run, and says how many instructions that were. `registers` are those after them.
  size_t run(user_regs_struct& registers, BatchMemory& memory, Watcher& watcher);
  void forget();

 private:
  struct Item {
    PlainInstruction plain;
    const void* native = nullptr;
  };
  struct Block {
    std::vector<Item> items;
    std::string bytes;  // of the items, and after them as many as found() tells of the last one
  };
  // Null if there is no code to be had.
  const Block* find(uint64_t address, BatchMemory& memory, Watcher& watcher);
  bool execute(const Item& item, const PlainState& before, PlainState& after, BatchMemory& memory);
  bool compute(const Item& item, const PlainState& before, PlainState& after, BatchMemory& memory);
  bool pass_control(const PlainInstruction& plain, const PlainState& before, PlainState& after, BatchMemory& memory);
  bool use_stack(const PlainInstruction& plain, const PlainState& before, PlainState& after, BatchMemory& memory);
  bool use_string(const PlainInstruction& plain, const PlainState& before, PlainState& after, BatchMemory& memory);
  bool write(BatchMemory& memory, uint64_t address, const void* from, size_t size);

  NativeCode native_;
  std::unordered_map<uint64_t, Block> blocks_;
  uint64_t begin_ = 0, end_ = 0;  // of the block that runs
  bool has_changed_ = false;      // it
};

}  // namespace prof::target

#endif
