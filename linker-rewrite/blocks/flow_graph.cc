#include "flow_graph.h"

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/unwind/lsda.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "linker-rewrite/x86/encoding.h"

namespace profld {

namespace {

struct Found {
  OldAddr at;
  bool split;
};

class Finder {
 public:
  explicit Finder(const Program& program) : program_(program) {}

  // An address that control may come to.
  void arrive(OldAddr at, std::vector<Found>& out) const {
    const ptrdiff_t r = program_.range_of(at);
    if (r < 0) return;
    const Code& code = program_.code(program_.ranges[size_t(r)]);
    if (code.insns.empty()) return;
    const OldAddr start = code.address(code.insns[code.covering(at)]);
    out.push_back({start, false});
    if (start != at) out.push_back({start, true});
  }

  // By the branches and calls of a group.
  void branches_of(uint32_t own, std::vector<Found>& out) const {
    for (const Code& code : program_.groups[own].code.parts) {
      for (const Insn& insn : code.insns) {
        const bool is_call = insn.flow == Flow::call;
        if (!is_call && insn.flow != Flow::jump && insn.flow != Flow::jump_if && insn.flow != Flow::jump_if_short)
          continue;
        const OldAddr target = code.target(insn);
        const ptrdiff_t r = program_.range_of(target);
        if (r < 0) continue;
        if (is_call || program_.ranges[size_t(r)].group != own) {
          arrive(target, out);
        } else {
          const Code& part = program_.code(program_.ranges[size_t(r)]);
          if (part.insns.empty()) continue;
          const OldAddr start = part.address(part.insns[part.covering(target)]);
          if (start != target) out.push_back({start, true});
        }
      }
    }
  }

  void labels_of(const Group& group, std::vector<Found>& out) const {
    for (const LabelUse& use : group.indirect.label_uses) arrive(use.label, out);
    for (const OldAddr label : group.indirect.label_arrivals) arrive(label, out);
    for (const OldAddr word : group.indirect.label_words)
      if (const auto bytes = program_.image->bytes(word, sizeof(uint64_t)))
        arrive(OldAddr(Reader(*bytes, "data").u64()), out);
  }

  // A damaged table has been a reason to stay.
  void landing_pads_of(const Fde& fde, std::vector<Found>& out) const {
    if (fde.lsda == OldAddr()) return;
    const std::optional<Lsda> lsda = read_lsda(*program_.image, *program_.frames, fde);
    if (!lsda) return;
    for (const CallSite& site : lsda->call_sites)
      if (site.landing_pad != OldAddr()) arrive(site.landing_pad, out);
  }

