// Compilers cut functions up. GCC moves the unlikely half of foo to foo.cold, far away, with an unwind entry of its
// own; control jumps there and back. Such a fragment is not a function: it must get no entry hook, and jumps to it are
// not tail calls. Clang can do the same with every basic block (-fbasic-block-sections: foo.__part.3). If there are
// symbols, its name tells; in a stripped program only the way that control takes does:
//
//   * A jump into the middle of another range: both share control. No compiler jumps into another function.
//   * A jump to the start of a range while the stack frame is not empty: a tail call needs an empty frame, so the
//     target is a fragment. The unwind table knows the frame's size at the jump.
//   * A range whose unwind program starts with a CFA other than rsp+8 begins in the middle of something.
//   * A range that nobody calls or takes the address of, which jumps into the middle of a function: a fragment of it
//     (the frameless parents that the rules before do not catch). Without symbols also a range that nobody
//     calls, with conditional jumps to it from one function only: GCC makes no conditional tail calls. At a fixed
//     address it must not be named by a number either, in data or in an instruction, that may be a pointer to it.
//   * A range that nobody calls or takes the address of, which first reads something below the stack pointer, where a
//     caller leaves nothing; and a range that goes on to it. A hook on the way would overwrite what it reads.
//
// Hand-written code may be many functions in one range: the interpreter of LuaJIT is, whose unwind table has one row.
// The compiler's functions that end in a jump to one of them belong to none of it. That a function begins in the middle
// of a range is known by a call from another range; or by a jump from an empty frame to where the range's table says
// that there is none, if nothing jumps back: code of one function has one table. Such a range stays.
//
// A jump to a function's own end is not one of these. Compilers make such jumps in code that is never reached, because
// they need no instruction at the target. The next function starts at that address, unless its unwind program says
// otherwise.
//
// A range that is called directly is a function, even if these rules say otherwise. Ranges that share control form a
// group. A group moves or stays as a whole, because entry jumps can redirect everything but a jump into the middle of
// code that moved alone.

#include "fragments.h"

#include <algorithm>
#include <bitset>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "data_references.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/unwind/lsda.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/semantics.h"

