// Addresses stay: function pointers, vtables and symbols keep their old values, so the old entry of every function that
// moved must lead to its copy. A five-byte jump does that (after ENDBR64, which must come first where indirect branches
// are checked, or after a jump over data that tells the function's type, which checks read). Control can also arrive
// elsewhere: code that stayed may jump into a function that moved. That includes hand-written code that no table
// describes.
//
// Except for these arrivals the old text of moved functions is dead, so there is room for jumps: usually at the arrival
// itself. Where the next arrival, or the end of the function, is nearer than five bytes, a two-byte jump leads to an
// island: five dead bytes within 127 bytes, in any function that moved, or in padding. If even that fails, the function
// stays. A function that stays may jump into others and so make new arrivals, which may need more room. So all is
// repeated until nothing changes. Where the program reads a number in front of functions before it calls them, the
// bytes there are not free (decide/type_checks.cc).
//
// In a program at a fixed address a number in an instruction may be the address of a label, and is taken for an
// arrival. If that leaves no room for a jump that is needed, the use of the number is looked at: if it is shifted or
// tested, and stored nowhere, it is no address.
//
// Terms: arrival, an old address that control may reach; entry jump, the jump for it; island, see above.

#include "entry_jumps.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "linker-rewrite/base/address.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/decide/code_dependences.h"
#include "linker-rewrite/decide/pointer_flow.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/linear_sweep.h"
#include "unknown_code.h"

namespace profld {

namespace {

class Placer {
 public:
  explicit Placer(Program& program)
      : program_(program),
        image_(*program.image),
        unknown_(find_unknown_code(program)),
        padding_(find_padding(program, unknown_)),
        named_(find_named_arrivals()),
        from_outside_(find_arrivals_from_outside()),
        read_(find_bytes_read()),
        numbers_(find_numbers()) {}

  // One round. Entry jumps, or nullopt if some group turned out to have to stay.
  std::optional<std::vector<EntryJump>> place() {
    changed_ = false;
    find_arrivals();
    std::vector<EntryJump> jumps(arrivals_.size());
    parallel_for(arrivals_.size(), [&](size_t i) {
      const auto [arrival, range] = arrivals_[i];
      jumps[i] = {arrival, arrival + length_kept_at_entry(image_, arrival), OldAddr(), range};
    });

    // Arrivals and free ranges ascend, so we go through both once.
    std::vector<OldRange> left;  // of the free bytes, those that no entry jump takes
    left.reserve(2 * jumps.size());
    std::vector<size_t> short_ones;
    size_t i = 0;
    for (OldRange free : free_ranges()) {
      for (; i < jumps.size() && jumps[i].arrival < free.end; ++i) {
        const EntryJump& jump = jumps[i];
        const OldAddr limit = i + 1 < jumps.size() ? std::min(free.end, jumps[i + 1].arrival) : free.end;
        // No jump if the range got a reason to stay after this arrival was found.
        const uint64_t room = jump.arrival >= free.start && limit > jump.from ? limit - jump.from : 0;
        if (room < kShortJumpLength) {
          if (forget_numbers(jump)) continue;
          stays(jump.range, ReasonCode::too_short);
          continue;
        }
        if (jump.arrival > free.start) left.push_back({free.start, jump.arrival});
        free.start = jump.from + (room >= kJumpLength ? kJumpLength : kShortJumpLength);
        if (room < kJumpLength) short_ones.push_back(i);
      }
      if (free.size() != 0) left.push_back(free);
    }
    auto near = left.begin();
    for (size_t s : short_ones) {
      EntryJump& jump = jumps[s];
      const auto island = take_island(near, left.end(), jump.from + kShortJumpLength);
      if (island)
        jump.island = *island;
      else if (!forget_numbers(jump))
        stays(jump.range, ReasonCode::too_short_and_no_room);
    }
    if (changed_) return std::nullopt;
    return jumps;
  }

 private:
  bool moves(const CodeRange& r) const { return program_.groups[r.group].moves(); }
  void stays(uint32_t range, ReasonCode reason) {
    program_.groups[program_.ranges[range].group].stay(reason);
    changed_ = true;
  }

  // An instruction that control may come to.
  struct Arrival {
    OldAddr at;
    uint32_t range;
    bool operator<(const Arrival& other) const { return at < other.at; }
    bool operator==(const Arrival& other) const { return at == other.at; }
  };

