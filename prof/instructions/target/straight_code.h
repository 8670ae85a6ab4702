// Stretches of code that run from their first instruction to their last whatever happens, found without a decoder.
//
// A program that is stepped says how long its instructions are: each ends where the next one begins, unless it passes
// control on. Those that may do so are few, and are known by their first bytes. So after code has been stepped once, it
// is known up to the next such instruction, and may be run as a whole: up to a breakpoint there. Direct jumps and
// calls, which always go the same way, may stand in between.
//
// The bytes of a stretch have to be compared before each run: the program may have changed them.

#ifndef PROF_INSTRUCTIONS_TARGET_STRAIGHT_CODE_H
#define PROF_INSTRUCTIONS_TARGET_STRAIGHT_CODE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace prof::target {

// Whether an instruction may go on elsewhere than at the next one, or cannot be stepped like others: jumps, calls,
// returns, system calls, traps.
bool passes_control(std::string_view code);

// Whether it is a string instruction with a prefix rep, which a step may leave unfinished.
bool is_repeated(std::string_view code);

// Whether it loads the stack segment: the next instruction then runs in the same step.
bool loads_stack_segment(std::string_view code);

// Whether it is int1, which traps as the end of a step does, or nearly so.
bool is_int1(std::string_view code);

// Whether it pushes the flags; whether it pops them, perhaps with all else that an interrupt has saved.
bool pushes_flags(std::string_view code);
bool pops_flags(std::string_view code);

class StraightCode {
 public:
  // Instructions that lie one after the other.
  struct Piece {
    uint64_t start = 0;
    uint32_t instructions = 0;
    std::string bytes;
  };
  struct Stretch {
    std::vector<Piece> pieces;
    uint64_t end = 0;  // of the instruction that is not run any more
  };

  // The instruction there has run, and control went on to `next`.
  void learn(uint64_t address, std::string_view code, uint64_t next);
  // The stretch that begins there; null if it would have less than two instructions. Valid until the next call of learn
  // or forget.
  const Stretch* find(uint64_t start);
  // How many instructions of the stretch have run when control is at `address`; nothing if that is not in it.
  std::optional<uint64_t> instructions_before(const Stretch& stretch, uint64_t address) const;
  // The code was changed.
  void forget();

 private:
  struct Instruction {
    std::string code;
    std::optional<uint64_t> next;  // where it always goes on
  };
  bool add_piece(Stretch& to, uint64_t& at) const;

  std::unordered_map<uint64_t, Instruction> instructions_;
  std::unordered_map<uint64_t, Stretch> stretches_;
};

}  // namespace prof::target

#endif
