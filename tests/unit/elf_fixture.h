// Programs for the rewriter's tests, put together here byte by byte.

#ifndef TESTS_UNIT_ELF_FIXTURE_H
#define TESTS_UNIT_ELF_FIXTURE_H

#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "linker-rewrite/elf/image.h"
#include "linker-rewrite/write/output_file.h"

namespace elf_fixture {

using namespace profld;

// A program of the segments given and nothing else.
struct SmallElf {
  struct Load {
    uint64_t address;
    uint32_t flags;
    Bytes bytes;
  };
  std::vector<Load> loads;  // ascending
  std::vector<Elf64_Rela> relocations;
  std::pair<uint64_t, uint64_t> eh_frame{};      // address and size of a section; none if 0
  std::pair<uint64_t, uint64_t> eh_frame_hdr{};  // address and size of PT_GNU_EH_FRAME; none if 0
  uint16_t type = ET_DYN;

  Bytes build() const;
  Image image() const { return Image::from_bytes(build()); }
};

inline Bytes SmallElf::build() const {
  std::vector<Load> all = loads;
  Elf64_Dyn dynamic[3] = {};
  const uint64_t tables = align_up(loads.back().address + loads.back().bytes.size(), 0x1000) + 0x10000;
  if (!relocations.empty()) {
    const uint64_t size = relocations.size() * sizeof(Elf64_Rela);
    dynamic[0] = {DT_RELA, {tables + sizeof dynamic}};
    dynamic[1] = {DT_RELASZ, {size}};
    Load load{tables, PF_R | PF_W, {}};
    append(load.bytes, dynamic);
    for (const Elf64_Rela& r : relocations) append(load.bytes, r);
    all.push_back(load);
  }

  std::vector<Elf64_Phdr> segments;
  const auto add = [&](uint32_t kind, uint32_t flags, uint64_t offset, uint64_t address, uint64_t size) {
    segments.push_back({kind, flags, offset, address, address, size, size, 1});
  };
  const size_t count = all.size() + (relocations.empty() ? 0 : 1) + (eh_frame_hdr.first ? 1 : 0);
  Bytes file(sizeof(Elf64_Ehdr) + count * sizeof(Elf64_Phdr));
  uint64_t eh_frame_offset = 0;
  for (const Load& l : all) {
    add(PT_LOAD, l.flags, file.size(), l.address, l.bytes.size());
    if (eh_frame.first >= l.address && eh_frame.first < l.address + l.bytes.size())
      eh_frame_offset = file.size() + eh_frame.first - l.address;
    if (!relocations.empty() && l.address == tables)
      add(PT_DYNAMIC, PF_R | PF_W, file.size(), l.address, sizeof dynamic);
    append_bytes(file, l.bytes);
  }
  if (eh_frame_hdr.first) add(PT_GNU_EH_FRAME, PF_R, 0, eh_frame_hdr.first, eh_frame_hdr.second);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = type;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = uint16_t(segments.size());
  if (eh_frame.first) {
    const char names[] = "\0.eh_frame\0.shstrtab";
    const uint64_t names_at = file.size();
    append(file, names);
    file.resize(align_up(file.size(), 8));
    header.e_shoff = file.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    append(file, Elf64_Shdr{});
    append(file, Elf64_Shdr{1, SHT_PROGBITS, SHF_ALLOC, eh_frame.first, eh_frame_offset, eh_frame.second, 0, 0, 8, 0});
    append(file, Elf64_Shdr{11, SHT_STRTAB, 0, 0, names_at, sizeof names, 0, 0, 1, 0});
  }
  put(file, 0, header);
  for (size_t i = 0; i < segments.size(); ++i) put(file, sizeof header + i * sizeof(Elf64_Phdr), segments[i]);
  return file;
}

// The program with more segments, without section headers: as a rewritten one, but nothing refers to what is added.
// `eh_frame_hdr` is where PT_GNU_EH_FRAME shall point, if it is not 0.
inline Image with_segments(const Image& image, const std::vector<SmallElf::Load>& more, uint64_t eh_frame_hdr = 0,
                           uint64_t eh_frame_hdr_size = 0) {
  Bytes file(image.file().begin(), image.file().end());
  std::vector<Elf64_Phdr> segments = image.segments();
  std::erase_if(segments, [&](const Elf64_Phdr& s) { return s.p_type == PT_GNU_EH_FRAME && eh_frame_hdr != 0; });
  for (const SmallElf::Load& l : more) {
    segments.push_back({PT_LOAD, l.flags, file.size(), l.address, l.address, l.bytes.size(), l.bytes.size(), 1});
    if (eh_frame_hdr >= l.address && eh_frame_hdr < l.address + l.bytes.size())
      segments.push_back({PT_GNU_EH_FRAME, PF_R, file.size() + eh_frame_hdr - l.address, eh_frame_hdr, eh_frame_hdr,
                          eh_frame_hdr_size, eh_frame_hdr_size, 4});
    append_bytes(file, l.bytes);
  }
  Elf64_Ehdr header = image.header();
  file.resize(align_up(file.size(), 8));
  header.e_phoff = file.size();
  header.e_phnum = uint16_t(segments.size());
  header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
  put(file, 0, header);
  for (const Elf64_Phdr& s : segments) append(file, s);
  return Image::from_bytes(std::move(file));
}

// The file that these parts make, as write_program would write it.
inline Bytes file_of(const std::vector<FilePart>& parts) {
  Bytes file;
  for (const FilePart& part : parts) {
    if (part.at.value < file.size()) throw std::logic_error("parts of the output overlap");
    file.resize(part.at.value);
    append_bytes(file, part.bytes);
  }
  return file;
}

}  // namespace elf_fixture

#endif
