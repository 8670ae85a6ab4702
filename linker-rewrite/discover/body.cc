// Recursive traversal: code is decoded from a start on, along all its branches. What the stack looks like is followed
// at the same time (stack_state.h), since it tells a jump within a function from a tail call.
//
// A jump within the window may be a tail call of a function that nobody calls. It is taken for one if the stack is as
// at the entry, if compilers would let a function start at its target, if nothing but such jumps leads there, and if
// the target is after all other code of the body: a function has no gaps.
//
// A call of a function that returns may not return itself, such as error(1, ...), and what follows belongs to another
// path. That is seen where the two paths meet with stacks of different heights; then all begins again without it. If it
// is not seen, no harm is done: a copy has its instructions in the original's order, and goes on after the call as that
// does.
//
// The state is kept at leaders, and joined where paths meet, until nothing changes. Then all is gone through once more,
// to collect what the body refers to.

#include "body.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "linker-rewrite/x86/decode_cache.h"
#include "linker-rewrite/x86/encoding.h"
#include "stack_state.h"

namespace profld {

namespace {

// Where the blocks of a body begin (its leaders), and what the stack looks like there. Bodies are explored by the
// million, most of them small, and each instruction asks whether it is a leader. So there is a bit for each byte, few
// allocations, and the memory of one body serves the next.

struct Leader {
  StackState state;
  bool only_jumped_to = true;          // with the stack as at the entry
  bool is_pending = false;             // see Leaders::take
  std::optional<uint32_t> after_call;  // control comes straight from this call, and on no other path
};

// By distance from the body's start, in bytes. References to leaders are valid until one is added.
class Leaders {
 public:
  void clear() {
    is_leader_.clear();
    places_.clear();
    pending_.clear();
  }

  bool contains(uint32_t o) const { return o < is_leader_.size() && is_leader_[o]; }
  Leader& at(uint32_t o) { return leaders_[find(o)->second]; }

  // There must be none.
  void add(uint32_t o, const StackState& state, std::optional<uint32_t> after_call) {
    if (is_leader_.size() <= o) is_leader_.resize(size_t(o) + 64);
    is_leader_[o] = true;
    const auto number = uint32_t(places_.size());
    places_.insert(find(o), {o, number});
    if (number == leaders_.size()) leaders_.emplace_back();
    Leader& l = leaders_[number];
    l.state = state;
    l.only_jumped_to = true;
    l.is_pending = false;
    l.after_call = after_call;
  }

  // The last one in front of `o`.
  std::optional<uint32_t> before(uint32_t o) const {
    const auto place = find(o);
    return place != places_.begin() ? std::optional(std::prev(place)->first) : std::nullopt;
  }

  // Of all, ascending; the function must not add any.
  template <class Function>
  void for_each(Function function) {
    for (const auto& [o, number] : places_) function(o, leaders_[number]);
  }

  // Its state changed.
  void expect(uint32_t o) {
    if (std::exchange(at(o).is_pending, true)) return;
    pending_.push_back(o);
    std::push_heap(pending_.begin(), pending_.end(), std::greater());
  }
  // The first of those, which is not one of them any more.
  std::optional<uint32_t> take() {
    if (pending_.empty()) return std::nullopt;
    std::pop_heap(pending_.begin(), pending_.end(), std::greater());
    const uint32_t o = pending_.back();
    pending_.pop_back();
    at(o).is_pending = false;
    return o;
  }

 private:
  using Places = std::vector<std::pair<uint32_t, uint32_t>>;
  Places::const_iterator find(uint32_t o) const {
    return std::ranges::lower_bound(places_, o, {}, &Places::value_type::first);
  }

  std::vector<bool> is_leader_;
  Places places_;                // ascending; the second numbers are indexes of `leaders_`
  std::vector<Leader> leaders_;  // as many as there were places once
  std::vector<uint32_t> pending_;
};

enum class Mark : uint8_t { none, instruction, inside };

// What one body leaves to the next that this thread explores, so that it need not be allocated anew.
struct Memory {
  std::vector<Mark> marks;
  Leaders leaders;
  StackState state, before;
};

Memory& memory_of_this_thread() {
  thread_local Memory memory;
  return memory;
}

class Explorer {
 public:
  Explorer(const Image& image, OldRange window, const std::vector<OldAddr>& inside, const Surroundings& surroundings)
      : image_(image), inside_(inside), surroundings_(surroundings) {
    body_.window = window;
    code_.range = window;
    if (const auto bytes = image.bytes(window.start, window.size()))
      code_.bytes = *bytes;
    else
      body_.is_understood = false;
  }

