// The abstract state: the facts that are known about the values in registers and on the stack at one point of a
// function. It is the domain of the abstract interpretation that finds jump tables (tables.cc).
//
// A jump through a table computes its target in steps that compilers arrange in many ways: the table's address, an
// index times the size of an entry, the entry, the sum of the entry and the address. A value is one of those steps,
// or unknown. Where two paths meet with different values, the result is unknown.

#ifndef LINKER_REWRITE_JUMPS_ABSTRACT_STATE_H
#define LINKER_REWRITE_JUMPS_ABSTRACT_STATE_H

#include <array>
#include <bit>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "linker-rewrite/x86/semantics.h"

namespace profld {

// Where a constant comes from: a field of an instruction, which can be changed to another address. The constant may
// differ from the field's address by arithmetic. Constants without an origin are plain numbers.
using Origin = uint32_t;
inline constexpr Origin kNoOrigin = UINT32_MAX;
inline Origin displacement_of(uint32_t insn) { return insn * 2; }
inline Origin immediate_of(uint32_t insn) { return insn * 2 + 1; }

// Sets of origins whose constants meet: those of a set must be changed together or not at all.
class Origins {
 public:
  explicit Origins(size_t insns) : parent_(insns * 2) { std::iota(parent_.begin(), parent_.end(), 0); }
  Origin find(Origin o) {
    while (parent_[o] != o) o = parent_[o] = parent_[parent_[o]];
    return o;
  }
  void join(Origin a, Origin b) {
    if (a != kNoOrigin && b != kNoOrigin) parent_[find(a)] = find(b);
  }
  size_t size() const { return parent_.size(); }

 private:
  std::vector<Origin> parent_;
};

inline constexpr uint64_t kNoBound = UINT64_MAX;

struct Value {
  enum class Kind : uint8_t {
    unknown,   // scale * index, about which only bounds are known
    constant,  // address
    stack,     // address bytes from the start of frame `id`
    element,   // address + scale * index: of an entry of a table
    entry,     // the entry at such an address, `size` bytes, sign- or zero-extended
    target,    // entry + address, where the entry is read from `table` + scale * index
  };
  Kind kind = Kind::unknown;
  bool computed : 1 = false;  // unknown: the result of arithmetic, not a pointer that was loaded, passed or returned
  bool had_constant : 1 = false;  // unknown: an address may be lost in it
  bool on_stack : 1 = false;      // unknown: may be the address of something on the stack
  bool from_stack : 1 = false;    // unknown: may have been read from there, where the function has put anything
  bool sign_extended : 1 = false;
  bool exact : 1 = false;         // of the bound: a comparison gave it, not just the index's type
  bool signed_index : 1 = false;  // the index is the low `narrow` bits with their sign, else with zeros
  bool signed_bound : 1 = false;  // a signed comparison gave the bound: the index may be negative all the same
  uint8_t scale = 1;
  uint8_t size = 0;
  // The index: equal ids mean equal values; only the low `narrow` bits of the value are used. `bound` is the greatest
  // value that the low `bound_width` bits can have.
  uint8_t narrow = 64;
  uint8_t bound_width = 64;
  uint8_t zeros = 0;  // so many of its low bits are known to be zero
  uint8_t unused_too = 0;
  Origin origin = kNoOrigin;       // of the address; in entry and target: of the table's address
  Origin base_origin = kNoOrigin;  // of a target's address
  uint64_t bound = kNoBound;
  uint64_t id = 0;
  uint64_t address = 0;
  uint64_t table = 0;

  bool operator==(const Value& other) const;

  static Value number(uint64_t n) {
    Value v;
    v.kind = Kind::constant;
    v.address = n;
    return v;
  }
  static Value constant(uint64_t address, Origin origin) {
    Value v = number(address);
    v.origin = origin;
    return v;
  }
  static Value unknown(uint64_t id, bool computed) {
    Value v;
    v.id = id;
    v.computed = computed;
    return v;
  }
  static Value stack(uint64_t frame, uint64_t offset) {
    Value v;
    v.kind = Kind::stack;
    v.id = frame;
    v.address = offset;
    return v;
  }
  bool may_be_on_stack() const { return kind == Kind::stack || on_stack; }
  bool is_number() const { return kind == Kind::constant && origin == kNoOrigin; }
  bool is_address() const { return kind == Kind::constant && origin != kNoOrigin; }
  // The greatest index; kNoBound if none is known.
  uint64_t index_bound() const;
  bool index_may_be_negative() const;
};

// Word by word, because no other operation on values is as frequent as this.
inline bool Value::operator==(const Value& other) const {
  static_assert(std::has_unique_object_representations_v<Value>);
  using Words = std::array<uint64_t, sizeof(Value) / 8>;
  const Words a = std::bit_cast<Words>(*this), b = std::bit_cast<Words>(other);
  uint64_t difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == 0;
}

// Values by number. States are copied and compared far more often than they get new values, so they hold numbers. One
// number is one value; a value may have several.
using ValueNumber = uint32_t;
inline constexpr ValueNumber kNoValue = UINT32_MAX;

class Values {
 public:
  // `expected`: usually there are not more. Memory for values that never come is not touched.
  explicit Values(size_t expected) {
    values_.reserve(expected);
    unknown_.reserve(expected);
  }

