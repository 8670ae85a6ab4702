// A stripped program without unwind tables says of its functions only how they are used. Here they are found by that:
//
//   * Starts are the entry point, exports, what is called, what the dynamic linker writes the address of into data,
//     what instructions take the address of, and where jumps lead that leave a function (roots.cc, search.cc).
//   * A body is what control reaches from a start, with the jump tables that are understood (body.cc,
//     search.cc) and without what follows calls that do not return.
//   * The stack is followed through each body (stack_state.cc). So it is known at each jump whether it may be a tail
//     call, as unwind tables tell it elsewhere.
//
// What is wrong with that? An address that is taken may be a label's. It is taken for a function's only if control does
// not come there otherwise, and if the code there keeps what functions keep. At a fixed address numbers may be no
// addresses at all; so it has to be where compilers let functions start, too, and after no jump that is not understood.
// Functions that seldom run are not aligned, and only data names many of them: such a place has to be right after the
// code of another function of which all is known (Search::accept_unaligned). Parts of functions that have a frame call
// with a stack that the ABI does not allow; so code that does is no function's start. A jump may be a tail call or not:
// see body.cc. Where functions of libraries never return, bodies seem to run on into others, until callers give them
// away (LastCalls in program/noreturn.h). Code that nothing leads to stays unknown. It stays where it is, and what it
// refers to is found by a linear sweep (move/entry_jumps.cc), as for all code in no function.
//
// The result is a table of what was found, in the form of unwind tables, so that all other stages need not know that
// there is none (make_frames). A function stays if its jumps are not understood, or if the height of the stack is not
// known, or not right, where it leaves.
//
// Where tables describe all code that is used, nothing is searched for.

#include "discover.h"

#include <algorithm>
#include <memory>

#include "linker-rewrite/base/sort_unique.h"
#include "linker-rewrite/unwind/cfa.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "search.h"

namespace profld {

// What was found is a function, a part of one (a fragment), or may be either. What is called is a function. Two kinds
// of starts are less certain.
//
// Where control only jumps to, with the stack as at an entry: a function that ends in that jump may call another one by
// it, or go on elsewhere without a frame. Compilers tell by these:
//
//   * Two functions that jump to one place share no code: it is a function.
//   * A function is a piece of code without gaps, but for a part that is seldom run and far away (cold). Cold parts are
//     not aligned, so there is no padding in front of a place in them. A place that has padding in front of it, and
//     another function between it and where the jump is, is a function.
//   * After its epilogue a function goes on to nothing but the end of another path of its own. So a jump after one, to
//     code that makes a frame, is a tail call.
//   * Hardly any compiler makes conditional tail calls.
//   * All else may be either, such as an aligned place after the end of the function that jumps there, any place in
//     front of its start, one that other functions separate from it, or one right after the jump: a function just runs
//     on there.
//
// A number that may be an address, in a program at a fixed address: it may be the label of a jump table. A label lies
// inside a function, so the code in front of it belongs to that. If all code in front of a place belongs to a function
// of which all ways are known, and it is not among them, then another function begins there. (How long a jump table is,
// nothing says for certain. So if that function has one, the number must not be one of those that stand where tables
// do: in data that nobody writes to.) Else it may be either, and all that follows it up to the next function that is
// certain. In position-independent code labels have no pointers, but those of computed gotos and of __builtin_setjmp.
// So what stands after a function whose jumps are not understood may be its label, if that takes the address, or goes
// through an array of addresses of which another is a label's (Search::accept_after_jumps, has_labels).
//
// Such a place is reported, and stays, whatever is known of the code in front of it (Start::is_guess). So does a number
// that leads after code that is not known, where functions are not aligned: it may lead into the middle of something.
//
// A start that may be either stays as it is, and so does what only such starts lead to.

namespace {

// Which of the starts that were found are those of functions, and which may lie inside of one.
struct Verdict {
  bool is_function = false;  // else control comes there from another part of the same function
  bool is_doubtful = false;  // it may be either: it has to stay
};

constexpr uint32_t kNobody = UINT32_MAX, kSeveral = UINT32_MAX - 1;

struct Place {
  OldAddr at;
  uint32_t index = 0;  // in Judge::places_
  const Start* start = nullptr;
  std::vector<uint32_t> leads_to{};  // the places that it goes on to
  uint32_t root = kNobody;           // the place of the only function that leads there, or kSeveral
  bool is_certain = false;           // there is a function
  bool reached_within = false;       // by a conditional jump, or from the instruction in front of it
  bool follows_epilogue = false;     // a jump after an epilogue leads there
  bool follows_jump = false;         // the jump right in front of it leads there
  bool goes_back = false;            // it goes on in the middle of another place's code
  bool has_table = false;          // of a root: one of its jumps, or of its parts', leads to places inside the function
  bool has_unknown_jumps = false;  // of a root: one of its jumps, or of its parts', is not understood
};

class Judge {
 public:
  Judge(const Image& image, const std::vector<OldRange>& undescribed, const std::map<OldAddr, Start>& starts)
      : image_(image), undescribed_(undescribed) {
    places_.reserve(starts.size());
    for (const auto& [at, s] : starts) places_.push_back({.at = at, .index = uint32_t(places_.size()), .start = &s});
  }

