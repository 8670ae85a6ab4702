// Tail calls: jumps to another function, which take the place of a call and a return.
//
// The problem. The function jumped to finds the stack as the function that jumps found it, and returns to that one's
// caller. So it looks as if that had called it. It is to be seen on whose behalf it runs.
//
// The way taken. The frame of the function that jumps becomes that of the function jumped to: its node is now a child
// of the node that it had. So nothing is pushed, and the exit of the function jumped to pops the frame as any exit
// does. tail_hooks.S has this as its fast path, for jumps whose end is known when the program is rewritten: they lead
// after the enter hook of the function jumped to, since _proftail does what that would do.
//
// Jumps that may lead anywhere (through a pointer, to a function of another library) go to the function's entry as
// ever, with its hook, if it has one. Whether it has decides here: a frame for a function without a hook would stay,
// and get the time of the caller and what that calls next. So _profjump reads the jump that follows it, and the
// instructions that it leads to: jumps to a copy, stubs of the linker, and the call of a hook. It reads no address that
// the program itself would not read next, or execute; code is read only where rewritten files are, since other code
// need not be readable. If there is a hook, the frame gets the node, and a flag that the hook of this function is
// EXPECTED next in this slot; else _profjump does what _profout does. The enter hook finds a frame that has its own
// slot, takes the slow path, sees the flag and its own node, and has only to count.
//
// Between the two a handler's hooks find the frame as they do any frame, and it is there when the handler returns. If
// the function does not come (a handler left by siglongjmp; another thread changed the pointer just now), the frame is
// one of those that are gone, and nothing was counted.
//
// A stub that the dynamic linker has not bound yet leads to the dynamic linker, which has no hooks: so the first tail
// call through each of these is shown as one by the caller. LD_BIND_NOW binds them all before.
//
// PROFTYPE=adaptive. The time of a call that is timed includes that of the functions which it jumped to, because
// readers subtract theirs from it. So its frame stays where it is, and that of the function jumped to is put above it,
// with the same slot; the mark in the slot makes the exit take the slow path, which pops all of them. When a tail call
// is folded, the calls that were made since the one it is folded onto end there. So there are no more frames than
// functions.
//
// When anything is not as it should be (no frame, no room), the function jumped to is entered as if it had been called.

#include "tail_calls.h"

#include "libprof/clock/times.h"
#include "libprof/data/frames.h"
#include "libprof/data/objects.h"
#include "libprof/file/durations.h"
#include "libprof/file/tree.h"
#include "libprof/hooks/hook_selection.h"
#include "libprof/profile_type.h"
#include "shadow_stack.h"

namespace libprof {

namespace {

using prof_format::kKindOfCall;
using prof_format::kSoughtCall;
using prof_format::kTailCall;
using prof_format::kWeightShift;

// Instructions.
constexpr uint8_t kJump = 0xe9, kShortJump = 0xeb, kCall = 0xe8, kThroughPointer = 0xff, kBnd = 0xf2, kNotrack = 0x3e;
constexpr uint8_t kJumpThroughWord = 0x25, kCallThroughWord = 0x15;  // their second bytes: relative to rip
constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
constexpr uint8_t kNumberToR11[] = {0x41, 0xbb};                    // after it a number of 32 bits: mold's stubs
constexpr uint8_t kWordToR11[] = {0x4c, 0x8b, 0x1d};                // after it a displacement: lld -z retpolineplt
constexpr uint8_t kReturnToR11[] = {0x4c, 0x89, 0x1c, 0x24, 0xc3};  // where its stubs lead
constexpr int kJumpOfThrough = 4;                                   // in the middle bits of the second byte
constexpr int kMaxJumps = 4;                                        // from one to the next, to the function

int32_t displacement_at(const uint8_t* p) {
  int32_t d;
  __builtin_memcpy(&d, p, sizeof d);
  return d;
}

// The end of a jump or call whose displacement of 32 bits is at p, the last part of it.
uint64_t end_of(const uint8_t* p) { return reinterpret_cast<uint64_t>(p + 4) + uint64_t(int64_t(displacement_at(p))); }

uint64_t word_at(uint64_t address) { return *reinterpret_cast<const uint64_t*>(address); }

// The registers at the jump.
class Registers {
 public:
  // `slot`: of the hook; `others`: what CALL_CXX (hook_macros.h) keeps below the red zone.
  Registers(uint64_t slot, const uint64_t* others) : slot_(slot), others_(others) {}

  uint64_t operator[](uint32_t number) const {
    // KEPT_* of hook_macros.h, and the indices of others.
    constexpr int8_t kPlaces[16] = {-8, -24, -32, 0, 0, 1, -40, -48, -56, -64, -72, -80, 2, 3, 4, 5};
    if (number == kStackPointer) return slot_ + sizeof slot_;
    const int8_t place = kPlaces[number & 15];
    return place < 0 ? word_at(slot_ + uint64_t(int64_t(place))) : others_[place];
  }

