#include "call_cycles.h"

#include <numeric>
#include <utility>

namespace prof {

namespace {

constexpr uint32_t kNone = CallCycles::kNone;

// One way through the graph, depth first.
class Search {
 public:
  Search(const CallsToSearch& calls, const CallSearchSteps& steps)
      : calls_(calls), steps_(steps), last_(calls.functions), place_(calls.functions, kNone) {
    found_.numbers.assign(calls.functions, 0);
    found_.next.assign(calls.functions, kNone);
    found_.heads.resize(calls.functions);
    std::iota(found_.heads.begin(), found_.heads.end(), 0);
    std::iota(last_.begin(), last_.end(), 0);
  }

  CallCycles search() && {
    for (uint32_t f = 0; f < calls_.functions; ++f) go_from(f);
    for (uint32_t f = 0; f < calls_.functions; ++f) found_.heads[f] = head_of(f);
    return std::move(found_);
  }

 private:
  struct Step {
    uint32_t function;
    size_t next, end;  // of its calls
  };

  // Numbers the function and all that can be reached from it, unless it has a number.
  void go_from(uint32_t start) {
    if (found_.numbers[start] != 0) return;
    enter(start);
    while (!way_.empty()) {
      Step& step = way_.back();
      if (step.next == step.end) {
        leave();
        continue;
      }
      const uint32_t callee = calls_.callee(step.function, step.next++);
      if (found_.numbers[callee] != 0) continue;
      if (is_entered(callee))
        close_cycle(callee);
      else
        enter(callee);
    }
  }

  // Of those without a number: those on the way, and members of a cycle whose head is on it.
  bool is_entered(uint32_t f) { return place_[f] != kNone || head_of(f) != f; }

  uint32_t head_of(uint32_t f) {
    std::vector<uint32_t>& heads = found_.heads;
    uint32_t head = f;
    while (heads[head] != head) head = heads[head];
    while (heads[f] != head) f = std::exchange(heads[f], head);
    return head;
  }

  void enter(uint32_t f) {
    if (steps_.enters) steps_.enters(f, way_.size() + 1);
    place_[f] = uint32_t(way_.size());
    way_.push_back({f, 0, calls_.count(f)});
  }

  // The top of the way calls `callee`, which is further up, or belongs to a cycle whose head is.
  void close_cycle(uint32_t callee) {
    const uint32_t top = place_[callee] != kNone ? place_[callee] : place_[head_of(callee)];
    if (top + 1 == way_.size()) return;  // a function that calls itself
    const uint32_t head = head_of(way_[top].function);
    uint32_t last = last_[head];
    for (size_t i = top + 1; i < way_.size(); ++i) {
      const uint32_t member = way_[i].function;
      if (head_of(member) != member) continue;  // it is in this cycle already
      if (steps_.joins) steps_.joins(member, head);
      found_.next[last] = member;
      found_.heads[member] = head;
      last = last_[member];
    }
    last_[head] = last;
  }

  void leave() {
    const uint32_t f = way_.back().function;
    if (head_of(f) == f) {
      ++numbers_;
      for (uint32_t member = f; member != kNone; member = found_.next[member]) {
        found_.numbers[member] = numbers_;
        if (steps_.numbers) steps_.numbers(member, numbers_);
      }
    }
    place_[f] = kNone;
    way_.pop_back();
  }

  const CallsToSearch& calls_;
  const CallSearchSteps& steps_;
  CallCycles found_;             // while it searches, heads lead to the head of a cycle by steps (union-find)
  std::vector<Step> way_;        // from the start to where it is now
  std::vector<uint32_t> last_;   // by head: the last member
  std::vector<uint32_t> place_;  // on the way; kNone: not on it
  uint32_t numbers_ = 0;
};

}  // namespace

CallCycles find_call_cycles(const CallsToSearch& calls, const CallSearchSteps& steps) {
  return Search(calls, steps).search();
}

}  // namespace prof