 private:
  const Program& program_;
};

}  // namespace

bool may_insert_before(const Code& code, const Insn& insn, const Arrivals& arrivals) {
  return !starts_with_endbr64(code.bytes_of(insn)) && !arrivals.is_split(code.address(insn));
}

Arrivals find_arrivals(const Program& program, const std::vector<OldAddr>& old_entries) {
  const Finder finder(program);
  std::vector<Found> found = parallel_collect<Found>(program.groups.size(), [&](size_t g, std::vector<Found>& out) {
    finder.branches_of(uint32_t(g), out);
    finder.labels_of(program.groups[g], out);
  });
  const std::vector<Fde>& fdes = program.frames->fdes;
  const std::vector<Found> pads = parallel_collect<Found>(
      fdes.size(), [&](size_t i, std::vector<Found>& out) { finder.landing_pads_of(fdes[i], out); });
  found.insert(found.end(), pads.begin(), pads.end());
  for (const OldAddr entry : old_entries) finder.arrive(entry, found);
  for (const Relocation& r : program.image->relocations())
    if ((r.type == R_X86_64_RELATIVE || r.type == R_X86_64_IRELATIVE) && !program.frame_tables.has(r.where))
      finder.arrive(OldAddr(uint64_t(r.addend)), found);
  for (const auto& [word, target] : program.apparent_pointers) finder.arrive(target, found);

  Arrivals arrivals;
  for (const Found& f : found) (f.split ? arrivals.split : arrivals.entered).push_back(f.at);
  for (std::vector<OldAddr>* all : {&arrivals.entered, &arrivals.split}) {
    parallel_sort(*all);
    all->erase(std::unique(all->begin(), all->end()), all->end());
  }
  return arrivals;
}

namespace {

bool is_direct_branch(Flow flow) { return flow == Flow::jump || flow == Flow::jump_if || flow == Flow::jump_if_short; }

bool enters_kernel(const Code& code, const Insn& insn) {
  const CachedInsn* cached = DecodeCache::of_this_thread().find(code.bytes_of(insn));
  return !cached || cached->enters_kernel();
}

bool ends_block(const Code& code, const Insn& insn) { return insn.flow != Flow::next || enters_kernel(code, insn); }

}  // namespace

FlowGraph::FlowGraph(const Program& program, const Group& group, const Arrivals& arrivals)
    : program_(program), group_(group), code_(group.code), arrivals_(arrivals) {
  find_leaders();
  cut();
  connect();
}

bool FlowGraph::is_own(OldAddr at) const {
  const ptrdiff_t r = program_.range_of(at);
  return r >= 0 && &program_.groups[program_.ranges[size_t(r)].group] == &group_;
}

void FlowGraph::lead(OldAddr at) {
  if (!is_own(at)) return;
  const uint32_t part = program_.ranges[size_t(program_.range_of(at))].part;
  const Code& code = code_.parts[part];
  if (!code.insns.empty()) leaders_[part][code.covering(at)] = true;
}

void FlowGraph::find_leaders() {
  for (const Code& code : code_.parts) leaders_.emplace_back(code.insns.size());
  for (size_t p = 0; p < code_.parts.size(); ++p) {
    const Code& code = code_.parts[p];
    if (code.insns.empty()) continue;
    leaders_[p][0] = true;
    for (size_t i = 0; i < code.insns.size(); ++i) {
      const Insn& insn = code.insns[i];
      if (ends_block(code, insn) && i + 1 < code.insns.size()) leaders_[p][i + 1] = true;
      if (is_direct_branch(insn.flow)) lead(code.target(insn));
    }
    const auto end = std::ranges::lower_bound(arrivals_.entered, code.range.end);
    for (auto a = std::ranges::lower_bound(arrivals_.entered, code.range.start); a != end; ++a) lead(*a);
  }
  for (const JumpTable& table : group_.indirect.tables)
    for (const OldAddr target : table.targets) lead(target);
}

void FlowGraph::cut() {
  for (uint32_t p = 0; p < code_.parts.size(); ++p) {
    const Code& code = code_.parts[p];
    const CodeRange& range = program_.ranges[group_.ranges[p]];
    first_block_.push_back(uint32_t(blocks_.size()));
    for (uint32_t i = 0; i < code.insns.size(); ++i) {
      if (leaders_[p][i]) {
        const OldAddr at = code.address(code.insns[i]);
        const bool is_entry = i == 0 && !range.fragment;
        blocks_.push_back({.part = p,
                           .first = i,
                           .end = i,
                           .first_successor = 0,
                           .entered = is_entry || arrivals_.is_entered(at),
                           .leaves = false});
      }
      blocks_.back().end = i + 1;
    }
  }
  first_block_.push_back(uint32_t(blocks_.size()));
}

std::optional<uint32_t> FlowGraph::block_at(OldAddr at) const {
  if (!is_own(at)) return std::nullopt;
  const uint32_t part = program_.ranges[size_t(program_.range_of(at))].part;
  const Code& code = code_.parts[part];
  if (code.insns.empty()) return std::nullopt;
  const uint32_t insn = uint32_t(code.covering(at));
  const auto begin = blocks_.begin() + first_block_[part], end = blocks_.begin() + first_block_[part + 1];
  const auto after = std::upper_bound(begin, end, insn, [](uint32_t i, const BasicBlock& b) { return i < b.first; });
  return uint32_t(after - blocks_.begin() - 1);
}

void FlowGraph::pass_to(OldAddr at, BasicBlock& from) {
  if (const auto to = block_at(at))
    successors_.push_back(*to);
  else
    from.leaves = true;
}

void FlowGraph::jump_indirectly(BasicBlock& from) {
  from.leaves = true;
  const InsnRef at{from.part, from.end - 1};
  const auto jump = std::ranges::lower_bound(group_.indirect.jumps, at, {}, &IndirectJump::at);
  if (jump == group_.indirect.jumps.end() || jump->at != at) return;
  from.to_labels = jump->kind == JumpKind::labels;
  if (jump->kind != JumpKind::table) return;
  from.leaves = false;
  std::vector<OldAddr> targets = group_.indirect.tables[jump->table].targets;
  std::ranges::sort(targets);
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  // The end of the range stands for what cannot happen.
  for (const OldAddr target : targets)
    if (const auto to = block_at(target)) successors_.push_back(*to);
}

void FlowGraph::connect() {
  for (BasicBlock& b : blocks_) {
    b.first_successor = uint32_t(successors_.size());
    const Code& code = code_.parts[b.part];
    const Insn& last = last_insn(b);
    switch (last.flow) {
      case Flow::next:
        b.leaves = enters_kernel(code, last);
        pass_to(code.next(last), b);
        break;
      case Flow::call:
      case Flow::call_indirect:
        b.leaves = true;
        pass_to(code.next(last), b);
        break;
      case Flow::jump_if:
      case Flow::jump_if_short:
        pass_to(code.next(last), b);
        pass_to(code.target(last), b);
        break;
      case Flow::jump:
        pass_to(code.target(last), b);
        break;
      case Flow::jump_indirect:
        jump_indirectly(b);
        break;
      case Flow::ret:
      case Flow::stop:
        b.leaves = true;
        break;
    }
    if (b.first_successor == successors_.size()) b.leaves = true;
  }
}

}  // namespace profld