  // From bytes that may be anything; if there is no instruction at the target, it is no arrival.
  std::optional<Arrival> possible_arrival(OldAddr at) const {
    const ptrdiff_t i = program_.range_of(at);
    if (i < 0 || !program_.code(program_.ranges[size_t(i)]).index(at)) return std::nullopt;
    return Arrival{at, uint32_t(i)};
  }

  std::vector<Arrival> find_named_arrivals() const {
    const std::vector<Symbol>* const tables[] = {&image_.symbols(), &image_.dynamic_symbols()};
    return parallel_collect<Arrival>(tables[0]->size() + tables[1]->size(), [&](size_t i, std::vector<Arrival>& out) {
      const Symbol& s = i < tables[0]->size() ? (*tables[0])[i] : (*tables[1])[i - tables[0]->size()];
      if (s.type != STT_FUNC && s.type != STT_GNU_IFUNC) return;
      if (const auto a = possible_arrival(s.address)) out.push_back(*a);
    });
  }

  // In a program at a fixed address, numbers in instructions that may be the addresses of labels: of places where
  // __builtin_longjmp, or a goto out of a nested function, goes on. If they are not, a jump there does no harm.
  struct Number {
    Arrival label;
    uint32_t group;  // of the instruction
  };
  std::vector<Number> find_numbers() const {
    if (image_.is_position_independent()) return {};
    return parallel_collect<Number>(program_.groups.size(), [&](size_t g, std::vector<Number>& out) {
      for (const Code& code : program_.groups[g].code.parts)
        for (const Insn& insn : code.insns) {
          const auto number = number_kept_by(code.bytes_of(insn));
          const auto label = number ? possible_arrival(OldAddr(*number)) : std::nullopt;
          if (label && label->at != program_.ranges[label->range].range.start) out.push_back({*label, uint32_t(g)});
        }
    });
  }

  // For numbers that are in the way of an entry jump: those that are not used as an address are no labels. True if
  // there were any; then there may be room in the next round.
  bool forget_numbers(const EntryJump& jump) {
    const OldRange near{jump.arrival, jump.from + kJumpLength};
    const size_t forgotten = std::erase_if(numbers_, [&](const Number& n) {
      return near.contains(n.label.at) && !is_kept(n.label.at, program_.groups[n.group]);
    });
    if (forgotten != 0) changed_ = true;
    return forgotten != 0;
  }

  bool is_kept(OldAddr label, const Group& group) const {
    return !follow_addresses(program_, group, {.addresses = {label}, .where_kept = true}).empty();
  }

  // Whether the copy of the group will contain the address of the label's copy instead.
  bool is_changed(const Number& n) const {
    return program_.groups[n.group].moves() &&
           std::ranges::any_of(program_.groups[n.group].indirect.label_uses,
                               [&](const LabelUse& u) { return u.label == n.label.at; });
  }

  void arrive(const Arrival& a) {
    if (moves(program_.ranges[a.range])) arrivals_.push_back(a);
  }

  // From code that we understand: the target must be an instruction, else the function cannot move.
  void certainly_arrive(OldAddr at) {
    const ptrdiff_t i = program_.range_of(at);
    if (i < 0 || !moves(program_.ranges[size_t(i)])) return;
    if (program_.code(program_.ranges[size_t(i)]).is_target(at))
      arrivals_.push_back({at, uint32_t(i)});
    else
      stays(uint32_t(i), ReasonCode::jumped_to_between_instructions);
  }

  // In a program at a fixed address nothing distinguishes pointers from numbers, and we do not even look for pointers
  // of 32 bits. So a range that was taken for a fragment may be a function.
  bool may_be_pointed_to(const CodeRange& r) const {
    return !image_.is_position_independent() && r.names.empty() && r.fde && r.fde->cfa_is_rsp_plus_8;
  }

