#include "values.h"

#include <algorithm>

namespace profld {

namespace {

using Kind = Value::Kind;

constexpr size_t kMaxSlots = 1024;        // per state; what does not fit is unknown
constexpr uint64_t kJoined = 1ull << 62;  // marks ids that a meeting of paths makes

}  // namespace

uint64_t Value::index_bound() const {
  // A comparison of the low 32 bits bounds the index: compilers use it as one only when the rest is zero.
  if (bound != kNoBound && (bound_width >= narrow || bound_width >= 32)) return bound;
  return narrow == 8 ? 0xff : kNoBound;
}

const Value* State::slot(const Value& a) const {
  const std::pair key(a.id, int64_t(a.address));
  auto it = std::ranges::lower_bound(slots, key, {}, &Slot::key);
  return it != slots.end() && it->key() == key ? &it->value : nullptr;
}

void State::store(const Value& a, uint8_t size, const Value* value) {
  const int64_t at = int64_t(a.address);
  const std::pair first(a.id, at - 7), last(a.id, at + size - 1);
  auto from = std::ranges::lower_bound(slots, first, {}, &Slot::key);
  auto to = std::ranges::upper_bound(slots, last, {}, &Slot::key);
  if (value && from != to && from->offset == at && to - from == 1) {
    from->value = *value;
    return;
  }
  from = slots.erase(from, to);
  if (value && slots.size() < kMaxSlots) slots.insert(from, {a.id, at, *value});
}

void State::limit(const Comparison& c, uint64_t bound) {
  auto apply = [&](Value& v) {
    if (v.id != c.id || v.kind == Kind::stack || v.kind == Kind::constant) return;
    if (c.scale != 1 && v.scale != c.scale) return;
    if (v.exact && v.index_bound() <= bound / c.scale) return;
    v.bound = bound / c.scale;
    v.bound_width = c.width;
    v.exact = true;
  };
  if (c.id == 0) return;
  for (Value& v : registers) apply(v);
  for (Slot& s : slots) apply(s.value);
}

namespace {

// True if `a`, a value that the place `key` has made already and of which nothing is known, stays what it is where it
// meets `b`: what `merged` would say too, after more thought.
bool absorbs(const Value& a, const Value& b, uint64_t key) {
  return a.kind == Kind::unknown && b.kind == Kind::unknown && a.id == (kJoined | key) && a.bound == kNoBound &&
         a.bound_width == 64 && !a.exact && a.scale == b.scale && a.size == b.size && a.address == b.address &&
         a.table == b.table && a.sign_extended == b.sign_extended && a.origin == kNoOrigin && b.origin == kNoOrigin &&
         a.base_origin == kNoOrigin && b.base_origin == kNoOrigin && a.computed >= b.computed &&
         a.had_constant >= b.had_constant && a.narrow >= b.narrow;
}

}  // namespace

Value merged(const Value& a, const Value& b, uint64_t key, Meeting meeting, Origins& origins) {
  if (a == b) return a;
  auto is_address = [](const Value& v) { return v.is_address() || v.kind == Kind::element; };
  if (meeting == Meeting::optimistic) {
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
    // A pointer from here or a pointer from there is a pointer.
    r = Value::unknown(kJoined | key, !is_pointer(a) || !is_pointer(b));
    r.had_constant = a.had_constant || b.had_constant || is_address(a) || is_address(b);
    return r;
  }
  origins.join(a.origin, b.origin);
  origins.join(a.base_origin, b.base_origin);
  if (a.kind == Kind::constant) return r;
  r.computed |= b.computed;
  r.had_constant |= b.had_constant;
  r.narrow = std::max(a.narrow, b.narrow);
  if (a.id != b.id) r.id = kJoined | key;
  const bool grows_again = a.id == (kJoined | key) && b.bound > a.bound;
  if (a.bound == kNoBound || b.bound == kNoBound || a.bound_width != b.bound_width || grows_again) {
    r.bound = kNoBound;
    r.bound_width = 64;
    r.exact = false;
  } else {
    r.bound = std::max(a.bound, b.bound);
    r.exact = a.exact && b.exact;
  }
  return r;
}

// A slot that is missing on one side is unknown there.
bool State::merge_slots(const State& other, uint64_t key, Meeting meeting, Origins& origins) {
  const bool keep_addresses = meeting == Meeting::optimistic;
  auto survives = [&](const Slot& s) { return keep_addresses && (s.value.is_address() || s.value.had_constant); };
  bool changed = false;
  auto here = slots.begin(), kept = slots.begin();
  std::vector<Slot> added;
  auto keep = [&] {
    if (kept != here) *kept = std::move(*here);
    ++kept;
    ++here;
  };
  for (auto there = other.slots.begin(); here != slots.end() || there != other.slots.end();) {
    if (there == other.slots.end() || (here != slots.end() && here->key() < there->key())) {
      if (survives(*here)) {
        keep();
      } else {
        changed = true;
        ++here;
      }
    } else if (here == slots.end() || there->key() < here->key()) {
      if (survives(*there)) added.push_back(*there);
      ++there;
    } else {
      if (here->value != there->value) {
        const uint64_t place = kRegisters + (uint64_t(here->offset) & 0xfff);
        Value r = merged(here->value, there->value, key << 16 | place, meeting, origins);
        changed |= r != here->value;
        here->value = r;
      }
      keep();
      ++there;
    }
  }
  slots.erase(kept, slots.end());
  if (!added.empty()) {
    changed = true;
    const auto middle = slots.insert(slots.end(), added.begin(), added.end());
    std::inplace_merge(slots.begin(), middle, slots.end(),
                       [](const Slot& a, const Slot& b) { return a.key() < b.key(); });
  }
  return changed;
}

bool State::merge(const State& other, uint64_t key, Meeting meeting, Origins& origins) {
  bool changed = false;
  auto join = [&](Value& into, const Value& with, uint64_t place) {
    if (absorbs(into, with, key << 16 | place) || into == with) return;
    Value r = merged(into, with, key << 16 | place, meeting, origins);
    if (r == into) return;
    into = r;
    changed = true;
  };
  for (uint8_t i = 0; i < kRegisters; ++i) join(registers[i], other.registers[i], i);
  changed |= merge_slots(other, key, meeting, origins);
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