  ValueNumber add(const Value& v);
  // Valid until the next value is added.
  const Value& operator[](ValueNumber n) const { return values_[n]; }
  // True if `a` does not change where it meets `b` at the place `key`, because all that is known about `a` is that this
  // place made it. `merged` gives the same result, but takes longer.
  bool absorbs(ValueNumber a, ValueNumber b, uint64_t key) const {
    const Unknown x = unknown_[a], y = unknown_[b];
    return x.unbounded && y.is && values_[a].id == joined_at(key) && x.computed >= y.computed &&
           x.had_constant >= y.had_constant && x.on_stack >= y.on_stack && x.from_stack >= y.from_stack &&
           x.signed_index >= y.signed_index && x.narrow >= y.narrow;
  }
  // The id of an unknown value that is made where paths meet.
  static uint64_t joined_at(uint64_t key) { return 1ull << 62 | key; }

 private:
  // Whether a value is unknown and no multiple of another; if so, only the members below matter.
  struct Unknown {
    bool is : 1, unbounded : 1, computed : 1, had_constant : 1, on_stack : 1, from_stack : 1, signed_index : 1;
    uint8_t narrow;
  };

  std::vector<Value> values_;
  std::vector<Unknown> unknown_;
};

// What remains of an address where it meets an unknown value.
enum class JoinPolicy : uint8_t {
  sound,       // unknown
  optimistic,  // the address: control may never take the other path, which may begin after a call that does not return
};

// Which of two states that meet has the addresses and the stack pointer of both; see State::is_doubtful.
enum class Certain : uint8_t { both, first, second };

// The last comparison with a constant whose flags still hold.
struct Comparison {
  uint64_t id = 0;    // of the value compared; 0: none
  uint8_t scale = 1;  // of that value: the product was compared, which does not bound an index that makes it overflow
  uint8_t width = 0;
  uint64_t with = 0;
  bool operator==(const Comparison&) const = default;
};

// The state at one place. Its numbers belong to one Values object, which is passed to all functions that make values.
struct State {
  struct StackWord {
    uint64_t frame;
    int64_t offset;
    ValueNumber value;
    std::pair<uint64_t, int64_t> key() const { return {frame, offset}; }
    bool is_at(const StackWord& other) const { return offset == other.offset && frame == other.frame; }
  };
  std::array<ValueNumber, kRegisters> registers;
  std::vector<StackWord> stack_words;  // 8 bytes of stack each; sorted by key; others are unknown
  Comparison comparison;
  // Control may never be here: it comes from a call that seems never to return (LastCalls). Where such a state meets
  // one that is not doubtful, an address or the stack pointer is what that says. All else is joined as ever.
  bool is_doubtful = false;

  ValueNumber stack_word(const Value& stack_address) const;                 // kNoValue: unknown
  void store(const Value& stack_address, uint8_t size, ValueNumber value);  // kNoValue: something unknown
  // Notes that the compared value, times its scale, is at most `bound`: as a signed number, else as an unsigned one.
  void limit(const Comparison& c, uint64_t bound, bool is_signed, Values& values);
  // Joins the state on another path to the same place, `key` (unique among places). True if that changed anything.
  bool merge(const State& other, uint64_t key, JoinPolicy policy, Origins& origins, Values& values);

 private:
  bool merge_stack_words(const State& other, uint64_t key, JoinPolicy policy, Certain certain, Origins& origins,
                         Values& values);
};

// The value that is either of two; `key` is unique to the place where they meet.
Value merged(const Value& a, const Value& b, uint64_t key, JoinPolicy policy, Certain certain, Origins& origins);

// The low `size` bytes, extended.
Value extended(const Value& v, uint8_t size, bool sign_extend, uint64_t fresh_id);

// The sum of up to three values (with `count` 2: of the first two).
Value sum(const std::array<Value, 3>& terms, unsigned count, uint64_t fresh_id);

}  // namespace profld

#endif
