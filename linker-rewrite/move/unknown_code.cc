#include "unknown_code.h"

#include <algorithm>

#include "linker-rewrite/base/address.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/x86/linear_sweep.h"

namespace profld {

std::vector<OldRange> code_outside_functions(const Program& program) {
  std::vector<OldRange> ranges;
  for (const OldRange& code : program.image->code()) append_uncovered(ranges, code, program.ranges, &CodeRange::range);
  return ranges;
}

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

// Of the no-operations after an instruction that passes control on for good those are fillings that reach an aligned
// address, or the end of the unknown bytes. One of a single byte proves nothing there, since the decoding is blind.
UnknownCode find_unknown_code(const Program& program) {
  const Image& image = *program.image;
  UnknownCode unknown{code_outside_functions(program), CodeSet(image.code()), {}, {}};
  const std::vector<PieceToSweep> pieces = pieces_to_sweep(unknown.ranges);
  struct Found {
    OldRange range;
    bool is_filling;  // else it is an address in a function, the start of the range
  };
  const std::vector<Found> found = parallel_collect<Found>(
      pieces.size(),
      [&](size_t i, std::vector<Found>& out) {
        const OldAddr limit = pieces[i].range.end;
        linear_sweep(image, pieces[i].range, pieces[i].part,
                     [&](OldAddr at, const CachedInsn& in, std::optional<OldAddr> target) {
                       if (target && program.range_of(*target) >= 0)
                         out.push_back({{*target, *target}, false});
                       else if (target)
                         unknown.named.add(*target);
                       if (!in.ends_control()) return;
                       bool several_bytes = false;
                       const OldAddr start = at + in.insn.length;
                       const OldAddr end = end_of_no_operations(image, start, limit, &several_bytes);
                       if (several_bytes && (end == limit || end.value % kCodeAlignment == 0))
                         out.push_back({{start, end}, true});
                     });
      },
      8);
  for (const Found& f : found)
    if (f.is_filling)
      unknown.fillings.push_back(f.range);
    else
      unknown.into_functions.push_back(f.range.start);
  parallel_sort(unknown.fillings, [](OldRange a, OldRange b) { return a.start < b.start; });
  parallel_sort(unknown.into_functions);
  unknown.into_functions.erase(std::unique(unknown.into_functions.begin(), unknown.into_functions.end()),
                               unknown.into_functions.end());
  return unknown;
}

// Compilers and linkers align functions, and fill the room before them with instructions that do nothing or with zeros.
// That is room for jumps to copies. Bytes are padding if control cannot come to them, and nothing names them:
//
//   * no-operations after a function that moved: its old code is dead.
//   * no-operations in unknown code (start-up code has no unwind tables), after an instruction that passes control on
//     for good, up to an aligned address or the next function. Such code is decoded by a linear sweep: there a
//     no-operation of one byte proves nothing, but one of several bytes does.
//   * zeros between two sections.

namespace {

// Addresses in code that something names; of those in functions not all.
CodeSet find_named(const Program& program, const UnknownCode& unknown) {
  const Image& image = *program.image;
  CodeSet named = unknown.named;
  parallel_for(program.groups.size(), [&](size_t g) {
    for (const Code& c : program.groups[g].code.parts)
      for (const Insn& insn : c.insns)
        if (insn.field_size != 0 && !c.range.contains(c.target(insn))) named.add(c.target(insn));
  });
  for (const auto* table : {&image.symbols(), &image.dynamic_symbols()})
    for (const Symbol& s : *table) named.add(s.address);
  for (const Relocation& r : image.relocations())
    if (!program.frame_tables.has(r.where)) named.add(OldAddr(uint64_t(r.addend)));
  for (OldAddr site : program.patch_sites) named.add(site);
  named.add(image.entry());
  return named;
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
  Finder(const Program& program, const UnknownCode& unknown)
      : program_(program),
        image_(*program.image),
        unknown_(unknown),
        stubs_(linkage_stubs(image_)),
        named_(find_named(program, unknown)) {}

  std::vector<Padding> find() {
    std::vector<Padding> found = parallel_collect<Padding>(
        unknown_.ranges.size(), [&](size_t i, std::vector<Padding>& out) { after_function(unknown_.ranges[i], out); });
    for (OldRange r : unknown_.fillings) after_unknown_code(r, found);
    between_sections(found);
    std::ranges::stable_sort(found, {}, [](const Padding& p) { return p.range.start; });
    std::vector<Padding> result;
    for (const Padding& p : found)
      if (result.empty() || result.back().range.end <= p.range.start) result.push_back(p);
    return result;
  }

 private:
  void after_function(OldRange range, std::vector<Padding>& found) const {
    const ptrdiff_t before = program_.range_of(range.start - 1);
    if (before < 0) return;
    bool several_bytes = false;
    OldAddr end = end_of_no_operations(image_, range.start, range.end, &several_bytes);
    if (const OldAddr named = named_.next(range.start, end); named < end)
      end = end_of_no_operations(image_, range.start, named, &several_bytes);
    if (end > range.start) found.push_back({{range.start, end}, before});
  }

  void after_unknown_code(OldRange filling, std::vector<Padding>& found) const {
    if (named_.next(filling.start, filling.end) != filling.end) return;
    if (std::ranges::any_of(stubs_, [&](OldRange s) { return s.contains(filling.start); })) return;
    found.push_back({filling, -1});
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
  const UnknownCode& unknown_;
  const std::vector<OldRange> stubs_;
  const CodeSet named_;
};

}  // namespace

std::vector<Padding> find_padding(const Program& program, const UnknownCode& unknown) {
  return Finder(program, unknown).find();
}

}  // namespace profld
