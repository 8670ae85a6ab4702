// Compilers and linkers align functions, and fill the room before them with instructions that do nothing or with zeros.
// That is room for jumps to copies. Bytes are padding if control cannot come to them, and nothing names them:
//
//   * no-operations behind a function that moved: its old code is dead.
//   * no-operations in unknown code (start-up code has no unwind tables), behind an instruction that passes control on
//     for good, up to an aligned address or the next function. Such code is decoded by a linear sweep: there a
//     no-operation of one byte proves nothing, but one of several bytes does.
//   * zeros between two sections.

#include "padding.h"

#include <algorithm>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/linear_sweep.h"

namespace profld {

namespace {

// Addresses outside functions that something names.
std::vector<OldAddr> find_named(const Program& program, const std::vector<OldRange>& outside) {
  const Image& image = *program.image;
  auto name = [&](OldAddr a, std::vector<OldAddr>& named) {
    if (image.is_code(a) && program.range_of(a) < 0) named.push_back(a);
  };
  std::vector<OldAddr> named =
      parallel_collect<OldAddr>(program.groups.size(), [&](size_t g, std::vector<OldAddr>& out) {
        for (const Code& c : program.groups[g].code.parts)
          for (const Insn& insn : c.insns)
            if (insn.field_size != 0 && !c.range.contains(c.target(insn))) name(c.target(insn), out);
      });
  const std::vector<OldAddr> by_them =
      parallel_collect<OldAddr>(outside.size(), [&](size_t i, std::vector<OldAddr>& out) {
        linear_sweep(image, outside[i], [&](OldAddr, const CachedInsn&, std::optional<OldAddr> target) {
          if (target) name(*target, out);
        });
      });
  named.insert(named.end(), by_them.begin(), by_them.end());
  for (const auto* table : {&image.symbols(), &image.dynamic_symbols()})
    for (const Symbol& s : *table) name(s.address, named);
  for (const Relocation& r : image.relocations()) name(OldAddr(uint64_t(r.addend)), named);
  for (OldAddr site : program.patch_sites) name(site, named);
  name(image.entry(), named);
  parallel_sort(named);
  return named;
}

// The end of the no-operations that start at `at`, at most `limit`.
OldAddr end_of_no_operations(const Image& image, OldAddr at, OldAddr limit, bool* several_bytes) {
  while (at < limit) {
    const CachedInsn* in =
        DecodeCache::of_this_thread().find(*image.bytes(at, std::min<uint64_t>(limit - at, kMaxInstructionLength)));
    if (!in || !in->is_no_operation()) break;
    *several_bytes |= in->insn.length > 2;
    at += in->insn.length;
  }
  return at;
}

// By address.
std::vector<const Section*> executable_sections(const Image& image) {
  std::vector<const Section*> sections;
  for (const Section& s : image.sections())
    if ((s.header.sh_flags & SHF_EXECINSTR) && s.header.sh_size != 0) sections.push_back(&s);
  std::ranges::stable_sort(sections, {}, [](const Section* s) { return s->header.sh_addr; });
  return sections;
}

class Finder {
 public:
  Finder(const Program& program, const std::vector<OldRange>& outside)
      : program_(program),
        image_(*program.image),
        outside_(outside),
        stubs_(linkage_stubs(image_)),
        named_(find_named(program, outside)) {}

  std::vector<Padding> find() {
    std::vector<Padding> found = parallel_collect<Padding>(outside_.size(), [&](size_t i, std::vector<Padding>& out) {
      behind_function(outside_[i], out);
      linear_sweep(image_, outside_[i], [&](OldAddr at, const CachedInsn& in, std::optional<OldAddr>) {
        if (in.ends_control()) behind_unknown_code(at + in.insn.length, outside_[i].end, out);
      });
    });
    between_sections(found);
    std::ranges::stable_sort(found, {}, [](const Padding& p) { return p.range.start; });
    std::vector<Padding> result;
    for (const Padding& p : found)
      if (result.empty() || result.back().range.end <= p.range.start) result.push_back(p);
    return result;
  }

 private:
  OldAddr next_named(OldAddr from, OldAddr limit) const {
    auto it = std::ranges::lower_bound(named_, from);
    return it != named_.end() ? std::min(*it, limit) : limit;
  }

  void behind_function(OldRange range, std::vector<Padding>& found) const {
    const ptrdiff_t before = program_.range_of(range.start - 1);
    if (before < 0) return;
    bool several_bytes = false;
    const OldAddr end = end_of_no_operations(image_, range.start, next_named(range.start, range.end), &several_bytes);
    if (end > range.start) found.push_back({{range.start, end}, before});
  }

  void behind_unknown_code(OldAddr start, OldAddr limit, std::vector<Padding>& found) const {
    bool several_bytes = false;
    const OldAddr end = end_of_no_operations(image_, start, limit, &several_bytes);
    if (!several_bytes || (end != limit && end.value % kCodeAlignment != 0) || next_named(start, end) != end) return;
    if (std::ranges::any_of(stubs_, [&](OldRange s) { return s.contains(start); })) return;
    found.push_back({{start, end}, -1});
  }

  void between_sections(std::vector<Padding>& found) const {
    const Section* last = nullptr;
    for (const Section* s : executable_sections(image_)) {
      const OldAddr end(s->header.sh_addr);
      if (const OldAddr start = last ? OldAddr(last->header.sh_addr + last->header.sh_size) : end;
          start < end && end - start < s->header.sh_addralign && program_.range_of(start) < 0)
        if (auto fill = image_.bytes(start, end - start);
            fill && std::ranges::all_of(*fill, [](uint8_t byte) { return byte == 0; }))
          found.push_back({{start, end}, -1});
      last = s;
    }
  }

  const Program& program_;
  const Image& image_;
  const std::vector<OldRange>& outside_;
  const std::vector<OldRange> stubs_;
  const std::vector<OldAddr> named_;  // sorted
};

}  // namespace

std::vector<OldRange> code_outside_functions(const Program& program) {
  std::vector<OldRange> ranges;
  for (OldRange code : program.image->code()) {
    OldAddr at = code.start;
    for (const CodeRange& r : program.ranges) {
      if (r.range.end <= at || r.range.start >= code.end) continue;
      if (r.range.start > at) ranges.push_back({at, r.range.start});
      at = r.range.end;
    }
    if (at < code.end) ranges.push_back({at, code.end});
  }
  return ranges;
}

std::vector<Padding> find_padding(const Program& program, const std::vector<OldRange>& outside) {
  return Finder(program, outside).find();
}

}  // namespace profld