namespace profld {

namespace {

struct CrossJump {
  uint32_t from, to;  // ranges
  OldAddr at, target;
  bool to_start;
  bool conditional;
  bool never;  // to the end of `from`, where another function starts
};

struct Decoded {
  Code code;
  std::optional<Reason> reason;  // why it does not decode
};

// How some ranges refer to others.
struct References {
  std::vector<CrossJump> jumps;           // by range and address
  std::vector<uint32_t> called;           // ranges whose start they call
  std::vector<InnerEntry> called_inside;  // what they call in the middle of other ranges
  std::vector<uint32_t> address_taken;    // ranges whose start they take the address of
  std::vector<uint32_t> numbers;          // at a fixed address: ranges whose start is a number in an instruction
  std::vector<OutsideReference> outside;
};

bool starts_like_function(const CodeRange& r) { return r.fde && r.fde->cfa_is_rsp_plus_8; }

Decoded decode_range(const Program& program, uint32_t index, const std::vector<OldRange>& stubs,
                     References& references) {
  const Image& image = *program.image;
  const std::vector<CodeRange>& ranges = program.ranges;
  const bool is_outermost = ranges[index].fde && ranges[index].fde->no_return_address;
  using Kind = OutsideReference::Kind;
  const auto refer_outside = [&](OldAddr target, Kind kind) {
    if (!image.is_code(target)) return;
    if (std::ranges::any_of(stubs, [&](const OldRange& s) { return s.contains(target); })) return;
    references.outside.push_back({target, is_outermost ? Kind::function : kind});
  };
  Decoded d;
  auto code = decode(image, ranges[index].range);
  if (!code) {
    d.reason = code.error();
    d.code.range = ranges[index].range;
    return d;
  }
  d.code = std::move(*code);
  const bool fixed = !image.is_position_independent();
  for (const Insn& insn : d.code.insns) {
    if (fixed) {
      const ByteView bytes = d.code.bytes_of(insn);
      const std::optional<uint64_t> kept = number_kept_by(bytes);
      OldAddr number(kept.value_or(0));
      if (!kept && insn.field_size == 0) number = OldAddr(last_number<uint32_t>(bytes).value_or(0));
      const ptrdiff_t to = image.is_code(number) ? program.range_of(number) : -1;
      if (to >= 0 && ranges[size_t(to)].range.start == number) references.numbers.push_back(uint32_t(to));
      if (to < 0 && kept) refer_outside(number, Kind::named);
    }
    const bool jump = insn.flow == Flow::jump || insn.flow == Flow::jump_if || insn.flow == Flow::jump_if_short;
    if (!jump && insn.flow != Flow::call && !insn.rip_relative) continue;
    const OldAddr target = d.code.target(insn);
    if (ranges[index].range.contains(target)) continue;
    ptrdiff_t to = program.range_of(target);
    if (to < 0) {
      if (jump)
        refer_outside(target, ranges[index].fde ? Kind::function : Kind::jumped);
      else if (insn.flow == Flow::call || takes_address(d.code, insn))
        refer_outside(target, insn.rip_relative ? Kind::named : Kind::function);
      continue;
    }
    const bool to_start = ranges[size_t(to)].range.start == target;
    if (jump)
      references.jumps.push_back(
          {.from = index,
           .to = uint32_t(to),
           .at = d.code.address(insn),
           .target = target,
           .to_start = to_start,
           .conditional = insn.flow != Flow::jump,
           .never = target == ranges[index].range.end && starts_like_function(ranges[size_t(to)])});
    else if (insn.flow == Flow::call && to_start)
      references.called.push_back(uint32_t(to));
    else if (insn.flow == Flow::call)
      references.called_inside.push_back({target, d.code.address(insn)});
    else if (insn.rip_relative && to_start)
      references.address_taken.push_back(uint32_t(to));
  }
  return d;
}

// A disjoint-set forest over ranges.
class Union {
 public:
  explicit Union(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
  uint32_t find(uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(uint32_t a, uint32_t b) { parent_[std::max(find(a), find(b))] = std::min(find(a), find(b)); }

 private:
  std::vector<uint32_t> parent_;
};

// GCC and clang name them foo.cold, clang -fbasic-block-sections foo.__part.3 (its symbols have no type).
std::vector<OldAddr> named_fragments(const Image& image) {
  std::vector<OldAddr> starts;
  for (const Symbol& s : image.symbols())
    if (s.name.find(".cold") != std::string::npos || s.name.find(".__part.") != std::string::npos)
      starts.push_back(s.address);
  std::ranges::sort(starts);
  return starts;
}

// True if it reads bytes below the stack pointer that it has not written.
bool reads_red_zone(const Code& code) {
  constexpr int64_t kSize = 128;  // bytes
  std::bitset<kSize> written;     // by distance from its lowest byte
  for (const Insn& insn : code.insns) {
    const Semantics op = semantics_of(code, insn);
    const int64_t first = op.memory.displacement;
    if (op.memory_size != 0 && op.action != Action::lea && op.memory.base == kRsp && first < 0 && first >= -kSize) {
      const auto from = size_t(first + kSize);
      if (!op.only_writes_memory() && !written[from]) return true;
      for (size_t i = from; i < std::min<size_t>(from + op.memory_size, kSize); ++i) written.set(i);
    }
    if (op.writes & (1u << kRsp)) return false;
  }
  return false;
}

// Makes the program out of its ranges, in the steps of group().
class Grouper {
 public:
  Grouper(const Image& image, const EhFrame& frames, std::vector<CodeRange> ranges, FrameTables frame_tables)
      : image_(image), frames_(frames), stripped_(image.symbols().empty()) {
    std::vector<OldAddr> starts;
    starts.reserve(ranges.size());
    for (const CodeRange& r : ranges) starts.push_back(r.range.start);
    program_.image = &image;
    program_.frames = &frames;
    program_.ranges = std::move(ranges);
    program_.range_starts = AddressIndex(std::move(starts));
    program_.frame_tables = std::move(frame_tables);
  }

  Program group() {
    decode_all();
    find_entered();
    find_inner_entries();
    find_jumpers();
    find_fragments();
    find_what_goes_on();
    find_jumps_in_frames();
    make_groups(join());
    return std::move(program_);
  }

 private:
  static constexpr uint32_t kNobody = UINT32_MAX, kSeveral = UINT32_MAX - 1;

  void decode_all() {
    constexpr size_t kBatch = 64;  // ranges
    decoded_.resize(all_.size());
    references_.resize((all_.size() + kBatch - 1) / kBatch);
    const std::vector<OldRange> stubs = linkage_stubs(image_);
    parallel_for(
        references_.size(),
        [&](size_t batch) {
          for (size_t i = batch * kBatch; i < std::min((batch + 1) * kBatch, all_.size()); ++i)
            decoded_[i] = decode_range(program_, uint32_t(i), stubs, references_[batch]);
        },
        1);
    for (const References& refs : references_)
      program_.outside.insert(program_.outside.end(), refs.outside.begin(), refs.outside.end());
  }

  // Finds the ranges that are called, and those whose address is taken, perhaps.
  void find_entered() {
    called_.resize(all_.size()), address_taken_.resize(all_.size()), maybe_taken_.resize(all_.size());
    for (const References& refs : references_) {
      for (uint32_t r : refs.called) called_[r] = true;
      for (uint32_t r : refs.address_taken) address_taken_[r] = true;
      for (uint32_t r : refs.numbers) maybe_taken_[r] = true;
    }
    for (const Relocation& r : image_.relocations())
      if (r.type == R_X86_64_RELATIVE || r.type == R_X86_64_IRELATIVE || r.type == R_X86_64_64)
        if (!program_.frame_tables.has(r.where)) take_address(OldAddr(uint64_t(r.addend)));
    for (const Symbol& s : image_.dynamic_symbols()) take_address(s.address);
    take_address(image_.entry());
    if (!image_.is_position_independent()) find_apparent_pointers();
    for (uint32_t i = 0; i < all_.size(); ++i) all_[i].entered = called_[i] || address_taken_[i];
  }

  void take_address(OldAddr a) {
    const ptrdiff_t r = program_.range_of(a);
    if (r >= 0 && all_[size_t(r)].range.start == a) address_taken_[size_t(r)] = true;
  }

  void find_apparent_pointers() {
    program_.apparent_pointers = find_apparent_code_pointers(image_);
    if (!program_.frame_tables.words.empty())
      std::erase_if(program_.apparent_pointers, [&](const auto& p) { return program_.frame_tables.has(p.first); });
    const auto& pointers = program_.apparent_pointers;
    const auto taken = parallel_collect<uint32_t>(pointers.size(), [&](size_t i, std::vector<uint32_t>& out) {
      const ptrdiff_t r = program_.range_of(pointers[i].second);
      if (r >= 0 && all_[size_t(r)].range.start == pointers[i].second) out.push_back(uint32_t(r));
    });
    for (uint32_t r : taken) maybe_taken_[r] = true;
  }

  // What the unwind tables say of a frame; none if they do not say it.
  std::optional<bool> frame_is_empty(uint32_t range, OldAddr at) const {
    const Fde* fde = all_[range].fde;
    if (fde && !fde->range.contains(at)) fde = frames_.find(at);
    return fde ? frame_is_empty_at(frames_, *fde, at) : std::nullopt;
  }

  void find_inner_entries() {
    struct Candidate {
      InnerEntry entry;
      std::optional<CrossJump> jump;  // else it is a call
    };
    const auto candidates = parallel_collect<Candidate>(
        references_.size(),
        [&](size_t batch, std::vector<Candidate>& out) {
          for (const InnerEntry& e : references_[batch].called_inside) out.push_back({e, {}});
          for (const CrossJump& j : references_[batch].jumps)
            if (!j.to_start && frame_is_empty(j.to, j.target) == false && frame_is_empty(j.from, j.at) == true)
              out.push_back({{j.target, j.at}, j});
        },
        1);
    if (candidates.empty()) return;
    const std::set<std::pair<uint32_t, uint32_t>> shared = jumps_into_middle();
    std::vector<InnerEntry>& entries = program_.inner_entries;
    for (const Candidate& c : candidates)
      if (!c.jump || !shared.contains({c.jump->to, c.jump->from})) entries.push_back(c.entry);
    std::ranges::stable_sort(entries, {}, &InnerEntry::at);
    const auto same = [](const InnerEntry& a, const InnerEntry& b) { return a.at == b.at; };
    entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
    for (References& refs : references_)
      std::erase_if(refs.jumps,
                    [&](const CrossJump& j) { return jumps_to_inner_entry(program_, all_[j.from], j.at, j.target); });
  }

  // The ranges that jump into the middle of others, with these.
  std::set<std::pair<uint32_t, uint32_t>> jumps_into_middle() const {
    std::set<std::pair<uint32_t, uint32_t>> found;
    for (const References& refs : references_)
      for (const CrossJump& j : refs.jumps)
        if (!j.to_start) found.emplace(j.from, j.to);
    return found;
  }

  void find_jumpers() {
    jumper_.assign(all_.size(), kNobody);
    jumped_to_conditionally_.resize(all_.size()), jumps_into_middle_.resize(all_.size());
    for (const References& refs : references_)
      for (const CrossJump& j : refs.jumps) {
        if (!j.to_start) jumps_into_middle_[j.from] = true;
        if (j.to_start && !j.never) {
          jumper_[j.to] = jumper_[j.to] == kNobody || jumper_[j.to] == j.from ? j.from : kSeveral;
          if (j.conditional) jumped_to_conditionally_[j.to] = true;
        }
      }
  }

  void find_fragments() {
    const std::vector<OldAddr> named = named_fragments(image_);
    goes_on_.resize(all_.size());
    for (uint32_t i = 0; i < all_.size(); ++i) {
      if (called_[i]) continue;
      const bool unreachable_as_function = !address_taken_[i] && jumper_[i] != kNobody;
      goes_on_[i] = unreachable_as_function && all_[i].names.empty() && reads_red_zone(decoded_[i].code);
      all_[i].fragment = (all_[i].fde && !all_[i].fde->cfa_is_rsp_plus_8 && !all_[i].fde->no_return_address) ||
                         std::ranges::binary_search(named, all_[i].range.start) ||
                         (unreachable_as_function && jumps_into_middle_[i] && all_[i].names.empty()) ||
                         (stripped_ && unreachable_as_function && !maybe_taken_[i] && jumper_[i] != kSeveral &&
                          jumped_to_conditionally_[i]) ||
                         goes_on_[i];
    }
  }

  // What such a range finds below the stack pointer comes from the ranges that jump to it, or through them. So these
  // are fragments as well.
  void find_what_goes_on() {
    for (bool changed = true; std::exchange(changed, false);)
      for (const References& refs : references_)
        for (const CrossJump& j : refs.jumps) {
          const uint32_t i = j.from;
          if (!goes_on_[j.to] || goes_on_[i] || all_[i].entered || jumper_[i] == kNobody || !all_[i].names.empty())
            continue;
          goes_on_[i] = all_[i].fragment = changed = true;
        }
  }

  // Finds the ranges that are jumped to while a frame is on the stack.
  void find_jumps_in_frames() {
    const auto in_a_frame = parallel_collect<uint32_t>(
        references_.size(),
        [&](size_t batch, std::vector<uint32_t>& out) {
          for (const CrossJump& j : references_[batch].jumps)
            if (j.to_start && !j.never && !called_[j.to] && !all_[j.to].fragment &&
                !frame_is_empty(j.from, j.at).value_or(true))
              out.push_back(j.to);
        },
        1);
    for (uint32_t i : in_a_frame) all_[i].fragment = true;
  }

  // Finds the ranges that belong together.
  Union join() const {
    Union groups(all_.size());
    for (const References& refs : references_)
      for (const CrossJump& j : refs.jumps)
        if (!j.to_start || all_[j.to].fragment) groups.join(j.from, j.to);
    for (uint32_t i = 0; i < all_.size(); ++i) {
      if (!all_[i].fde || all_[i].fde->lsda == OldAddr()) continue;
      auto lsda = read_lsda(image_, frames_, *all_[i].fde);
      if (!lsda) continue;  // the range will stay, for that reason
      for (const CallSite& c : lsda->call_sites)
        if (c.landing_pad != OldAddr() && !all_[i].range.contains(c.landing_pad))
          if (ptrdiff_t pad = program_.range_of(c.landing_pad); pad >= 0) groups.join(i, uint32_t(pad));
    }
    return groups;
  }

  void make_groups(Union groups) {
    program_.groups.reserve(all_.size());
    std::vector<uint32_t> group_of_root(all_.size(), UINT32_MAX);
    for (bool fragments : {false, true})
      for (uint32_t i = 0; i < all_.size(); ++i) {
        if (all_[i].fragment != fragments) continue;
        uint32_t& group = group_of_root[groups.find(i)];
        if (group == UINT32_MAX) {
          group = uint32_t(program_.groups.size());
          program_.groups.push_back({});
          program_.groups.back().code.entry = all_[i].range.start;
        }
        Group& g = program_.groups[group];
        all_[i].group = group;
        all_[i].part = uint32_t(g.ranges.size());
        g.ranges.push_back(i);
        g.code.parts.push_back(std::move(decoded_[i].code));
        if (decoded_[i].reason) g.stay(*decoded_[i].reason);
      }
  }

  const Image& image_;
  const EhFrame& frames_;
  const bool stripped_;
  Program program_;
  std::vector<CodeRange>& all_ = program_.ranges;
  std::vector<Decoded> decoded_;        // by range, as the members below, except for the next
  std::vector<References> references_;  // of batches of ranges, in their order
  std::vector<bool> called_, address_taken_, maybe_taken_;
  std::vector<uint32_t> jumper_;  // the only range that jumps to this one's start; or kNobody, kSeveral
  std::vector<bool> jumped_to_conditionally_, jumps_into_middle_;
  std::vector<bool> goes_on_;  // with something that was left below the stack pointer
};

}  // namespace

Program group_functions(const Image& image, const EhFrame& frames, std::vector<CodeRange> ranges,
                        FrameTables frame_tables) {
  return Grouper(image, frames, std::move(ranges), std::move(frame_tables)).group();
}

void add_fragment(Program& program, uint32_t g, uint32_t fragment) {
  Group& group = program.groups[g];
  Group from = std::move(program.groups[program.ranges[fragment].group]);
  program.groups[program.ranges[fragment].group] = {};
  program.ranges[fragment].fragment = true;
  if (from.reason) group.stay(*from.reason);
  for (size_t i = 0; i < from.ranges.size(); ++i) {
    program.ranges[from.ranges[i]].group = g;
    program.ranges[from.ranges[i]].part = uint32_t(group.ranges.size());
    group.ranges.push_back(from.ranges[i]);
    group.code.parts.push_back(std::move(from.code.parts[i]));
  }
}

namespace {

// A jump from a function to its own entry may be a loop, or a tail call of itself. Right before a tail call it gives up
// its frame; a loop does not.
bool gives_up_frame_before(const Program& program, const CodeRange& from, OldAddr at) {
  const Code& code = program.code(from);
  const auto jump = code.index(at);
  if (!from.fde || !jump || *jump == 0) return false;
  const Insn& before = code.insns[*jump - 1];
  auto frame_is_empty = [&](OldAddr a, bool otherwise) {
    return from.fde->range.contains(a) ? frame_is_empty_at(*program.frames, *from.fde, a).value_or(otherwise)
                                       : otherwise;
  };
  return before.flow == Flow::next && frame_is_empty(at, false) && !frame_is_empty(code.address(before), true);
}

}  // namespace

bool is_tail_call(const Program& program, const CodeRange& from, OldAddr at, OldAddr target) {
  if (from.range.contains(target))
    return target == from.range.start && !from.fragment && gives_up_frame_before(program, from, at);
  if (ptrdiff_t i = program.range_of(target); i >= 0) {
    const CodeRange& to = program.ranges[size_t(i)];
    if (to.range.start != target) return jumps_to_inner_entry(program, from, at, target);
    if (to.fragment) return false;
    if (from.fragment && from.group == to.group) return gives_up_frame_before(program, from, at);
  }
  const Fde* fde = from.fde && from.fde->range.contains(at) ? from.fde : program.frames->find(at);
  return !fde || frame_is_empty_at(*program.frames, *fde, at).value_or(true);
}

bool jumps_to_inner_entry(const Program& program, const CodeRange& from, OldAddr at, OldAddr target) {
  if (from.range.contains(target) || !std::ranges::binary_search(program.inner_entries, target, {}, &InnerEntry::at))
    return false;
  const Fde* fde = from.fde && from.fde->range.contains(at) ? from.fde : program.frames->find(at);
  return fde && frame_is_empty_at(*program.frames, *fde, at) == true;
}

// True only if unwind tables say that both are functions, and calls or pointers confirm it for the second: one function
// may be cut into several ranges, and hooks in its middle would overwrite what it keeps below the stack pointer.
bool runs_into_function(const Program& program, const CodeRange& from) {
  const ptrdiff_t i = program.range_of(from.range.end);
  if (i < 0) return false;
  const CodeRange& to = program.ranges[size_t(i)];
  if (to.range.start != from.range.end || to.fragment || !to.entered || !to.fde || !to.fde->cfa_is_rsp_plus_8)
    return false;
  const OldAddr last = from.range.end - 1;
  const Fde* fde = program.frames->find(last);
  return fde && frame_is_empty_at(*program.frames, *fde, last).value_or(false);
}

}  // namespace profld