  Body explore(const std::vector<BodyEntry>& entries) {
    if (!body_.is_understood) return std::move(body_);
    constexpr unsigned kMaxTimes = 64;
    for (unsigned i = 0; i == 0 || (std::exchange(wrong_, false) && i < kMaxTimes); ++i) {
      begin_again();
      follow(entries);
    }
    collecting_ = true;
    leaders_.for_each([&](uint32_t o, const Leader&) { block(o); });
    finish();
    return std::move(body_);
  }

 private:
  void begin_again() {
    body_.is_understood = true;
    marks_.clear();
    last_reached_ = 0;
    leaders_.clear();
    suspected_.clear();
    states_at_.clear();
    within_.clear();
  }

  void follow(const std::vector<BodyEntry>& entries) {
    for (const BodyEntry& e : entries) reach(offset(e.at), e.state, Way::other);
    work();
    // A jump that seemed to leave leads to where control comes in another way as well.
    for (bool again = true; again;) {
      again = false;
      for (const auto& [from, target] : std::exchange(suspected_, {})) {
        // What is in front of other code of the body belongs to it as well.
        if (mark(target) == Mark::none && last_reached_ < target) {
          suspected_.emplace(from, target);
          continue;
        }
        within_.insert(target);
        reach(target, states_at_.at(from), Way::jump);
        again = true;
      }
      work();
    }
  }

  enum class Way : uint8_t { jump, other };  // jump: with the stack as at the entry

  uint32_t offset(OldAddr a) const { return uint32_t(a - body_.window.start); }
  OldAddr address(uint32_t o) const { return body_.window.start + o; }
  Mark mark(uint32_t o) const { return o < marks_.size() ? marks_[o] : Mark::none; }

  void work() {
    while (!wrong_) {
      const auto next = leaders_.take();
      if (!next) break;
      block(*next);
    }
  }

  void reach(uint32_t o, const StackState& state, Way way) {
    if (collecting_) return;
    if (leaders_.contains(o)) {
      Leader& there = leaders_.at(o);
      if (way == Way::other) there.only_jumped_to = false;
      if (there.state.contradicts(state) && there.after_call.has_value() != after_call_.has_value()) {
        endless_.insert(after_call_ ? *after_call_ : *there.after_call);
        wrong_ = true;
      }
      if (there.after_call != after_call_) there.after_call.reset();
      if (there.state.merge(state)) leaders_.expect(o);
      return;
    }
    leaders_.add(o, state, after_call_);
    if (way == Way::other) leaders_.at(o).only_jumped_to = false;
    if (mark(o) == Mark::inside) body_.is_understood = false;
    leaders_.expect(o);
    // In the middle of a block: the first part reaches it as well.
    if (mark(o) == Mark::instruction)
      if (const auto before = leaders_.before(o)) leaders_.expect(*before);
  }

  const CachedInsn* decode(uint32_t o, Insn& insn) {
    const CachedInsn* in = DecodeCache::of_this_thread().find(code_.bytes.subspan(o));
    if (!in || in->unusable) {
      body_.is_understood = false;
      return nullptr;
    }
    insn = in->insn;
    if (const uint32_t length = insn.flow == Flow::jump ? length_of_type_data(image_, address(o)) : 0;
        length != 0 && length <= code_.bytes.size() - o)
      insn = {.length = uint8_t(length)};
    insn.offset = o;
    const uint32_t end = o + insn.length;
    if (marks_.size() < end) marks_.resize(end + 64);
    if (marks_[o] == Mark::inside) body_.is_understood = false;
    marks_[o] = Mark::instruction;
    last_reached_ = std::max(last_reached_, o);
    for (uint32_t i = o + 1; i < end; ++i) {
      if (marks_[i] == Mark::instruction) body_.is_understood = false;
      marks_[i] = Mark::inside;
    }
    return in;
  }

  // From a leader to where control does not go on, or to the next leader.
  void block(uint32_t from) {
    StackState& state = memory_.state;
    StackState& before = memory_.before;
    state = leaders_.at(from).state;
    after_call_ = leaders_.at(from).after_call;
    for (uint32_t o = from; body_.is_understood;) {
      if (o != from && leaders_.contains(o)) return reach(o, state, Way::other);
      if (o >= body_.window.size()) {
        // After a call and in front of a function, control does not come there.
        if (!after_call_ || !may_start_function(image_, body_.window.end)) leave(last_, body_.window.end, false, state);
        return;
      }
      Insn insn;
      const CachedInsn* known = decode(o, insn);
      if (!known) return;
      last_ = o;
      if (insn.flow != Flow::next) before = state;
      const auto frame = collecting_ ? state.frame_address() : std::nullopt;
      const Semantics op = semantics_of(code_, insn, *known);
      const uint8_t breaches = state.step(op, insn.flow, o);
      if (collecting_) collect(insn, before, frame, breaches);
      if (!goes_on(insn, before, state)) return;
      o += insn.length;
    }
  }