  std::vector<Verdict> judge() {
    link();
    const bool fixed = !image_.is_position_independent();
    for (Place& p : places_)
      p.is_certain = p.start->kind == Start::Kind::function ||
                     (p.start->kind == Start::Kind::pointer && !fixed && may_be_certain(p));
    // What is known of one place tells more of others.
    constexpr unsigned kMaxPasses = 16;
    for (unsigned pass = 0; pass < kMaxPasses; ++pass) {
      find_roots();
      find_unknown_jumps();
      if (!find_more()) break;
    }
    std::vector<Verdict> verdicts;
    verdicts.reserve(places_.size());
    const Place* before = nullptr;
    for (const Place& p : places_) {
      verdicts.push_back(verdict(p, before));
      if (!p.start->body.runs.empty()) before = &p;
    }
    return verdicts;
  }

 private:
  uint32_t last_not_above(OldAddr a) const {
    const auto after = std::ranges::upper_bound(places_, a, {}, &Place::at);
    return after == places_.begin() ? kNobody : uint32_t(after - places_.begin() - 1);
  }

  void link() {
    for (uint32_t i = 0; i < places_.size(); ++i) {
      const Body& body = places_[i].start->body;
      if (!body.is_understood) continue;
      for (const BodyExit& e : body.exits) {
        const uint32_t to = last_not_above(e.target);
        if (to == kNobody || to == i) continue;
        if (places_[to].at == e.target) {
          places_[i].leads_to.push_back(to);
          places_[to].reached_within |= !e.is_jump;
          places_[to].follows_epilogue |= e.is_jump && e.state.is_after_epilogue();
          places_[to].follows_jump |= e.leads_to_next;
        } else if (places_[to].start->body.reaches(e.target)) {
          places_[i].goes_back = true;
        }
      }
    }
  }

  // Of what is certain, and of what that leads to.
  void find_roots() {
    std::vector<uint32_t> pending;
    for (uint32_t i = 0; i < places_.size(); ++i) {
      places_[i].root = places_[i].is_certain ? i : kNobody;
      if (places_[i].is_certain) pending.push_back(i);
    }
    while (!pending.empty()) {
      const uint32_t from = pending.back();
      pending.pop_back();
      for (uint32_t to : places_[from].leads_to) {
        Place& p = places_[to];
        if (p.is_certain || p.root == places_[from].root || p.root == kSeveral) continue;
        p.root = p.root == kNobody ? places_[from].root : kSeveral;
        pending.push_back(to);
      }
    }
  }

  void find_unknown_jumps() {
    for (Place& p : places_) p.has_unknown_jumps = p.has_table = false;
    for (Place& p : places_) {
      if (p.start->body.has_table) {
        p.has_table = true;
        if (p.root < kSeveral) places_[p.root].has_table = true;
      }
      const bool has =
          p.start->unresolved || p.start->may_have_more || !p.start->body.jumps.empty() || !p.start->body.is_understood;
      if (!has) continue;
      p.has_unknown_jumps = true;
      if (p.root < kSeveral) places_[p.root].has_unknown_jumps = true;
    }
  }

  // Finds places that are certain by what is certain so far; true if there are any.
  bool find_more() {
    bool found = false;
    const Place* before = nullptr;    // the last one with code
    const Place* function = nullptr;  // the last one that is certain
    for (Place& p : places_) {
      if (!p.is_certain && may_be_certain(p))
        p.is_certain =
            p.start->kind == Start::Kind::pointer ? follows_known_code(p, before) : is_tail_called(p, function);
      found |= p.is_certain && p.root != p.index;
      if (p.is_certain) function = &p;
      if (!p.start->body.runs.empty()) before = &p;
    }
    return found;
  }

  static bool may_be_certain(const Place& p) { return !p.reached_within && !p.goes_back && !p.start->is_guess; }

  // `function`: the last certain one in front of it.
  bool is_tail_called(const Place& p, const Place* function) const {
    if (!is_frameless(p) || p.root == kNobody) return false;
    if (p.root == kSeveral || (p.follows_epilogue && makes_frame(p))) return true;
    return may_start_function(image_, p.at) && is_after_padding(p.at) && (!function || p.root != function->index);
  }