 private:
  static constexpr uint32_t kStackPointer = 4;
  uint64_t slot_;
  const uint64_t* others_;
};

// The operand in memory of an instruction whose ModRM byte is at p.
uint64_t address_of_operand(const uint8_t* p, uint8_t rex, const Registers& registers) {
  const uint8_t mode = *p >> 6;
  uint32_t base = *p & 7;
  ++p;
  uint64_t address = 0;
  bool has_base = true;
  if (base == 4) {
    const uint8_t sib = *p++;
    const uint32_t index = (sib >> 3 & 7u) | (rex & 2u) << 2;
    if (index != 4) address = registers[index] << (sib >> 6);
    base = sib & 7;
    has_base = base != 5 || mode != 0;
    if (!has_base) address += uint64_t(int64_t(displacement_at(p)));
  } else if (base == 5 && mode == 0) {
    return end_of(p);
  }
  if (has_base) address += registers[base | (rex & 1u) << 3];
  if (mode == 1) address += uint64_t(int64_t(int8_t(*p)));
  if (mode == 2) address += uint64_t(int64_t(displacement_at(p)));
  return address;
}

// Where the jump at p leads; 0 if it is of a form that compilers do not use.
uint64_t end_of_jump(const uint8_t* p, const Registers& registers) {
  while (*p == kNotrack || *p == kBnd) ++p;
  if (*p == kJump) return end_of(p + 1);
  const uint8_t rex = (*p & 0xf0) == 0x40 ? *p++ : 0;
  if (*p != kThroughPointer) return 0;
  const uint8_t modrm = *++p;
  if ((modrm >> 3 & 7) != kJumpOfThrough) return 0;
  if (modrm >> 6 == 3) return registers[(modrm & 7u) | (rex & 1u) << 3];
  return word_at(address_of_operand(p, rex, registers));
}

template <size_t kSize>
bool is(const uint8_t (&instruction)[kSize], const uint8_t* p) {
  for (uint8_t byte : instruction)
    if (*p++ != byte) return false;
  return true;
}

// The word whose contents the stub at p returns to; 0 if it is no such stub.
uint64_t word_of_retpoline(const uint8_t* p) {
  if (!is(kWordToR11, p)) return 0;
  const uint8_t* to = p + sizeof kWordToR11 + 4;
  for (int i = 0; i < kMaxJumps && (*to == kJump || *to == kCall); ++i)
    to = reinterpret_cast<const uint8_t*>(end_of(to + 1));
  return is(kReturnToR11, to) ? end_of(p + sizeof kWordToR11) : 0;
}

// The pc of the function to which a jump to that address leads: the one after the call of its enter hook. 0 if it has
// no hook.
uint64_t find_hook(State* s, uint64_t address) {
  for (int i = 0; i < kMaxJumps && is_in_object(s, address); ++i) {
    auto* p = reinterpret_cast<const uint8_t*>(address);
    if (is(kEndbr64, p)) p += sizeof kEndbr64;
    if (is(kNumberToR11, p)) p += sizeof kNumberToR11 + 4;
    if (*p == kBnd) ++p;
    if (*p == kJump) {
      address = end_of(p + 1);
    } else if (*p == kShortJump) {
      address = reinterpret_cast<uint64_t>(p + 2) + uint64_t(int64_t(int8_t(p[1])));
    } else if (*p == kThroughPointer && p[1] == kJumpThroughWord) {
      address = word_at(end_of(p + 2));
    } else if (const uint64_t word = word_of_retpoline(p)) {
      address = word_at(word);
    } else if (*p == kThroughPointer && p[1] == kCallThroughWord) {
      const bool is_hook = calls_enter_hook(reinterpret_cast<const uint64_t*>(end_of(p + 2)));
      return is_hook ? reinterpret_cast<uint64_t>(p + 6) : 0;
    } else {
      break;
    }
  }
  return 0;
}

uint64_t weight_of(State* s, Frame* f) { return load(&original_of(s, f)->flags) >> kWeightShift; }

// Gives the top frame another node. Returns the frame that holds the rest of it.
Frame* give_node(State* s, Block node) {
  for (;;) {
    Frame* f = top_frame(s);
    Frame* original = original_of(s, f);
    store(&original->node, node);
    store(&f->node, node);
    if (top_frame(s) == f) return original;  // else a handler has put a copy above it
  }
}

// Whether `node` was reached by tail calls from the function of `earlier`.
bool leads_from(State* s, Block earlier, Block node) {
  const uint64_t most = at<Header>(s->base, 0)->blocks_used;
  for (uint64_t i = 0; i < most && (node_at(s, node)->pc & kTailCall); ++i) {
    node = node_at(s, node)->parent;
    if (node == earlier) return true;
  }
  return false;
}

// Of timed calls, for a tail call that is folded onto `node`: ends those that were made since. Returns the frame of the
// one that goes on, or of the last of them, with the node.
Frame* go_back(State* s, uint64_t slot, Block node, uint64_t now) {
  for (;;) {
    Frame* f = top_frame(s);
    Frame* original = original_of(s, f);
    if (load(&f->node) == node) return original;
    Frame* below = frame_below(s, original);
    const bool is_earlier_call = below && !(below->flags & kBase) && slot_of(below) == slot &&
                                 (load(&below->node) == node || leads_from(s, node, load(&below->node)));
    if (!is_earlier_call) {
      record_call(s, original, now);
      return give_node(s, node);
    }
    const uint64_t found = load(&f->slot);
    if (found != 0) pop(s, f, found, now);
  }
}

// A frame above the top one, for the function jumped to; null if there is no room.
Frame* put_above(State* s, uint64_t slot, Block node) {
  Frame* f = next_entry(s, slot);
  if (!f) return nullptr;
  store(&s->top, as_top(s, f));
  store(&f->node, node);
  store(&f->flags, uint32_t(0));
  store(&f->slot, slot | kSlotTag);
  return f;
}

// The node of the function jumped to, from that whose frame has that slot and becomes the top one; 0 if there is none.
// `pc`: with the kind of call.
inline Block find_node(State* s, uint64_t slot, uint64_t pc, uint64_t now) {
  return find_own_frame(s, slot, now) ? find_or_make_child(s, load(&top_frame(s)->node), pc) : 0;
}

// Makes the top frame, which has that slot, the one of the function jumped to. Returns the frame that holds its flags.
// Not inlined: what finds the node needs the most stack.
[[gnu::noinline]] Frame* move_on(State* s, uint64_t slot, Block node, uint64_t now, bool is_sought) {
  const Block jumping = load(&top_frame(s)->node);
  store(&node_at(s, jumping)->last, node);
  give_time(s, node_at(s, jumping), now);
  if (!is_adaptive()) {
    const uint64_t start = load(&original_of(s, top_frame(s))->start);
    Frame* moved = give_node(s, node);
    if (is_timed()) hand_duration_on(s, moved, node_at(s, jumping), start, now, is_sought);
    return moved;
  }
  const bool is_folded = node_at(s, node)->parent != jumping;
  Frame* f = nullptr;
  if (is_folded)
    f = go_back(s, slot, node, now);
  else if (weight_of(s, top_frame(s)) != 0)
    f = put_above(s, slot, node);
  if (!f) {
    record_call(s, original_of(s, top_frame(s)), now);
    f = give_node(s, node);
  }
  if (is_folded) store(&f->flags, f->flags | kFoldedCall);
  return f;
}

// The function that f is of begins.
void arrive(State* s, Frame* f) {
  if (is_adaptive()) {
    time_tail_call(s, f);
    store(&f->flags, f->flags & ~uint32_t(kExpected | kTimedOnArrival | kFoldedCall));
  }
  add(&node_at(s, load(&f->node))->count, 1);
}

}  // namespace

uint64_t end_of_jump_to_known(const uint8_t* jump) { return end_of(jump + 1); }

bool jump_to_known(State* s, uint64_t slot, const uint8_t* jump) {
  const uint64_t now = stamp(s);
  const Block node = find_node(s, slot, end_of_jump_to_known(jump) | kTailCall, now);
  if (node == 0) return false;
  arrive(s, move_on(s, slot, node, now, false));
  return true;
}

// The rest of a tail call, after a switch: f is the frame of the function that jumps.
extern "C" [[gnu::visibility("hidden")]] void tail_after_switch(State* s, Frame* f, Node* jumping, Block node) {
  const uint64_t now = stamp(s), start = load(&f->start);
  give_time(s, jumping, now);
  store(&f->node, node);
  hand_duration_on(s, f, jumping, start, now, false);
}

// Before a jump that may lead anywhere: the pc of the function to which it leads, 0 if that has no hook. `others`:
// registers, see CALL_CXX in hook_macros.h.
extern "C" [[gnu::visibility("hidden")]] uint64_t find_end_of_jump(State* s, uint64_t slot, const uint8_t* jump,
                                                                   const uint64_t* others) {
  if (!has_stack(s)) return 0;
  const uint64_t end = end_of_jump(jump, Registers(slot, others));
  return end != 0 ? find_hook(s, end) : 0;
}

// The rest of it, a call of its own (jump_slow), so that less of the stack is needed.
bool jump_to_sought(State* s, uint64_t slot, uint64_t pc, uint64_t now) {
  const Block node = pc != 0 ? find_node(s, slot, pc | kTailCall | kSoughtCall, now) : 0;
  if (node == 0) return false;
  Frame* f = move_on(s, slot, node, now, true);
  store(&f->flags, f->flags | (is_adaptive() ? kExpected | kTimedOnArrival : kExpected));
  return true;
}

bool arrive_if_expected(State* s, uint64_t slot, uint64_t pc) {
  Frame* top = top_frame(s);
  if (slot_of(top) != slot) return false;
  Frame* f = original_of(s, top);
  if (!(load(&f->flags) & kExpected) || ((node_at(s, load(&f->node))->pc ^ pc) & ~kKindOfCall) != 0) return false;
  store(&f->flags, f->flags & ~uint32_t(kExpected));
  arrive(s, f);
  return true;
}

}  // namespace libprof