  bool goes_on(const Insn& insn, const StackState& before, const StackState& after) {
    switch (insn.flow) {
      case Flow::next:
        return true;
      case Flow::call:
      case Flow::call_indirect: {
        if (calls_what_follows(insn)) return true;
        const auto returns = surroundings_.returns(insn, code_.target(insn));
        if (collecting_ && returns == Surroundings::Returns::unknown) body_.waiting.push_back(code_.target(insn));
        if (returns != Surroundings::Returns::yes || endless_.contains(insn.offset)) return false;
        after_call_ = insn.offset;
        return !skips_padding(insn.offset + insn.length, after);
      }
      case Flow::jump:
        jump(insn, code_.target(insn), true, before);
        return false;
      case Flow::jump_if:
      case Flow::jump_if_short:
        jump(insn, code_.target(insn), false, after);
        return true;
      case Flow::jump_indirect:
        jump_indirectly(insn.offset, before);
        return false;
      case Flow::ret:
        if (collecting_) {
          body_.returns = true;
          body_.breaches |= before.breaches_at_return();
        }
        return false;
      case Flow::stop:
        return false;
    }
    return false;
  }

  // That is how code learns where it is: it takes the return address off the stack. No function begins there.
  bool calls_what_follows(const Insn& insn) const {
    return insn.flow == Flow::call && code_.target(insn) == address(insn.offset + insn.length) &&
           body_.window.contains(code_.target(insn));
  }

  // Padding after a call stands before a loop, or the call does not return and another function follows.
  bool skips_padding(uint32_t from, const StackState& state) {
    uint32_t o = from;
    while (o < body_.window.size()) {
      const CachedInsn* in = DecodeCache::of_this_thread().find(code_.bytes.subspan(o));
      if (!in || !in->is_no_operation()) break;
      o += in->insn.length;
    }
    if (o == from || o >= body_.window.size() || !may_start_function(image_, address(o))) return false;
    reach(o, state, Way::jump);
    return true;
  }

  void jump(const Insn& insn, OldAddr target, bool unconditional, const StackState& state) {
    const uint32_t from = insn.offset;
    const bool to_next = unconditional && target == address(from) + insn.length;
    if (!body_.window.contains(target)) return leave(from, target, unconditional, state, to_next);
    const bool empty = unconditional && state.is_as_at_entry();
    const uint32_t to = offset(target);
    if (empty && target > address(from) && !within_.contains(to) && (mark(to) == Mark::none || collecting_) &&
        !std::ranges::binary_search(inside_, target) && (to_next || may_start_function(image_, target))) {
      if (collecting_) {
        if (suspected_.contains(from)) leave(from, target, true, state, to_next);
        return;
      }
      suspected_.insert_or_assign(from, to);
      states_at_.insert_or_assign(from, state);
      return;
    }
    reach(to, state, empty ? Way::jump : Way::other);
  }

  void jump_indirectly(uint32_t from, const StackState& state) {
    const std::vector<OldAddr>* targets = surroundings_.targets_of(address(from));
    if (!targets) {
      if (collecting_) body_.jumps.push_back({address(from), {}, true, state});
      return;
    }
    for (OldAddr t : *targets)
      if (body_.window.contains(t))
        reach(offset(t), state, Way::other);
      else
        leave(from, t, false, state);
    if (collecting_ && !targets->empty()) body_.has_table = true;
    if (!collecting_ || !targets->empty()) return;
    body_.returns = true;
    body_.breaches |= state.breaches_at_return();
  }

  void leave(uint32_t from, OldAddr target, bool is_jump, const StackState& state, bool leads_to_next = false) {
    if (collecting_) body_.exits.push_back({address(from), target, is_jump, state, leads_to_next});
  }

  // `before` and `frame`: in front of it. The first is not that of an instruction which leads to the next one only.
  void collect(const Insn& insn, const StackState& before, const std::optional<StackState::FrameAddress>& frame,
               uint8_t breaches) {
    const OldAddr at = address(insn.offset);
    body_.breaches |= breaches;
    if ((insn.flow == Flow::call || insn.flow == Flow::call_indirect) && !before.may_call()) {
      const bool is_direct = insn.flow == Flow::call && frame != StackState::kNoFrame;
      body_.unaligned_calls.push_back(is_direct ? code_.target(insn) : OldAddr());
    }
    if (body_.rows.empty() || !(body_.rows.back().frame_address == frame)) body_.rows.push_back({at, frame});
    if (calls_what_follows(insn)) return body_.called_next.push_back(code_.target(insn));
    if (insn.flow == Flow::call) {
      body_.calls.push_back(code_.target(insn));
      return;
    }
    if (insn.rip_relative) {
      const OldAddr a = code_.target(insn);
      if (!image_.is_code(a))
        body_.data.push_back(a);
      else if (takes_address(code_, insn))
        body_.code.push_back(a);
    }
    if (image_.is_position_independent()) return;
    const ByteView bytes = code_.bytes_of(insn);
    std::optional<uint64_t> number = number_kept_by(bytes);
    if (number && image_.is_code(OldAddr(*number))) return void(body_.code.emplace_back(*number));
    if (!number && insn.field_size == 0) number = last_number<uint32_t>(bytes);
    if (number && image_.span().contains(OldAddr(*number))) body_.data.emplace_back(*number);
  }

