#include <algorithm>

#include "body.h"
#include "linker-rewrite/base/address.h"
#include "linker-rewrite/base/sort_unique.h"
#include "linker-rewrite/program/data_references.h"
#include "linker-rewrite/program/patch_sites.h"
#include "search.h"

namespace profld {

namespace {

std::vector<OldRange> join(std::vector<OldRange> ranges) {
  std::ranges::sort(ranges, {}, [](const OldRange& r) { return r.start; });
  std::vector<OldRange> joined;
  for (const OldRange& r : ranges)
    if (!joined.empty() && r.start <= joined.back().end)
      joined.back().end = std::max(joined.back().end, r.end);
    else
      joined.push_back(r);
  return joined;
}

// What runs when the file is loaded and unloaded.
struct StartUp {
  std::vector<OldAddr> functions;  // at a fixed address: those in the arrays as well
  std::vector<OldRange> arrays;
};

StartUp find_start_up(const Image& image) {
  StartUp s;
  for (int64_t tag : {DT_INIT, DT_FINI})
    if (const auto a = image.dynamic_value(tag)) s.functions.emplace_back(*a);
  const std::pair<int64_t, int64_t> arrays[] = {
      {DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ}, {DT_INIT_ARRAY, DT_INIT_ARRAYSZ}, {DT_FINI_ARRAY, DT_FINI_ARRAYSZ}};
  for (const auto& [tag, size_tag] : arrays) {
    const auto a = image.dynamic_value(tag), size = image.dynamic_value(size_tag);
    if (a && size) s.arrays.push_back({OldAddr(*a), OldAddr(*a + *size)});
  }
  for (const Section& section : image.sections())
    if (section.name == ".init_array" || section.name == ".fini_array" || section.name == ".preinit_array")
      s.arrays.push_back({OldAddr(section.header.sh_addr), OldAddr(section.header.sh_addr + section.header.sh_size)});
    else if (section.name == ".init" || section.name == ".fini")
      s.functions.emplace_back(section.header.sh_addr);
  if (image.is_position_independent()) return s;
  for (const OldRange& array : s.arrays) {
    // As far as the file goes, which the size of the array need not heed.
    const ByteView bytes = image.bytes_from(array.start);
    Reader words(bytes.first(std::min<uint64_t>(bytes.size(), array.size())), "array of functions");
    while (words.remaining() >= sizeof(uint64_t)) s.functions.emplace_back(words.u64());
  }
  return s;
}

// What the linker has put in front of sections, so that they are aligned.
void append_gaps_between_sections(const Image& image, std::vector<OldRange>& gaps) {
  std::vector<const Section*> sections;
  for (const Section& s : image.sections())
    if ((s.header.sh_flags & SHF_ALLOC) && (s.header.sh_flags & SHF_EXECINSTR)) sections.push_back(&s);
  std::ranges::sort(sections, {}, [](const Section* s) { return s->header.sh_addr; });
  for (size_t i = 1; i < sections.size(); ++i) {
    const Elf64_Shdr &before = sections[i - 1]->header, &after = sections[i]->header;
    const uint64_t end = before.sh_addr + before.sh_size;
    if (end < after.sh_addr && after.sh_addr - end < after.sh_addralign)
      gaps.push_back({OldAddr(end), OldAddr(after.sh_addr)});
  }
}

}  // namespace

const OldRange* range_with(const std::vector<OldRange>& ranges, OldAddr a) {
  const auto after = std::ranges::upper_bound(ranges, a, {}, &OldRange::start);
  return after != ranges.begin() && std::prev(after)->contains(a) ? &*std::prev(after) : nullptr;
}

std::vector<OldRange> undescribed_code(const Program& program) {
  std::vector<OldRange> covered = linkage_stubs(*program.image);
  for (const Fde& f : program.frames->fdes) covered.push_back(f.range);
  append_gaps_between_sections(*program.image, covered);
  covered = join(std::move(covered));
  std::vector<OldRange> undescribed;
  for (const OldRange& code : program.image->code()) append_uncovered(undescribed, code, covered);
  return undescribed;
}

Roots find_roots(const Program& program, const std::vector<OldRange>& undescribed) {
  const Image& image = *program.image;
  const PatchSites patch_sites = find_patch_sites(image);  // in or in front of functions, but no function's start
  Roots roots;
  const StartUp start_up = find_start_up(image);
  const auto is_start_up = [&](OldAddr a) {
    return std::ranges::find(start_up.functions, a) != start_up.functions.end();
  };
  // A number that leads into the middle of code is no address, perhaps.
  const auto may_begin = [&](OldAddr a) {
    return may_start_function(image, a) || is_padding(image, {range_with(undescribed, a)->start, a});
  };
  const auto add = [&](std::vector<OldAddr>& to, OldAddr a, bool is_certain = true) {
    if (!range_with(undescribed, a)) return;
    to.push_back(a);
    if (!is_certain && !may_begin(a)) return;
    roots.any = roots.any || (!is_start_up(a) && program.range_of(a) < 0);
  };
  if (image.entry() != OldAddr()) add(roots.starts, image.entry());
  for (const Symbol& s : image.dynamic_symbols())
    if ((s.type == STT_FUNC || s.type == STT_GNU_IFUNC) && s.section != SHN_UNDEF &&
        !is_number_before_function(image, {s.address, s.address + s.size}))
      add(roots.starts, s.address);
  for (const CodeRange& r : program.ranges)
    if (!r.fde) add(roots.starts, r.range.start);
  for (const OutsideReference& r : program.outside) switch (r.kind) {
      case OutsideReference::Kind::function:
        add(roots.starts, r.target);
        break;
      case OutsideReference::Kind::named:
        add(roots.pointers, r.target, image.is_position_independent());
        break;
      case OutsideReference::Kind::jumped:  // the search comes there by itself
        roots.any = roots.any || range_with(undescribed, r.target);
        break;
    }
  for (const Relocation& r : image.relocations()) {
    if (r.type != R_X86_64_RELATIVE && r.type != R_X86_64_IRELATIVE && r.type != R_X86_64_64) continue;
    const OldAddr target = OldAddr(uint64_t(r.addend));
    if ((r.type == R_X86_64_64 && r.symbol != 0) || patch_sites.lists(r.where)) continue;
    const bool array = std::ranges::any_of(start_up.arrays, [&](const OldRange& a) { return a.contains(r.where); });
    if (array) {
      if (range_with(undescribed, target)) roots.starts.push_back(target);
    } else {
      add(r.type == R_X86_64_IRELATIVE ? roots.starts : roots.pointers, target);
    }
  }
  for (OldAddr a : start_up.functions)
    if (range_with(undescribed, a)) roots.starts.push_back(a);
  if (image.is_position_independent()) return roots;
  for (const auto& [word, target] : find_apparent_code_pointers(image)) {
    if (!range_with(undescribed, target) || patch_sites.lists(word)) continue;
    roots.in_data.push_back(target);
    if (image.is_writable(word)) roots.written.push_back(target);
    roots.any = roots.any || (may_begin(target) && !is_start_up(target) && program.range_of(target) < 0);
  }
  sort_unique(roots.in_data);
  sort_unique(roots.written);
  return roots;
}

}  // namespace profld
