// Addresses stay: function pointers, vtables and symbols keep their old values, so the old entry of every function that
// moved must lead to its copy. A five-byte jump does that (after ENDBR64, which must come first where
// indirect branches are checked). Control can also arrive elsewhere: code that stayed, hand-written code that no table
// describes included, may jump into a function that moved.
//
// The old text of moved functions is dead but for these arrivals, so there is room: usually at the arrival itself.
// Where the next arrival, or the end of the function, is nearer than five bytes, a two-byte jump leads to an island:
// five dead bytes within 127 bytes, in any function that moved, or in padding. Where even that fails the function
// stays, and so do those that only it could reach otherwise; staying makes new arrivals, so all is repeated until
// nothing changes.
//
// In a program at a fixed address a number in an instruction may be the address of a label, and is taken for an
// arrival. Where that leaves no room for a jump that is needed, it is looked at: what is shifted or tested, and kept
// nowhere, is no address.
//
// Terms: arrival, an old address that control may reach; landing, the jump for it; island, see above.

#include "entry_jumps.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/decide/pointer_flow.h"
#include "padding.h"

namespace profld {

namespace {

constexpr uint64_t kLongJump = 5, kShortJump = 2, kEndbrSize = 4, kNumberSize = 4;

// The number in `mov $number, ...`, `push $number` or `lea number, ...`; of other instructions perhaps something else.
std::optional<OldAddr> number_kept_by(ByteView insn) {
  constexpr uint8_t kMove = 0xc7, kMoveToRegister = 0xb8, kPush = 0x68, kLea = 0x8d;
  size_t at = 0;
  while (at < insn.size() && (insn[at] == 0x66 || (insn[at] & 0xf0) == 0x40)) ++at;  // prefixes
  if (at + 1 + kNumberSize > insn.size()) return std::nullopt;
  const uint8_t opcode = insn[at];
  if (opcode != kMove && (opcode & 0xf8) != kMoveToRegister && opcode != kPush && opcode != kLea) return std::nullopt;
  uint32_t number;
  std::memcpy(&number, insn.data() + insn.size() - kNumberSize, kNumberSize);
  return OldAddr(number);
}

class Placer {
 public:
  explicit Placer(Program& program)
      : program_(program),
        image_(*program.image),
        gaps_(find_gaps(program)),
        padding_(find_padding(program, gaps_)),
        named_(find_named_arrivals()),
        from_gaps_(find_arrivals_from_gaps()),
        numbers_(find_numbers()) {}

  // One round. Landings, or nullopt if some group turned out to have to stay.
  std::optional<std::vector<Landing>> place() {
    changed_ = false;
    find_arrivals();
    std::vector<Landing> landings(arrivals_.size());
    parallel_for(arrivals_.size(), [&](size_t i) {
      const auto [arrival, range] = arrivals_[i];
      landings[i] = {arrival, starts_with_endbr(arrival) ? arrival + kEndbrSize : arrival, OldAddr(), range};
    });

    // Arrivals and what is free ascend, so each is gone through once.
    std::vector<OldRange> left;  // of the free bytes, those that no landing takes
    left.reserve(2 * landings.size());
    std::vector<size_t> short_ones;
    size_t i = 0;
    for (OldRange free : free_ranges()) {
      for (; i < landings.size() && landings[i].arrival < free.end; ++i) {
        const Landing& l = landings[i];
        const OldAddr limit = i + 1 < landings.size() ? std::min(free.end, landings[i + 1].arrival) : free.end;
        // None where a range turned out to have to stay after something was found to arrive there.
        const uint64_t room = l.arrival >= free.start && limit > l.from ? limit - l.from : 0;
        if (room < kShortJump) {
          if (forget_numbers(l)) continue;
          stays(l.range, ReasonCode::too_short);
          continue;
        }
        if (l.arrival > free.start) left.push_back({free.start, l.arrival});
        free.start = l.from + (room >= kLongJump ? kLongJump : kShortJump);
        if (room < kLongJump) short_ones.push_back(i);
      }
      if (free.size() != 0) left.push_back(free);
    }
    auto near = left.begin();
    for (size_t s : short_ones) {
      Landing& l = landings[s];
      const auto island = take_island(near, left.end(), l.from + kShortJump);
      if (island)
        l.island = *island;
      else if (!forget_numbers(l))
        stays(l.range, ReasonCode::too_short_and_no_room);
    }
    if (changed_) return std::nullopt;
    return landings;
  }

 private:
  bool moves(const CodeRange& r) const { return program_.groups[r.group].moves(); }
  void stays(uint32_t range, ReasonCode reason) {
    program_.groups[program_.ranges[range].group].stay(reason);
    changed_ = true;
  }

  bool starts_with_endbr(OldAddr a) const {
    auto b = image_.bytes(a, kEndbrSize);
    return b && (*b)[0] == 0xf3 && (*b)[1] == 0x0f && (*b)[2] == 0x1e && (*b)[3] == 0xfa;
  }

