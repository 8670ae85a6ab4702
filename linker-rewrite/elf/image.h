// The original program, read once and never changed: segments, sections, symbols, relocations, and the bytes at an
// address. All later stages ask the image; none of them looks at the file.
//
// Program headers are the truth of what runs; section headers and symbols are hints that may be missing (stripped).

#ifndef LINKER_REWRITE_ELF_IMAGE_H
#define LINKER_REWRITE_ELF_IMAGE_H

#include <elf.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linker-rewrite/base/address.h"
#include "linker-rewrite/base/bytes.h"
#include "notes.h"

namespace profld {

enum class LinkType { pie, non_pie, static_pie, static_non_pie, shared_library };

struct Section {
  unsigned index;  // in the section header table
  std::string name;
  Elf64_Shdr header;
};

struct Symbol {
  std::string name;
  OldAddr address;
  uint64_t size;
  uint8_t type;      // STT_*
  uint8_t binding;   // STB_*
  uint16_t section;  // SHN_* or section index
};

// One entry of .rela.dyn or .rela.plt, or one relocated word of .relr.dyn.
struct Relocation {
  OldAddr where;
  uint32_t type;    // R_X86_64_*
  uint32_t symbol;  // index in .dynsym, 0 if none
  // For R_X86_64_RELATIVE and IRELATIVE the address they produce (for RELR read from the word itself).
  int64_t addend;
  // Where `addend` is stored in the file: the r_addend field, or the relocated word itself (RELR).
  FileOffset addend_at;
  bool packed;  // from RELR
};

class Image {
 public:
  Image() = default;  // an empty one
  // Reads and checks a file. Throws Error if it is no x86-64 ELF program or library, or if it is not complete.
  static Image open(const std::string& path);
  static Image from_bytes(Bytes file);

  // With zeros at its end, if a segment goes on there to the end of the page, as it has in memory.
  ByteView file() const { return file_; }
  // Gives back the memory that the file's bytes take. Bytes that are looked at later are read from the file again.
  void release() const;
  // When functions are copied in their order, this is how many to copy between two calls of release(): the copies take
  // the memory that is given back.
  static constexpr size_t kFunctionsPerRelease = 4096;
  const Elf64_Ehdr& header() const { return header_; }
  LinkType link_type() const { return link_type_; }
  bool is_static() const { return link_type_ == LinkType::static_pie || link_type_ == LinkType::static_non_pie; }
  bool is_position_independent() const { return header_.e_type == ET_DYN; }

  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  const Elf64_Phdr* segment(uint32_t type) const;  // the first of that type, or null
  // None if the file does not have all that the section headers promise: it runs without them.
  const std::vector<Section>& sections() const { return sections_; }
  const Section* section(const std::string& name) const;              // the first of that name, or null
  const std::vector<Elf64_Dyn>& dynamic() const { return dynamic_; }  // up to and without DT_NULL
  std::optional<uint64_t> dynamic_value(int64_t tag) const;

  // Defined and undefined symbols of .symtab and .dynsym, in the order of the file (index 0 included).
  const std::vector<Symbol>& symbols() const { return symbols_; }
  const std::vector<Symbol>& dynamic_symbols() const { return dynamic_symbols_; }
  // All dynamic relocations: .rela.dyn (DT_RELA), .rela.plt (DT_JMPREL), DT_RELR, and the IRELATIVE ones of static
  // programs.
  const std::vector<Relocation>& relocations() const { return relocations_; }
  const Relocation* relocation_at(OldAddr where) const;  // the first of those that change this word, or null
  // The places of those that begin in `range` of the code, or a few bytes in front of it, ascending, and their indexes
  // in relocations(). Mostly there are none in all of the code.
  std::span<const std::pair<OldAddr, uint32_t>> relocations_in(OldRange range) const;
  // The dynamic linker makes all segments writable while it relocates.
  bool has_text_relocations() const;

  // Bytes as they are in the file at [address, address + size); nullopt if any of them is not in the file (bss).
  std::optional<ByteView> bytes(OldAddr address, uint64_t size) const;
  // From `address` to the end of what the file has of its segment, and of those that follow it both in memory and in
  // the file without a gap; empty if it is not mapped.
  ByteView bytes_from(OldAddr address) const;
  std::optional<FileOffset> file_offset(OldAddr address) const;
  // Where instructions may be: the file bytes of executable segments, without the sections in them that hold data (some
  // linkers put read-only data into the segment of the code). Ascending.
  const std::vector<OldRange>& code() const { return code_; }
  bool is_code(OldAddr address) const;
  bool is_writable(OldAddr address) const;  // in a writable PT_LOAD, RELRO included (bss too)

  OldAddr entry() const { return OldAddr(header_.e_entry); }
  OldRange span() const { return span_; }  // first to last mapped byte, bss included
  Bytes build_id() const;                  // empty if it has none

 private:
  Image(std::shared_ptr<const void> owner, ByteView file);
  void read_segments();
  void read_sections();
  void find_code();
  void read_symbols();
  void read_dynamic();
  void read_relocations();
  void sort_relocations();
  void append_rela(OldAddr table, uint64_t size);

  std::shared_ptr<const void> owner_;  // of the file's bytes
  bool mapped_ = false;                // not copied
  ByteView file_;
  Elf64_Ehdr header_{};
  LinkType link_type_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Section> sections_;
  // What the file has of the PT_LOAD segments; `bytes` go on where the next ones do.
  struct Loaded {
    uint64_t start, size;
    ByteView bytes;
  };
  std::vector<Loaded> loaded_;
  std::vector<OldRange> code_;
  std::vector<Elf64_Dyn> dynamic_;
  std::vector<Symbol> symbols_;
  std::vector<Symbol> dynamic_symbols_;
  std::vector<Relocation> relocations_;
  std::vector<std::pair<OldAddr, uint32_t>> relocations_by_address_;  // and their indexes
  size_t before_code_ = 0, in_code_ = 0;                              // how many of them are
  OldRange span_;
};

// Calls `f` for each note of the image that is loaded until it returns true.
void each_loaded_note(const Image& image, const std::function<bool(const Note&)>& f);

// True if profld wrote this file.
bool is_rewritten(const Image& image);

}  // namespace profld

#endif
