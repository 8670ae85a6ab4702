#include "arrivals.h"

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/unwind/lsda.h"
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

}  // namespace profld