  // An instruction that control may come to.
  struct Arrival {
    OldAddr at;
    uint32_t range;
    bool operator<(const Arrival& other) const { return at < other.at; }
    bool operator==(const Arrival& other) const { return at == other.at; }
  };

  // From bytes that may be anything; what is no instruction is no arrival.
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
    uint32_t group;  // that has the instruction
  };
  std::vector<Number> find_numbers() const {
    if (image_.is_position_independent()) return {};
    return parallel_collect<Number>(program_.groups.size(), [&](size_t g, std::vector<Number>& out) {
      for (const Code& code : program_.groups[g].code.parts)
        for (const Insn& insn : code.insns) {
          if (insn.length <= kNumberSize) continue;
          const auto value = number_kept_by(code.bytes.subspan(insn.offset, insn.length));
          const auto label = value ? possible_arrival(*value) : std::nullopt;
          if (label && label->at != program_.ranges[label->range].range.start) out.push_back({*label, uint32_t(g)});
        }
    });
  }

  // Where numbers are in the way of a landing: those that are used as no address are no labels. True if there were any,
  // and there may be room in the next round.
  bool forget_numbers(const Landing& l) {
    const OldRange near{l.arrival, l.from + kLongJump};
    const size_t forgotten = std::erase_if(numbers_, [&](const Number& n) {
      return near.contains(n.label.at) && !is_kept(n.label.at, program_.groups[n.group]);
    });
    if (forgotten != 0) changed_ = true;
    return forgotten != 0;
  }

  bool is_kept(OldAddr label, const Group& group) const {
    return !follow_addresses(program_, group, {.addresses = {label}, .where_kept = true}).empty();
  }

  // Whether the copy of the group has the address of the label's copy instead.
  bool is_changed(const Number& n) const {
    return program_.groups[n.group].moves() &&
           std::ranges::any_of(program_.groups[n.group].indirect.label_uses,
                               [&](const LabelUse& u) { return u.label == n.label.at; });
  }

  void arrive(const Arrival& a) {
    if (moves(program_.ranges[a.range])) arrivals_.push_back(a);
  }

  // From code that we understand: at an instruction, else the function cannot move.
  void certainly_arrive(OldAddr at) {
    const ptrdiff_t i = program_.range_of(at);
    if (i < 0 || !moves(program_.ranges[size_t(i)])) return;
    if (program_.code(program_.ranges[size_t(i)]).is_target(at))
      arrivals_.push_back({at, uint32_t(i)});
    else
      stays(uint32_t(i), ReasonCode::jumped_to_between_instructions);
  }

  // In a program at a fixed address nothing tells pointers from numbers, and those of 32 bits are not even looked for:
  // what was taken for a fragment may be a function.
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
    for (const Arrival& a : from_gaps_) arrive(a);
    parallel_sort(arrivals_);
    arrivals_.erase(std::unique(arrivals_.begin(), arrivals_.end()), arrivals_.end());
  }

  std::vector<Arrival> find_arrivals_from_gaps() const {
    return parallel_collect<Arrival>(gaps_.size(), [&](size_t i, std::vector<Arrival>& out) {
      scan(gaps_[i], [&](const Arrival& a) { out.push_back(a); });
    });
  }

  // Calls `found` for each arrival from bytes of which nothing says what they are, with data between the code perhaps.
  template <class Found>
  void scan(OldRange range, Found found) const {
    decode_blindly(image_, range, [&](OldAddr, const Shape&, std::optional<OldAddr> target) {
      if (!target || range.contains(*target)) return;
      if (const auto a = possible_arrival(*target)) found(*a);
    });
  }

  // The bytes that nobody needs, if nothing arrives there. Ascending, no two of them adjacent.
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
    return joined;
  }

  // Takes room for an island near `after_jump` from the ranges that begin at `near`, which goes past those that are too
  // low. To be called for ascending addresses: what lies too low now, and what is left below the island, is of no use
  // later.
  static std::optional<OldAddr> take_island(std::vector<OldRange>::iterator& near, std::vector<OldRange>::iterator end,
                                            OldAddr after_jump) {
    const OldAddr lowest = after_jump - 128, highest = after_jump + 127;
    while (near != end && near->end <= lowest) ++near;
    for (auto it = near; it != end && it->start <= highest; ++it) {
      const OldAddr start = std::max(it->start, lowest);
      if (start > highest || it->end < start + kLongJump) continue;
      it->start = start + kLongJump;
      return start;
    }
    return std::nullopt;
  }

  Program& program_;
  const Image& image_;
  const std::vector<OldRange> gaps_;
  const std::vector<Padding> padding_;
  // What may arrive at ranges that may move: symbols, code in gaps, numbers.
  const std::vector<Arrival> named_, from_gaps_;
  std::vector<Number> numbers_;
  std::vector<Arrival> arrivals_;  // of this round; ascending when all are found
  bool changed_ = false;           // a group turned out to have to stay
};

}  // namespace

std::vector<Landing> place_landings(Program& program) {
  Placer placer(program);
  for (;;)
    if (auto landings = placer.place()) return std::move(*landings);
}

}  // namespace profld
