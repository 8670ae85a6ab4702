#include "order.h"

#include "prof/model/tree/probe_cost.h"

namespace prof {

namespace {

// A measured time that no one number stands for has the place of the longest that it may be: what may matter is not
// hidden behind what is known to be little, and the middle of its range says nothing. One from samples is the likely
// one, however few they are.
double decisive(double cycles, const Range& range, double variance) {
  return is_vague(range) && variance == 0 ? range.high : cycles;
}

// What is greater comes first. Names have no such number.
double rank(SortKey key, const FunctionSum& sum) {
  const double total = decisive(double(sum.total), sum.total_range, sum.total_variance);
  switch (key) {
    case SortKey::self:
      return decisive(double(sum.self), sum.self_range, sum.self_variance);
    case SortKey::total:
      return total;
    case SortKey::calls:
      return double(sum.calls);
    case SortKey::per_call:
      return sum.calls == 0 ? 0 : total / double(sum.calls);
    case SortKey::name:
    case SortKey::p50:
    case SortKey::p90:
    case SortKey::p99:
    case SortKey::max:
      break;
  }
  return 0;
}

}  // namespace

const char* name_of(SortKey key) {
  switch (key) {
    case SortKey::self:
      return "self";
    case SortKey::total:
      return "total";
    case SortKey::calls:
      return "calls";
    case SortKey::per_call:
      return "per-call";
    case SortKey::name:
      return "name";
    case SortKey::p50:
      return "p50";
    case SortKey::p90:
      return "p90";
    case SortKey::p99:
      return "p99";
    case SortKey::max:
      return "max";
  }
  return "";
}

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