  void find_arrivals() {
    arrivals_.clear();
    for (uint32_t i = 0; i < program_.ranges.size(); ++i) {
      const CodeRange& r = program_.ranges[i];
      if (moves(r) && (!r.fragment || may_be_pointed_to(r))) arrivals_.push_back({r.range.start, i});
    }
    for (const Arrival& a : named_) arrive(a);
    for (const Relocation& r : image_.relocations())
      if (r.type == R_X86_64_IRELATIVE) certainly_arrive(OldAddr(uint64_t(r.addend)));
    certainly_arrive(image_.entry());
    for (const Group& g : program_.groups)
      for (OldAddr label : g.indirect.label_arrivals) certainly_arrive(label);
    for (const Number& n : numbers_)
      if (!is_changed(n)) arrive(n.label);

    for (const CodeRange& r : program_.ranges) {
      if (moves(r)) continue;
      const Code& code = program_.code(r);
      for (const Insn& insn : code.insns) {
        if (insn.field_size == 0) continue;
        if (!insn.rip_relative)
          certainly_arrive(code.target(insn));
        else if (const auto a = possible_arrival(code.target(insn)))
          arrive(*a);
      }
      if (code.insns.empty()) scan(r.range, [&](const Arrival& a) { arrive(a); });
    }
    for (const Arrival& a : from_outside_) arrive(a);
    parallel_sort(arrivals_);
    arrivals_.erase(std::unique(arrivals_.begin(), arrivals_.end()), arrivals_.end());
  }

  std::vector<Arrival> find_arrivals_from_outside() const {
    std::vector<Arrival> found;
    for (OldAddr at : unknown_.into_functions)
      if (const auto a = possible_arrival(at)) found.push_back(*a);
    return found;
  }

  // In front of functions.
  std::vector<OldRange> find_bytes_read() const {
    std::vector<OldRange> read;
    if (const uint64_t before = bytes_read_before_entries(program_); before != 0)
      for (const CodeRange& r : program_.ranges) read.push_back({r.range.start - before, r.range.start});
    return read;
  }

  // Calls `found` for each arrival from bytes that no table describes, which may be code and data mixed.
  template <class Found>
  void scan(OldRange range, Found found) const {
    linear_sweep(image_, range, [&](OldAddr, const CachedInsn&, std::optional<OldAddr> target) {
      if (!target || range.contains(*target)) return;
      if (const auto a = possible_arrival(*target)) found(*a);
    });
  }

  // The ranges of bytes that nobody needs, if nothing arrives there. Ascending, no two of them adjacent.
  std::vector<OldRange> free_ranges() const {
    std::vector<OldRange> ranges, joined;
    ranges.reserve(program_.ranges.size() + padding_.size());
    for (const CodeRange& r : program_.ranges)
      if (moves(r)) ranges.push_back(r.range);
    for (const Padding& p : padding_)
      if (p.if_moved < 0 || moves(program_.ranges[size_t(p.if_moved)])) ranges.push_back(p.range);
    parallel_sort(ranges, [](OldRange a, OldRange b) { return a.start < b.start; });
    for (OldRange r : ranges)
      if (!joined.empty() && joined.back().end >= r.start)
        joined.back().end = std::max(joined.back().end, r.end);
      else
        joined.push_back(r);
    if (read_.empty()) return joined;
    std::vector<OldRange> free;
    for (OldRange r : joined) append_uncovered(free, r, read_);
    return free;
  }

  // Takes room for an island near `after_jump` from the ranges that begin at `near`, which goes past those that are too
  // low. To be called for ascending addresses: room that is too low now, or below the island, is of no use later.
  static std::optional<OldAddr> take_island(std::vector<OldRange>::iterator& near, std::vector<OldRange>::iterator end,
                                            OldAddr after_jump) {
    const OldAddr lowest = after_jump - kShortReachBack, highest = after_jump + kShortReachForward;
    while (near != end && near->end <= lowest) ++near;
    for (auto it = near; it != end && it->start <= highest; ++it) {
      const OldAddr start = std::max(it->start, lowest);
      if (start > highest || it->end < start + kJumpLength) continue;
      it->start = start + kJumpLength;
      return start;
    }
    return std::nullopt;
  }

  Program& program_;
  const Image& image_;
  const UnknownCode unknown_;
  const std::vector<Padding> padding_;
  // Arrivals at ranges that may move, from symbols, code outside functions, and numbers.
  const std::vector<Arrival> named_, from_outside_;
  const std::vector<OldRange> read_;  // bytes in front of functions that checks of their types read; ascending
  std::vector<Number> numbers_;
  std::vector<Arrival> arrivals_;  // of this round; ascending when all are found
  bool changed_ = false;           // a group turned out to have to stay
};

}  // namespace

std::vector<EntryJump> place_entry_jumps(Program& program) {
  Placer placer(program);
  for (;;)
    if (auto jumps = placer.place()) return std::move(*jumps);
}

}  // namespace profld
