#include "abstract_state.h"

#include <algorithm>

namespace profld {

namespace {

using Kind = Value::Kind;

constexpr size_t kMaxStackWords = 1024;  // per state; what does not fit is unknown
}  // namespace

namespace {

// A comparison of the low 32 bits bounds the index: compilers use the whole register as index only when its other bits
// are those of its sign.
bool bounds_index(const Value& v) { return v.bound != kNoBound && (v.bound_width >= v.narrow || v.bound_width >= 32); }

}  // namespace

uint64_t Value::index_bound() const {
  if (bounds_index(*this)) return bound;
  return narrow == 8 && !signed_index ? UINT8_MAX : kNoBound;
}

bool Value::index_may_be_negative() const {
  return (narrow == 64 || signed_index) && (!bounds_index(*this) || signed_bound);
}

ValueNumber Values::add(const Value& v) {
  const bool unknown = v.kind == Kind::unknown && v.scale == 1 && v.size == 0 && v.address == 0 && v.table == 0 &&
                       !v.sign_extended && v.origin == kNoOrigin && v.base_origin == kNoOrigin;
  const bool unbounded = unknown && v.bound == kNoBound && v.bound_width == 64 && !v.exact && v.zeros == 0;
  unknown_.push_back({.is = unknown,
                      .unbounded = unbounded,
                      .computed = v.computed,
                      .had_constant = v.had_constant,
                      .on_stack = v.on_stack,
                      .from_stack = v.from_stack,
                      .signed_index = v.signed_index,
                      .narrow = v.narrow});
  values_.push_back(v);
  return ValueNumber(values_.size() - 1);
}

ValueNumber State::stack_word(const Value& a) const {
  const std::pair key(a.id, int64_t(a.address));
  auto it = std::ranges::lower_bound(stack_words, key, {}, &StackWord::key);
  return it != stack_words.end() && it->key() == key ? it->value : kNoValue;
}

void State::store(const Value& a, uint8_t size, ValueNumber value) {
  const int64_t at = int64_t(a.address);
  const std::pair first(a.id, at - 7), last(a.id, at + size - 1);
  auto from = std::ranges::lower_bound(stack_words, first, {}, &StackWord::key);
  auto to = std::ranges::upper_bound(stack_words, last, {}, &StackWord::key);
  if (value != kNoValue && from != to && from->offset == at && to - from == 1) {
    from->value = value;
    return;
  }
  from = stack_words.erase(from, to);
  if (value != kNoValue && stack_words.size() < kMaxStackWords) stack_words.insert(from, {a.id, at, value});
}

void State::limit(const Comparison& c, uint64_t bound, bool is_signed, Values& values) {
  auto apply = [&](ValueNumber& n) {
    const Value& v = values[n];
    if (v.id != c.id || v.kind == Kind::stack || v.kind == Kind::constant) return;
    if (c.scale != 1 && v.scale != c.scale) return;
    const bool is_lower = !v.exact || v.index_bound() > bound / c.scale;
    const bool tells_sign = !is_signed && v.signed_bound;
    if (!is_lower && !tells_sign) return;
    Value limited = v;
    if (is_lower) {
      limited.bound = bound / c.scale;
      limited.bound_width = c.width;
      limited.exact = true;
    }
    limited.signed_bound = is_signed && v.index_may_be_negative();
    n = values.add(limited);
  };
  if (c.id == 0) return;
  for (ValueNumber& n : registers) apply(n);
  for (StackWord& s : stack_words) apply(s.value);
}

Value merged(const Value& a, const Value& b, uint64_t key, JoinPolicy policy, Certain certain, Origins& origins) {
  if (a == b) return a;
  const bool are_same_address = a.kind == Kind::constant && b.kind == Kind::constant && a.address == b.address;
  if (certain == Certain::first && (a.is_address() || a.kind == Kind::stack) && !are_same_address) return a;
  if (certain == Certain::second && (b.is_address() || b.kind == Kind::stack) && !are_same_address) return b;
  auto is_address = [](const Value& v) { return v.is_address() || v.kind == Kind::element; };
  if (policy == JoinPolicy::optimistic) {
    auto is_anything = [](const Value& v) { return (v.kind == Kind::unknown && !v.had_constant) || v.is_number(); };
    if (a.is_address() && is_anything(b)) return a;
    if (b.is_address() && is_anything(a)) return b;
  }
  auto is_pointer = [](const Value& v) { return (v.kind == Kind::unknown && !v.computed) || v.kind == Kind::constant; };
  Value r = a;
  const bool same_steps = a.kind == b.kind && a.scale == b.scale && a.size == b.size && a.address == b.address &&
                          a.table == b.table && a.sign_extended == b.sign_extended &&
                          (a.origin == kNoOrigin) == (b.origin == kNoOrigin);
  if (!same_steps || a.kind == Kind::stack) {
    // If both values are pointers, the result is a pointer.
    r = Value::unknown(Values::joined_at(key), !is_pointer(a) || !is_pointer(b));
    r.had_constant = a.had_constant || b.had_constant || is_address(a) || is_address(b);
    r.on_stack = a.may_be_on_stack() || b.may_be_on_stack();
    r.from_stack = a.from_stack || b.from_stack;
    return r;
  }
  origins.join(a.origin, b.origin);
  origins.join(a.base_origin, b.base_origin);
  if (a.kind == Kind::constant) return r;
  r.computed |= b.computed;
  r.had_constant |= b.had_constant;
  r.on_stack |= b.on_stack;
  r.from_stack |= b.from_stack;
  r.zeros = std::min(a.zeros, b.zeros);
  r.narrow = std::max(a.narrow, b.narrow);
  r.signed_index |= b.signed_index;
  if (a.id != b.id) r.id = Values::joined_at(key);
  const bool grows_again = a.id == Values::joined_at(key) && b.bound > a.bound;
  if (a.bound == kNoBound || b.bound == kNoBound || a.bound_width != b.bound_width || grows_again) {
    r.bound = kNoBound;
    r.bound_width = 64;
    r.exact = r.signed_bound = false;
  } else {
    r.bound = std::max(a.bound, b.bound);
    r.signed_bound |= b.signed_bound;
    r.exact = a.exact && b.exact;
  }
  return r;
}

namespace {

// Joins two values that meet at `key` in the first. True if that changed it.
inline bool join(ValueNumber& into, ValueNumber with, uint64_t key, JoinPolicy policy, Certain certain,
                 Origins& origins, Values& values) {
  if (into == with || (certain != Certain::second && values.absorbs(into, with, key))) return false;
  const Value made = merged(values[into], values[with], key, policy, certain, origins);
  if (made == values[into]) return false;
  into = made == values[with] ? with : values.add(made);
  return true;
}

}  // namespace

// A word of the stack that is missing on one side is unknown there.
bool State::merge_stack_words(const State& other, uint64_t key, JoinPolicy policy, Certain certain, Origins& origins,
                              Values& values) {
  const bool keep_addresses = policy == JoinPolicy::optimistic;
  auto survives = [&](const StackWord& s, Certain side) {
    const Value& v = values[s.value];
    return (keep_addresses && (v.is_address() || v.had_constant)) || (certain == side && v.is_address());
  };
  bool changed = false;
  auto here = stack_words.begin(), kept = stack_words.begin();
  std::vector<StackWord> added;
  auto keep = [&] {
    if (kept != here) *kept = *here;
    ++kept;
    ++here;
  };
  for (auto there = other.stack_words.begin(); here != stack_words.end() || there != other.stack_words.end();) {
    if (here != stack_words.end() && there != other.stack_words.end() && here->is_at(*there)) {
      changed |= join(here->value, there->value, key << 16 | (kRegisters + (uint64_t(here->offset) & 0xfff)), policy,
                      certain, origins, values);
      keep();
      ++there;
    } else if (there == other.stack_words.end() || (here != stack_words.end() && here->key() < there->key())) {
      if (survives(*here, Certain::first)) {
        keep();
      } else {
        changed = true;
        ++here;
      }
    } else {
      if (survives(*there, Certain::second)) added.push_back(*there);
      ++there;
    }
  }
  stack_words.erase(kept, stack_words.end());
  if (!added.empty()) {
    changed = true;
    const auto middle = stack_words.insert(stack_words.end(), added.begin(), added.end());
    std::inplace_merge(stack_words.begin(), middle, stack_words.end(),
                       [](const StackWord& a, const StackWord& b) { return a.key() < b.key(); });
  }
  return changed;
}

bool State::merge(const State& other, uint64_t key, JoinPolicy policy, Origins& origins, Values& values) {
  const Certain certain = is_doubtful == other.is_doubtful ? Certain::both
                          : is_doubtful                    ? Certain::second
                                                           : Certain::first;
  bool changed = certain == Certain::second;
  is_doubtful = is_doubtful && other.is_doubtful;
  for (uint8_t i = 0; i < kRegisters; ++i)
    changed |= join(registers[i], other.registers[i], key << 16 | i, policy, certain, origins, values);
  changed |= merge_stack_words(other, key, policy, certain, origins, values);
  if (comparison.id != 0 && comparison != other.comparison) {
    comparison = {};
    changed = true;
  }
  return changed;
}

Value extended(const Value& v, uint8_t size, bool sign_extend, uint64_t fresh_id) {
  if (size == 8) return v;
  Value unknown = Value::unknown(fresh_id, true);
  unknown.narrow = sign_extend ? 64 : uint8_t(size * 8);
  unknown.had_constant = v.had_constant || v.is_address() || v.kind == Kind::element;
  Value r = v;
  switch (v.kind) {
    case Kind::constant:
      if (size == 4 && v.address <= (sign_extend ? INT32_MAX : UINT32_MAX)) return v;
      return v.is_number() && !sign_extend ? Value::number(v.address & ((1ull << size * 8) - 1)) : unknown;
    case Kind::unknown:
      if (sign_extend && size != 4) return unknown;
      r.signed_index = sign_extend && (v.narrow >= 32 || v.signed_index);
      r.narrow = std::min(v.narrow, uint8_t(size * 8));
      r.computed = true;
      return r;
    case Kind::entry:
      if (size != 4 || v.size != 4) return unknown;
      r.sign_extended = v.sign_extended || sign_extend;
      return r;
    case Kind::element:  // 32-bit arithmetic with addresses below 4 GiB
      return size == 4 && !sign_extend ? v : unknown;
    default:
      return unknown;
  }
}

Value sum(const std::array<Value, 3>& terms, unsigned count, uint64_t fresh_id) {
  uint64_t number = 0;
  const Value* address = nullptr;
  const Value* other = nullptr;
  Value unknown = Value::unknown(fresh_id, true);
  bool several = false;
  for (unsigned i = 0; i < count; ++i) {
    const Value& v = terms[i];
    unknown.had_constant |= v.had_constant || v.is_address() || v.kind == Kind::element;
    unknown.on_stack |= v.may_be_on_stack();
    if (v.is_number()) {
      number += v.address;
    } else {
      const Value*& place = v.is_address() ? address : other;
      several |= place != nullptr;
      place = &v;
    }
  }
  if (several) return unknown;
  if (!other) {
    Value r = address ? *address : Value::number(0);
    r.address += number;
    return r;
  }
  Value r = *other;
  if (!address) {
    if (number == 0) return r;
    if (r.kind != Kind::stack && r.kind != Kind::element) return unknown;
    r.address += number;
    return r;
  }
  switch (r.kind) {
    case Kind::unknown:
      r.kind = Kind::element;
      r.address = address->address + number;
      r.origin = address->origin;
      return r;
    case Kind::entry:
      r.kind = Kind::target;
      r.table = r.address;
      r.address = address->address + number;
      r.base_origin = address->origin;
      return r;
    default:
      return unknown;
  }
}

}  // namespace profld
