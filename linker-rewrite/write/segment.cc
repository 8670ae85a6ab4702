// New segments go after the original's last one, .bss included, at the next page: addresses of everything old stay,
// and so does the distance from any code to any data. Their order, ascending, is that of layout.cc.
//
// One of them holds the program headers, which need more room than the original has for them. This has a trap. A
// program learns the address of its program headers from the kernel (AT_PHDR). Linux 5.18 and later look for the
// segment that holds them; older kernels assume that they lie in memory where the first segment would have them if it
// were long enough: AT_PHDR = first address - its offset + e_phoff. If the table is elsewhere, the program looks for it
// at a wrong address, and crashes before the first instruction of its own. There are three solutions:
//
// - Leave the table where it is and move the sections after it (.interp, notes) away. There is seldom room for the
//   eight or so headers that are needed, and tools and start-up code know where those sections were.
// - Overwrite another header (PT_NOTE): takes the note away, and one is not enough.
// - Place the new segments so that the old kernel's sum comes out right: offset = address - (first address - its
//   offset). The file then has a hole of .bss's size, which occupies no disk, as nothing is written there.
//
// We do the third. (In front of the original's first segment new ones lie only if the program needs what is after the
// last one itself: decide/heap_place.cc.) Only if the hole would be very large (kMaxHole), the new segments follow the
// file's end, and the output needs Linux 5.18. In every case, offset and address agree modulo the page size.

#include "segment.h"

#include <algorithm>

#include "linker-rewrite/base/refusal.h"

namespace profld {

namespace {

constexpr uint64_t kMaxHole = uint64_t(256) << 20;     // bytes of the file that stand for .bss
constexpr uint64_t kMaxDebugInfo = uint64_t(1) << 30;  // bytes of addresses that stand for debug information
constexpr uint64_t kLowestAddress = 1 << 16;    // that a program may have: vm.mmap_min_addr, if nobody changed it
constexpr uint64_t kReach = uint64_t(1) << 31;  // bytes: what a 32-bit displacement can reach

}  // namespace

Placement place_new_segments(const Image& image, uint64_t kept, Place place) {
  const Elf64_Phdr* first = nullptr;
  for (const Elf64_Phdr& s : image.segments()) {
    if (s.p_type != PT_LOAD || s.p_memsz == 0) continue;
    if ((s.p_vaddr - s.p_offset) % kPage != 0)
      throw Error(
          "damaged program headers: a segment's address does not fit its place in the file; use an intact file");
    if (!first) first = &s;
  }
  if (!first) throw Error("no loadable segment: not a program that can run; name a linked program");

  uint64_t end = align_up(image.span().end.value, kPage);
  if (end - first->p_vaddr >= kReach) throw refusal(Refusal::segments_too_far);
  // The first segment of all is a new one then, and it has the distance that AT_PHDR is computed with.
  if (place == Place::in_front) return {NewAddr(kLowestAddress), FileOffset(align_up(kept, kPage))};
  uint64_t distance = first->p_vaddr - first->p_offset;  // address - offset, modulo 2^64
  uint64_t after_file = align_up(distance + kept, kPage);
  if (after_file <= end && end - after_file <= kMaxHole) return {NewAddr(end), FileOffset(end - distance)};
  if (after_file > end && after_file - end <= kMaxDebugInfo)
    return {NewAddr(after_file), FileOffset(after_file - distance)};
  return {NewAddr(end), FileOffset(align_up(kept, kPage))};
}

NewAddr Segment::reserve(uint64_t size, uint64_t align) {
  NewAddr at(align_up(end().value, align));
  bytes_.resize(at - start_ + size);
  return at;
}

void Segment::write(NewAddr at, ByteView bytes) {
  if (at < start_ || at - start_ > bytes_.size() || bytes.size() > bytes_.size() - (at - start_))
    throw internal_error("write outside a segment");
  std::ranges::copy(bytes, bytes_.begin() + long(at - start_));
}

NewAddr Segment::append(ByteView bytes, uint64_t align) {
  NewAddr at = reserve(bytes.size(), align);
  write(at, bytes);
  return at;
}

Elf64_Phdr Segment::header(const Placement& placement) const {
  Elf64_Phdr h{};
  h.p_type = PT_LOAD;
  h.p_flags = flags_;
  h.p_offset = placement.file_offset(start_).value;
  h.p_vaddr = h.p_paddr = start_.value;
  h.p_filesz = h.p_memsz = bytes_.size();
  h.p_align = kPage;
  return h;
}

void SectionEdits::add(std::string name, uint32_t type, uint64_t flags, NewAddr address, uint64_t size,
                       uint64_t align) {
  Elf64_Shdr h{};
  h.sh_type = type;
  h.sh_flags = flags | SHF_ALLOC;
  h.sh_addr = address.value;
  h.sh_size = size;
  h.sh_addralign = align;
  added.push_back({std::move(name), h});
}

const Section* section_at(const Image& image, uint64_t address, uint32_t type) {
  auto it = std::ranges::find_if(image.sections(), [&](const Section& s) {
    return s.header.sh_type == type && s.header.sh_addr == address && (s.header.sh_flags & SHF_ALLOC);
  });
  return it == image.sections().end() ? nullptr : &*it;
}

void edit_relocation_section(const Image& image, NewAddr address, uint64_t size, SectionEdits& edits) {
  const Section* old = section_at(image, image.dynamic_value(DT_RELA).value_or(0), SHT_RELA);
  if (!old) {
    // A program without such relocations may have a section of size 0, which nothing points to.
    const Section* s = image.section(".rela.dyn");
    if (s && s->header.sh_type == SHT_RELA && s->header.sh_size == 0) old = s;
  }
  if (old) return edits.move(old, address, size);
  edits.add(".rela.dyn", SHT_RELA, 0, address, size, 8);
  Elf64_Shdr& h = edits.added.back().header;
  h.sh_entsize = sizeof(Elf64_Rela);
  if (const Section* s = section_at(image, image.dynamic_value(DT_SYMTAB).value_or(0), SHT_DYNSYM))
    h.sh_link = s->index;
}

ByteView mapped_bytes(const Image& image, ByteView file, OldAddr address, uint64_t size, const char* what) {
  if (size == 0) return {};
  auto original = image.bytes(address, size);
  auto at = image.file_offset(address);
  if (!original || !at || at->value > file.size() || size > file.size() - at->value)
    throw Error(std::string("damaged ") + what + ": outside the file; use an intact file");
  return file.subspan(at->value, size);
}

}  // namespace profld
