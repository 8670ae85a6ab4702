#include "order.h"

namespace prof {

namespace {

// What is greater comes first. Names have no such number.
double rank(SortKey key, const FunctionSum& sum) {
  switch (key) {
    case SortKey::self:
      return double(sum.self);
    case SortKey::total:
      return double(sum.total);
    case SortKey::calls:
      return double(sum.calls);
    case SortKey::per_call:
      return sum.calls == 0 ? 0 : double(sum.total) / double(sum.calls);
    case SortKey::name:
      break;
  }
  return 0;
}

}  // namespace

bool comes_before(SortKey key, const Ranked& a, const Ranked& b) {
  if (key == SortKey::name && a.name != b.name) return a.name < b.name;
  const double first = rank(key, a.sum), second = rank(key, b.sum);
  if (first != second) return first > second;
  if (a.sum.self != b.sum.self) return a.sum.self > b.sum.self;
  if (a.sum.self_waiting != b.sum.self_waiting) return a.sum.self_waiting > b.sum.self_waiting;
  if (a.sum.calls != b.sum.calls) return a.sum.calls > b.sum.calls;
  if (a.name != b.name) return a.name < b.name;
  return a.address < b.address;
}

}  // namespace prof