  bool is_frameless(const Place& p) const { return p.start->state.frame_address() == StackState::kNoFrame; }

  bool makes_frame(const Place& p) const {
    return std::ranges::any_of(p.start->body.rows, [](const FrameRow& row) {
      return row.frame_address && row.frame_address != StackState::kNoFrame;
    });
  }

  // True if all code in front of `p` belongs to a function, of which all is known.
  bool follows_known_code(const Place& p, const Place* before) const {
    const OldRange* range = range_with(undescribed_, p.at);
    if (!range) return false;
    if (!before || before->at < range->start) return is_padding(image_, {range->start, p.at});
    const OldAddr end = before->start->body.runs.back().end;
    if (before->root >= kSeveral || end > p.at || !is_padding(image_, {end, p.at})) return false;
    const Place& root = places_[before->root];
    if (p.start->in_tables_only && (root.has_table || before->has_table)) return false;
    return root.is_certain && !root.has_unknown_jumps && !before->has_unknown_jumps;
  }

  // `before`: the place in front of it.
  Verdict verdict(const Place& p, const Place* before) const {
    if (p.is_certain) return {true, false};
    if (p.start->kind != Start::Kind::jumped || p.start->is_guess) return {true, true};
    if (p.root == kNobody) return {is_frameless(p), true};
    if (!is_frameless(p)) return {};
    if (p.root == kSeveral) return {true, true};
    if (p.reached_within || p.goes_back) return {};
    if (may_start_function(image_, p.at) || p.at < places_[p.root].at || p.follows_jump) return {true, true};
    return {is_after_other(p, before), is_after_other(p, before)};
  }

  // True if code of another function is between the function that leads to `p` and `p`, which is after it.
  bool is_after_other(const Place& p, const Place* before) const {
    return before && p.root < kSeveral && places_[p.root].at < p.at && before->root != p.root;
  }

  bool is_after_padding(OldAddr a) const {
    for (uint64_t length = 1; length <= kMaxInstructionLength; ++length)
      if (const auto bytes = image_.bytes(a - length, length))
        if (const CachedInsn* in = DecodeCache::of_this_thread().find(*bytes);
            in && in->insn.length == length && in->is_no_operation())
          return true;
    return false;
  }

