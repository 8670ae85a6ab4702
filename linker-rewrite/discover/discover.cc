// A stripped program without unwind tables says of its functions only how they are used. Here they are found by that:
//
//   * Starts are the entry point, exports, what is called, what the dynamic linker writes the address of into data, what
//     instructions take the address of, and where jumps lead that leave a function (roots.cc, search.cc).
//   * A body is what control reaches from a start, with the jump tables that are understood (body.cc,
//     search.cc) and without what follows calls that do not return.
//   * The stack is followed through each body (stack_state.cc). So it is known at each jump whether it may be a tail
//     call, as unwind tables tell it elsewhere.
//
// What is wrong with that? An address that is taken may be a label's. It is taken for a function's only if control does
// not come there otherwise, and if the code there keeps what functions keep. At a fixed address numbers may be no
// addresses at all; so it has to be where compilers let functions start, too, and after no jump that is not understood.
// Functions that seldom run are not aligned, and only data names many of them: such a place has to be right after the code
// of another function of which all is known (Search::accept_unaligned). Parts of functions that have a frame call with a
// stack that the ABI does not allow; so code that does is no function's start. A jump may be a tail call or not: see
// body.cc. Where functions of libraries never return, bodies seem to run on into others, until callers give them away
// (LastCalls in program/noreturn.h). Code that nothing leads to stays unknown. It stays where it is, and what it refers to is found
// by a linear sweep (move/entry_jumps.cc), as for all code in no function.
//
// The result is a table of what was found, in the form of unwind tables, so that all other stages need not know that
// there is none (make_frames). A function stays if its jumps are not understood, or if the height of the stack is not
// known, or not right, where it leaves.
//
// Where tables describe all code that is used, nothing is searched for.

#include "discover.h"

#include <algorithm>
#include <memory>

#include "doubts.h"
#include "linker-rewrite/base/sort_unique.h"
#include "linker-rewrite/unwind/cfa.h"
#include "search.h"

namespace profld {

namespace {

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

// Compilers jump to no other function while the frame is in place. So the height is not right: a function that was called
// takes its arguments off the stack, perhaps. (After a call that does not return a body seems to run on.)
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

// At a fixed address a label may be taken for a function's start before the function is known that it lies in, whose code
// then seems to end there. Once more functions are known, by calls, all begins again with them.
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
