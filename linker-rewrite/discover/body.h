// The body of one function: all code that control reaches from its start without a call or a tail call. See body.cc.

#ifndef LINKER_REWRITE_DISCOVER_BODY_H
#define LINKER_REWRITE_DISCOVER_BODY_H

#include <optional>
#include <utility>
#include <vector>

#include "stack_state.h"

namespace profld {

// Where control leaves a body by a jump, or by running into what follows it.
struct BodyExit {
  OldAddr at;
  OldAddr target;
  bool is_jump = false;  // unconditional
  StackState state;
  bool leads_to_next = false;  // an unconditional jump to the instruction after it
};

struct FrameRow {
  OldAddr at;
  std::optional<StackState::FrameAddress> frame_address;  // from there on
};

struct Body {
  OldRange window;                   // its start, and where another start or the unknown code ends
  std::vector<OldRange> runs;        // the code that is reached, with no-operations between; ascending
  std::vector<bool> is_insn;         // by distance from the start: an instruction starts there
  std::vector<FrameRow> rows;        // ascending
  std::vector<BodyExit> exits;       // direct jumps; of indirect ones those whose targets are known
  std::vector<BodyExit> jumps;       // indirect jumps that are not understood (so far), without a target
  std::vector<OldAddr> calls;        // what is called directly
  std::vector<OldAddr> called_next;  // where it goes on at once, by a call
  std::vector<OldAddr> waiting;      // of these, what may not return: nothing was followed after the call
  std::vector<OldAddr> code;  // addresses of code that it takes, or, at a fixed address, numbers that may be some
  std::vector<OldAddr> data;  // addresses that it names, outside of code
  // Where it goes on by nothing but jumps with an empty stack, ascending: these may be tail calls.
  std::vector<OldAddr> jumped_to;
  bool returns = false;       // as far as it is known without `waiting` and `exits`
  bool is_understood = true;  // false: it reaches bytes that are no instruction, or two that overlap
  bool has_table = false;     // one of its indirect jumps leads to places inside the function
  uint8_t breaches = 0;       // a set of Breach
  // Calls where the stack is known, and is not as the ABI asks for: their targets. None for an indirect call, and for
  // one with nothing on the stack, as in a part of a function that has a frame.
  std::vector<OldAddr> unaligned_calls;

  bool reaches(OldAddr a) const {
    return a >= window.start && a - window.start < is_insn.size() && is_insn[a - window.start];
  }
};

// What is known so far about the code around a body.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  enum class Returns : uint8_t { yes, no, unknown };
  virtual Returns returns(const Insn& call, OldAddr target) const = 0;
  // Of an indirect jump: null if it is not understood; none if it leaves the function for good.
  virtual const std::vector<OldAddr>* targets_of(OldAddr jump) const = 0;
};

// What a body is explored from.
struct BodyEntry {
  OldAddr at;
  StackState state;
  bool is_label = false;  // only its address leads there
  bool operator==(const BodyEntry&) const = default;
};

// Explores the code from the first entry, which is the start, and from the others, within `window`. A jump with an
// empty stack to what looks like a function's start leaves the body, unless control comes there in another way or the
// target is one of `inside` (ascending).
Body explore(const Image& image, OldRange window, const std::vector<BodyEntry>& entries,
             const std::vector<OldAddr>& inside, const Surroundings& surroundings);

// True if a function may start there: at an aligned address, after padding, an instruction that ends control, or a call
// (which may not return); or after zeros that follow an instruction that ends control.
bool may_start_function(const Image& image, OldAddr a);

// True if a path ends in front of `a`, as far as the instruction there tells, or there is padding.
bool may_follow_function(const Image& image, OldAddr a);

// True if there are only instructions that do nothing, or a few zeros, or no bytes.
bool is_padding(const Image& image, OldRange range);

}  // namespace profld

#endif