  const Image& image_;
  const std::vector<OldRange>& undescribed_;
  std::vector<Place> places_;
};

// A verdict for each of `starts`, in their order.
std::vector<Verdict> judge(const Image& image, const std::vector<OldRange>& undescribed,
                           const std::map<OldAddr, Start>& starts) {
  return Judge(image, undescribed, starts).judge();
}

// The number of rsp and rbp in unwind tables. Their order there is not that of instructions.
uint64_t dwarf_number(uint8_t reg) { return reg == kRsp ? kRegisterRsp : kRegisterRbp; }

void append_row(Bytes& out, const FrameRow& row) {
  if (row.frame_address && row.frame_address->offset >= 0) {
    append<uint8_t>(out, DW_CFA_def_cfa);
    append_uleb(out, dwarf_number(row.frame_address->reg));
    append_uleb(out, uint64_t(row.frame_address->offset));
  } else {  // an expression: nobody evaluates it
    append<uint8_t>(out, DW_CFA_def_cfa_expression);
    append_uleb(out, 1);
    append<uint8_t>(out, DW_OP_lit0);
  }
}

}  // namespace

MadeFrames make_frames(const EhFrame& known, const std::vector<FoundRange>& found) {
  MadeFrames made;
  EhFrame& frames = made.frames;
  frames = known;
  const size_t plain_cie = frames.cies.size();
  frames.cies.push_back({});
  struct Place {
    size_t fde, start, size;
  };
  std::vector<Place> places;
  for (const FoundRange& f : found) {
    Fde fde;
    fde.range = f.range;
    fde.made = true;
    fde.cie = plain_cie;
    fde.cfa_is_rsp_plus_8 = f.is_start;
    fde.no_return_address = f.no_return_address;
    if (f.stays) {
      fde.cie = frames.cies.size();
      frames.cies.push_back({});
      frames.cies.back().unsupported = f.stays;
    }
    const size_t start = made.programs.size();
    OldAddr at = f.range.start;
    for (const FrameRow& row : f.rows) {
      if (row.at > at) append_advance(made.programs, row.at - at);
      at = std::max(at, row.at);
      append_row(made.programs, row);
    }
    places.push_back({frames.fdes.size(), start, made.programs.size() - start});
    frames.fdes.push_back(fde);
  }
  for (const Place& p : places) frames.fdes[p.fde].instructions = ByteView(made.programs).subspan(p.start, p.size);
  std::ranges::stable_sort(frames.fdes, {}, [](const Fde& f) { return f.range.start; });
  frames.reach.clear();
  OldAddr reach;
  for (const Fde& f : frames.fdes) frames.reach.push_back(reach = std::max(reach, f.range.end));
  return made;
}

namespace {

// Where the frame of the caller is, at an exit.
bool height_is_known(const StackState& s) {
  const auto frame = s.frame_address();
  return frame.has_value();
}

// Compilers jump to no other function while the frame is in place. So the height is not right: a function that was
// called takes its arguments off the stack, perhaps. (After a call that does not return a body seems to run on.)
bool seems_to_leave_in_frame(const Search& search, OldAddr start, const BodyExit& exit) {
  if (!exit.is_jump) return false;
  const auto to = search.starts().find(exit.target);
  return to != search.starts().end() && to->second.kind == Start::Kind::function &&
         to->first != search.root_of(start) && exit.state.breaches_at_return() & kLeavesInFrame;
}

std::optional<Reason> why_it_stays(const Search& search, OldAddr start, const Start& s) {
  if (s.unresolved) return s.unresolved;
  if (!s.body.jumps.empty()) return Reason(ReasonCode::jump_not_understood, s.body.jumps.front().at);
  constexpr uint8_t kStack = kLeavesInFrame | kHeightUnknown;
  const uint8_t wrong = s.kind == Start::Kind::pointer ? uint8_t(UINT8_MAX) : kStack;
  if (s.body.breaches & wrong) return Reason(ReasonCode::stack_not_followed);
  for (const BodyExit& e : s.body.exits)
    if (!height_is_known(e.state) || seems_to_leave_in_frame(search, start, e))
      return Reason(ReasonCode::stack_not_followed);
  return std::nullopt;
}

// The rows that hold in `range`, the first at its start.
std::vector<FrameRow> rows_of(const std::vector<FrameRow>& rows, OldRange range) {
  auto from = std::ranges::upper_bound(rows, range.start, {}, &FrameRow::at);
  if (from != rows.begin()) --from;
  const auto to = std::ranges::lower_bound(rows, range.end, {}, &FrameRow::at);
  std::vector<FrameRow> taken(from, std::max(from, to));
  if (taken.empty()) taken.push_back({range.start, std::nullopt});
  taken.front().at = range.start;
  return taken;
}

void append_found(std::vector<FoundRange>& found, const Image& image, const Search& search, OldAddr start,
                  const Start& s, Verdict verdict) {
  std::optional<Reason> stays = why_it_stays(search, start, s);
  if (!stays && verdict.is_doubtful) stays = Reason(ReasonCode::may_be_inside);
  for (const OldRange& run : s.body.runs) {
    FoundRange f;
    f.range = run;
    f.is_start = run.start == start && verdict.is_function;
    f.no_return_address = run.start == image.entry() && image.link_type() != LinkType::shared_library;
    f.stays = stays;
    f.rows = rows_of(s.body.rows, run);
    found.push_back(std::move(f));
  }
}

// At a fixed address a label may be taken for a function's start before the function is known that it lies in, whose
// code then seems to end there. Once more functions are known, by calls, all begins again with them.
std::unique_ptr<Search> find_starts(const Program& program, Roots& roots, const std::function<void(double)>& show) {
  constexpr unsigned kMaxTimes = 4;
  double shown = 0;
  const auto show_more = [&](double share) {
    if (share > shown) show(shown = share);
  };
  for (unsigned times = 1;; ++times) {
    auto search = std::make_unique<Search>(program, roots, show_more);
    search->run();
    if (program.image->is_position_independent() || times == kMaxTimes) return search;
    const size_t known = roots.starts.size();
    for (const auto& [start, s] : search->starts())
      if (s.kind == Start::Kind::function) roots.starts.push_back(start);
    sort_unique(roots.starts);
    if (times > 1 && roots.starts.size() == known) return search;
  }
}

}  // namespace

std::optional<MadeFrames> discover_functions(const Program& program, const std::function<void(double)>& show) {
  const std::vector<OldRange> undescribed = undescribed_code(program);
  Roots roots = find_roots(program, undescribed);
  if (!roots.any) return std::nullopt;
  const std::unique_ptr<Search> done = find_starts(program, roots, show);
  const Search& search = *done;
  std::vector<FoundRange> found;
  const std::vector<Verdict> verdicts = judge(*program.image, undescribed, search.starts());
  auto verdict = verdicts.begin();
  for (const auto& [start, s] : search.starts()) {
    if (s.body.is_understood) append_found(found, *program.image, search, start, s, *verdict);
    ++verdict;
  }
  return make_frames(*program.frames, found);
}

}  // namespace profld
