// Runs plain instructions (plain_instruction.h) of a stopped thread, in this process, some of them by the
// processor itself (NativeCode).
//
// To stop a thread after each instruction takes a hundred times as long as to read what the instruction needs, have it computed
// here, and write what became of it. So a thread that is stopped is advanced here, instruction by instruction, as far as all of them
// are plain and have the memory that they need; what is not so the thread does itself, from where it then stands. An instruction
// either is run here as a whole, or leaves no trace.
//
// Instructions that lie one after the other are decoded together, up to one that may go elsewhere. Before each time that they run
// their bytes are compared; a write to them ends that time. So code that changes itself is run as it is.

#ifndef PROF_INSTRUCTIONS_TARGET_PLAIN_CODE_H
#define PROF_INSTRUCTIONS_TARGET_PLAIN_CODE_H

#include <sys/user.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "batch_memory.h"
#include "native_code.h"
#include "plain_instruction.h"

namespace prof::target {

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
    // Instructions there are about to be run: the bytes that begin with one, as far as an instruction can reach; its size; and
    // where it always goes on, or 0.
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