  void finish() {
    body_.is_insn.resize(marks_.size());
    for (uint32_t o = 0; o < marks_.size(); ++o) {
      if (marks_[o] == Mark::none) continue;
      body_.is_insn[o] = marks_[o] == Mark::instruction;
      const OldAddr a = address(o);
      if (body_.runs.empty() || (body_.runs.back().end != a && !is_filled({body_.runs.back().end, a})))
        body_.runs.push_back({a, a});
      body_.runs.back().end = a + 1;
    }
    leaders_.for_each([&](uint32_t o, const Leader& leader) {
      if (leader.only_jumped_to) body_.jumped_to.push_back(address(o));
    });
  }

  bool is_filled(OldRange r) const {
    for (OldAddr a = r.start; a < r.end;) {
      const CachedInsn* in = DecodeCache::of_this_thread().find(code_.bytes.subspan(offset(a), r.end - a));
      if (!in || !in->is_no_operation()) return false;
      a += in->insn.length;
    }
    return true;
  }

  const Image& image_;
  const std::vector<OldAddr>& inside_;
  const Surroundings& surroundings_;
  Code code_;
  Body body_;
  Memory& memory_ = memory_of_this_thread();
  std::vector<Mark>& marks_ = memory_.marks;
  Leaders& leaders_ = memory_.leaders;
  uint32_t last_reached_ = 0;                 // of the instructions
  std::map<uint32_t, uint32_t> suspected_;    // jumps that seem to leave, and their targets
  std::map<uint32_t, StackState> states_at_;  // of those jumps
  std::set<uint32_t> within_;                 // targets of jumps that seemed to leave
  std::set<uint32_t> endless_;                // calls that cannot return: what follows contradicts other paths
  std::optional<uint32_t> after_call_;        // see Leader
  bool wrong_ = false;                        // there is one more of these
  uint32_t last_ = 0;
  bool collecting_ = false;
};

}  // namespace

Body explore(const Image& image, OldRange window, const std::vector<BodyEntry>& entries,
             const std::vector<OldAddr>& inside, const Surroundings& surroundings) {
  return Explorer(image, window, inside, surroundings).explore(entries);
}

namespace {

// True if an instruction ends at `a` that is `like`, or nothing is known of what is there.
template <typename Predicate>
bool is_after(const Image& image, OldAddr a, Predicate like) {
  for (uint64_t length = 1; length <= kMaxInstructionLength; ++length) {
    const auto bytes = image.bytes(a - length, length);
    if (!bytes) return true;
    const CachedInsn* in = DecodeCache::of_this_thread().find(*bytes);
    if (in && in->insn.length == length && like(*in)) return true;
  }
  return false;
}

// Some compilers, Free Pascal's for one, fill the space between functions with zeros.
OldAddr without_zeros_before(const Image& image, OldAddr a) {
  for (uint64_t zeros = 0; zeros < kCodeAlignment - 1; ++zeros) {
    const auto byte = image.bytes(a - zeros - 1, 1);
    if (!byte || byte->front() != 0) return a - zeros;
  }
  return a - (kCodeAlignment - 1);
}

}  // namespace

bool may_follow_function(const Image& image, OldAddr a) {
  return is_after(image, a, [](const CachedInsn& in) {
    return in.is_no_operation() || in.ends_control() || in.insn.flow == Flow::call;
  });
}

bool may_start_function(const Image& image, OldAddr a) {
  if (a.value % kCodeAlignment != 0) return false;
  if (may_follow_function(image, a)) return true;
  const OldAddr end = without_zeros_before(image, a);
  return end != a && is_after(image, end, [](const CachedInsn& in) { return in.ends_control(); });
}

bool is_padding(const Image& image, OldRange r) {
  const auto bytes = image.bytes(r.start, r.size());
  if (!bytes) return false;
  if (r.size() < kCodeAlignment && std::ranges::all_of(*bytes, [](uint8_t byte) { return byte == 0; })) return true;
  for (size_t at = 0; at < bytes->size();) {
    const CachedInsn* in = DecodeCache::of_this_thread().find(bytes->subspan(at));
    if (!in || !in->is_no_operation()) return false;
    at += in->insn.length;
  }
  return true;
}

}  // namespace profld
