// The section header table of the output, and the sections that are not part of the process image.

#ifndef LINKER_REWRITE_WRITE_SECTIONS_H
#define LINKER_REWRITE_WRITE_SECTIONS_H

#include <map>

#include "segment.h"

namespace profld {

// How many bytes of the original file, from its start, the output needs. Symbols and section headers after them are
// left out, because they are written anew.
uint64_t kept_file_size(const Image& image);

// Where in the original file its payload starts: what stands after all that its headers name, to the end of the file.
// The file's size if it has none. See sections.cc.
FileOffset payload_start(const Image& image);

// The original's .symtab, or null if it has none that can be used.
const Section* symbol_table(const Image& image);

class SectionTable {
 public:
  SectionTable(const Image& image, const Placement& placement, const SectionEdits& edits);

  // Index of the section of the process image that covers a new address; 0 if there is none.
  unsigned index_at(NewAddr address) const;
  // For an original section that moved: the index of the section that covers its old bytes. nullopt if it did not move,
  // or had no bytes in the file.
  std::optional<unsigned> old_place(unsigned index) const;
  const Elf64_Shdr& header(unsigned index) const { return headers_[index]; }

  // Appends to .strtab, .shstrtab or a string table that was added. Returns the offset of the new string.
  uint32_t add_string(unsigned table, const std::string& s);
  // Sets new contents for a section, or adds a section (offset and name are filled in).
  Elf64_Shdr& replace(unsigned index, Bytes contents);
  unsigned add(const std::string& name, const Elf64_Shdr& header, Bytes contents);

  // How many bytes write() will return.
  uint64_t size() const;
  // Returns all new contents and the table itself, which will lie in the file at `at`, a multiple of 8. Enters the
  // table in the ELF header `header`. To be called last.
  Bytes write(FileOffset at, Elf64_Ehdr& header);

 private:
  unsigned add_header(const std::string& name, const Elf64_Shdr& header);

  std::vector<Elf64_Shdr> headers_;
  std::map<unsigned, Bytes> contents_;  // by index, of sections that are written anew
  std::map<unsigned, unsigned> old_places_;
  unsigned names_;  // index of .shstrtab
};

}  // namespace profld

#endif
