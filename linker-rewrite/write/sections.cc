// Section headers are not needed to run, but debuggers and binutils use them, so they have to be right.
//
// A section that moved (.dynsym, .eh_frame, ...) keeps its index, which others refer to, and gets its new address. Its
// old bytes stay mapped, and get a section of their own, .prof.old.NAME: strip and objcopy build a file anew from its
// sections, and bytes that no section covers get lost.
//
// After all that the headers name there may be a payload, which the program looks for in its own file: an archive, a
// dumped heap, a disk image. There are four ways to find it, and each has to lead to it in the output as well.
//
// - From the end of the file, by a mark or by an offset or a length that is counted from there. So the output ends with
//   the payload, byte by byte. The directory of a zip archive is found that way, and what it says of places in the
//   archive is corrected by who reads it, as the archive may have been put after anything.
// - After the section headers, at e_shoff + e_shnum * e_shentsize. So they come immediately before it.
// - By an offset from the start of the file (sbcl, clisp). So it stays in its old place, too: all of the original's
//   bytes do.
// - As pages, mapped from the file. So the second one lies in the old place modulo the page size.

#include "sections.h"

#include <algorithm>

#include "linker-rewrite/base/refusal.h"

namespace profld {

namespace {

const Section* section_of(const Image& image, unsigned index) {
  return index < image.sections().size() ? &image.sections()[index] : nullptr;
}

unsigned name_table(const Image& image) {
  unsigned index = image.header().e_shstrndx;
  if (index == SHN_XINDEX && !image.sections().empty()) index = image.sections()[0].header.sh_link;
  const Section* s = section_of(image, index);
  return s && s->header.sh_type == SHT_STRTAB && !(s->header.sh_flags & SHF_ALLOC) ? index : 0;
}

// Contents that are written anew at the end: section names, symbols and their names.
std::vector<unsigned> rewritten_sections(const Image& image) {
  std::vector<unsigned> out;
  if (unsigned names = name_table(image)) out.push_back(names);
  if (const Section* s = symbol_table(image)) {
    out.push_back(s->index);
    out.push_back(s->header.sh_link);
  }
  return out;
}

ByteView contents_of(const Image& image, unsigned index) {
  const Elf64_Shdr& h = image.sections()[index].header;
  return image.file().subspan(h.sh_offset, h.sh_size);
}

}  // namespace

const Section* symbol_table(const Image& image) {
  for (const Section& s : image.sections()) {
    if (s.header.sh_type != SHT_SYMTAB || s.header.sh_entsize != sizeof(Elf64_Sym)) continue;
    const Section* strings = section_of(image, s.header.sh_link);
    if (strings && strings->header.sh_type == SHT_STRTAB && !(strings->header.sh_flags & SHF_ALLOC)) return &s;
  }
  return nullptr;
}

uint64_t kept_file_size(const Image& image) {
  uint64_t total = image.file().size();
  if (image.sections().empty()) return total;
  const Elf64_Ehdr& e = image.header();
  uint64_t kept = std::max<uint64_t>(sizeof e, e.e_phoff + uint64_t(e.e_phnum) * sizeof(Elf64_Phdr));
  for (const Elf64_Phdr& s : image.segments())
    if (s.p_type != PT_NULL && s.p_filesz != 0) kept = std::max(kept, s.p_offset + s.p_filesz);
  std::vector<unsigned> rewritten = rewritten_sections(image);
  std::vector<std::pair<uint64_t, uint64_t>> gone = {
      {e.e_shoff, e.e_shoff + image.sections().size() * sizeof(Elf64_Shdr)}};
  for (const Section& s : image.sections()) {
    if (s.header.sh_type == SHT_NOBITS || s.header.sh_type == SHT_NULL) continue;
    uint64_t end = s.header.sh_offset + s.header.sh_size;
    if (std::ranges::find(rewritten, s.index) == rewritten.end())
      kept = std::max(kept, end);
    else
      gone.emplace_back(s.header.sh_offset, end);
  }
  kept = std::min(kept, total);

  // Other bytes stay where the program may look for them, a payload (payload_start) too.
  std::ranges::sort(gone);
  gone.emplace_back(total, total);
  uint64_t covered = kept;
  for (auto [start, end] : gone) {
    for (; covered < std::min(start, total); ++covered)
      if (image.file()[covered] != 0) return total;
    covered = std::max(covered, end);
  }
  return kept;
}

FileOffset payload_start(const Image& image) {
  const Elf64_Ehdr& e = image.header();
  uint64_t end = std::max<uint64_t>(sizeof e, e.e_phoff + uint64_t(e.e_phnum) * sizeof(Elf64_Phdr));
  for (const Elf64_Phdr& s : image.segments())
    if (s.p_type != PT_NULL && s.p_filesz != 0) end = std::max(end, s.p_offset + s.p_filesz);
  if (!image.sections().empty()) end = std::max(end, e.e_shoff + image.sections().size() * sizeof(Elf64_Shdr));
  for (const Section& s : image.sections())
    if (s.header.sh_type != SHT_NOBITS && s.header.sh_type != SHT_NULL)
      end = std::max(end, s.header.sh_offset + s.header.sh_size);
  const ByteView file = image.file();
  // Zeros alone fill the file up, and say nothing.
  if (end >= file.size() || std::ranges::all_of(file.subspan(end), [](uint8_t byte) { return byte == 0; }))
    end = file.size();
  return FileOffset(end);
}

SectionTable::SectionTable(const Image& image, const Placement& placement, const SectionEdits& edits)
    : names_(name_table(image)) {
  for (const Section& s : image.sections()) headers_.push_back(s.header);
  if (headers_.empty()) headers_.emplace_back();
  for (unsigned index : rewritten_sections(image)) {
    ByteView old = contents_of(image, index);
    contents_[index] = Bytes(old.begin(), old.end());
  }
  if (names_ == 0) {
    Elf64_Shdr h{};
    h.sh_type = SHT_STRTAB;
    h.sh_addralign = 1;
    names_ = unsigned(headers_.size());
    headers_.push_back(h);
    contents_[names_] = Bytes(1);
    headers_[names_].sh_name = add_string(names_, ".shstrtab");
  }
  for (const SectionEdits::Added& a : edits.added) {
    unsigned index = add_header(a.name, a.header);
    headers_[index].sh_offset = placement.file_offset(NewAddr(a.header.sh_addr)).value;
  }
  for (const SectionEdits::Moved& m : edits.moved) {
    Elf64_Shdr old = headers_[m.index];
    headers_[m.index].sh_addr = m.address.value;
    headers_[m.index].sh_offset = placement.file_offset(m.address).value;
    headers_[m.index].sh_size = m.size;
    if (old.sh_type == SHT_NOBITS || old.sh_size == 0) continue;
    old.sh_type = SHT_PROGBITS;
    old.sh_flags &= SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR;
    old.sh_link = old.sh_info = 0;
    old.sh_entsize = 0;
    old_places_[m.index] = add_header(".prof.old" + image.sections()[m.index].name, old);
  }
}

unsigned SectionTable::index_at(NewAddr address) const {
  for (size_t i = headers_.size(); i-- > 1;) {
    const Elf64_Shdr& h = headers_[i];
    if ((h.sh_flags & SHF_ALLOC) && !(h.sh_flags & SHF_TLS) && address.value - h.sh_addr < h.sh_size)
      return unsigned(i);
  }
  return 0;
}

std::optional<unsigned> SectionTable::old_place(unsigned index) const {
  auto it = old_places_.find(index);
  if (it == old_places_.end()) return std::nullopt;
  return it->second;
}

uint32_t SectionTable::add_string(unsigned table, const std::string& s) {
  Bytes& strings = contents_[table];
  if (strings.empty() || strings.back() != 0) strings.push_back(0);
  uint64_t at = strings.size();
  if (at + s.size() >= UINT32_MAX) throw refusal(Refusal::names_too_long);
  strings.insert(strings.end(), s.begin(), s.end());
  strings.push_back(0);
  return uint32_t(at);
}

Elf64_Shdr& SectionTable::replace(unsigned index, Bytes contents) {
  contents_[index] = std::move(contents);
  return headers_[index];
}

unsigned SectionTable::add(const std::string& name, const Elf64_Shdr& header, Bytes contents) {
  unsigned index = add_header(name, header);
  contents_[index] = std::move(contents);
  return index;
}

unsigned SectionTable::add_header(const std::string& name, const Elf64_Shdr& header) {
  if (headers_.size() + 1 >= SHN_LORESERVE) throw refusal(Refusal::too_many_sections);
  headers_.push_back(header);
  headers_.back().sh_name = add_string(names_, name);
  return unsigned(headers_.size() - 1);
}

uint64_t SectionTable::size() const {
  uint64_t size = headers_.size() * sizeof(Elf64_Shdr);
  for (const auto& [index, contents] : contents_) size += align_up(contents.size(), 8);
  return size;
}

Bytes SectionTable::write(FileOffset at, Elf64_Ehdr& header) {
  Bytes out;
  out.reserve(size());
  for (auto& [index, contents] : contents_) {
    Elf64_Shdr& h = headers_[index];
    h.sh_offset = at.value + out.size();
    h.sh_size = contents.size();
    append_bytes(out, contents);
    out.resize(align_up(out.size(), 8));
    contents = {};
  }
  header.e_shoff = at.value + out.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = uint16_t(headers_.size());
  header.e_shstrndx = uint16_t(names_);
  for (const Elf64_Shdr& h : headers_) append(out, h);
  return out;
}

}  // namespace profld
