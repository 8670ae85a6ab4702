// What prof wants to know from an ELF file: its build-id, whether profld rewrote it, and the names of its functions.
//
// The file may be damaged in any way: libelf checks its own bounds, and what it cannot find is taken to be absent.
//
// profld's image (linker-rewrite/elf/image.h) is no reader for prof: it refuses what cannot run, and a file of stripped
// symbols cannot; and it maps the file, so that a file that somebody truncates meanwhile is a SIGBUS. What both need,
// they share: notes, and with them build-ids.

#ifndef PROF_READ_ELF_FILE_H
#define PROF_READ_ELF_FILE_H

#include <gelf.h>
#include <libelf.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/format/map.h"
#include "linker-rewrite/elf/debug_files.h"

namespace prof {

struct Symbol {
  uint64_t address = 0;  // link-time
  uint64_t size = 0;     // bytes; 0 if unknown
  const char* name = nullptr;
  unsigned char type = 0, binding = 0;  // STT_*, STB_*
  bool is_old_version = false;          // NAME@VERSION, for programs that were linked long ago; not NAME@@VERSION
};

class ElfFile {
 public:
  // Throws Error if `path` cannot be read or is not a 64-bit little-endian ELF file.
  explicit ElfFile(const std::string& path);
  // A file that is another one's section, .gnu_debugdata. `name`: what errors call it.
  ElfFile(const std::string& name, std::string bytes);
  ElfFile(ElfFile&&) noexcept;
  ~ElfFile();

  const std::string& path() const { return path_; }
  const std::string& build_id() const { return build_id_; }  // raw bytes; empty if it has none

  // profld wrote this file: it holds a map of copies. `original_build_id` is empty if the original had none.
  bool is_rewritten() const { return rewritten_; }
  const std::vector<prof_format::MapEntry>& map() const;  // sorted by `copy`
  const std::string& original_build_id() const { return original_build_id_; }
  // Names of functions of other files that it calls, by what stands for them in the map.
  const std::map<uint64_t, std::string>& imports() const { return imports_; }

  // All of its functions have names, not only those that other files use: it, or its original, was not stripped.
  bool has_symtab() const;

  // Where symbols and debug information may be that it lacks. The build-id is the original's.
  profld::DebugLink debug_link() const;

  // The bytes of the section of this name, as they are in the file; empty if it has none. They live as long as this
  // object.
  std::string_view section(const char* name) const;
  bool has_section(const char* name) const { return find_section(name) != nullptr; }
  // It says that there is such a section, and does not have its bytes: it is a skeleton, or a debug file.
  bool lacks_bytes_of(const char* name) const;
  // How many bytes it has, unpacked if they are compressed.
  uint64_t section_size(const char* name) const;

  // For libdw. It lives as long as this object.
  Elf* elf() const { return elf_; }

  // Symbols that may name code, of .symtab and .dynsym, in file order. The names live as long as this object. They are
  // read when they are first asked for: a large program has a million, and most of what is asked of files is not their
  // names.
  const std::vector<Symbol>& symbols() const { return names().symbols; }

  // Names of functions that it has other files define, of .dynsym, without versions.
  const std::set<std::string, std::less<>>& undefined_names() const { return names().undefined; }

  // Where functions and parts of functions begin, in order of address, as the unwind tables tell also of files without
  // symbols (.eh_frame_hdr); empty if they do not tell.
  std::vector<uint64_t> unwind_starts() const;

  // The link-time address of what is loaded from an offset in the file, if anything that may be run is.
  std::optional<uint64_t> address_at(uint64_t offset) const;

  // The offset in the file from which an address is loaded, if anything that may be run is there.
  std::optional<uint64_t> offset_of(uint64_t address) const;

  // A dynamic linker runs it.
  bool is_dynamic() const { return !interpreter().empty(); }
  // The path of that dynamic linker; empty if it is static, or a library.
  std::string interpreter() const;
  // The folders in which the dynamic linker searches for what it needs, DT_RUNPATH or without it DT_RPATH, as they are
  // written.
  std::vector<std::string> search_path() const;

  // Bytes of its thread-local variables, with what may be needed to align them, if its code reaches some of them by a
  // constant distance from the thread pointer (DF_STATIC_TLS); else 0.
  uint64_t static_tls() const;

  // Where that section's bytes are in the file; none if it has none.
  struct Range {
    uint64_t offset = 0, size = 0;
  };
  std::optional<Range> section_range(const char* name) const;

  // The file's bytes from this offset on; empty, or false, if it has not as many.
  std::string bytes_at(uint64_t offset, uint64_t size) const;
  bool read_bytes(void* to, uint64_t offset, uint64_t size) const;
  // From there to the first zero, or as many bytes.
  std::string text_at(uint64_t offset, uint64_t most) const;

  // The name by which other files say that they need this one, DT_SONAME; empty if it has none.
  const std::string& soname() const { return soname_; }

  // A shared library, and no program. (Not all can be told from a program.)
  bool is_library() const { return is_shared_object_ && !is_program_ && !soname_.empty() && !is_dynamic(); }

 private:
  struct Names {
    std::vector<Symbol> symbols;
    std::set<std::string, std::less<>> undefined;
  };

  void read();
  const Names& names() const;
  Elf_Scn* find_header(const char* name, bool with_bytes) const;
  Elf_Scn* find_section(const char* name) const { return find_header(name, true); }
  std::vector<GElf_Phdr> headers() const;
  std::vector<Elf64_Dyn> dynamic_entries() const;
  std::vector<std::string> dynamic_strings(int64_t tag) const;
  void read_notes(const Elf_Data* data, uint64_t align);
  void read_segment_notes();
  void read_dynamic();
  bool is_map(const GElf_Shdr& section) const;
  void read_imports(Elf_Scn* section);
  void read_symbols(Elf_Scn* section, const Elf_Data* versions, Names& names) const;

  std::string path_;
  std::unique_ptr<std::string> bytes_;  // of a file in memory
  int fd_ = -1;
  Elf* elf_ = nullptr;
  bool rewritten_ = false;
  Elf_Scn* symtab_ = nullptr;
  bool is_shared_object_ = false, is_program_ = false;  // ET_DYN; DF_1_PIE
  std::string soname_;
  std::string build_id_;
  std::string original_build_id_;
  std::map<uint64_t, std::string> imports_;
  // Null until they are asked for.
  mutable std::unique_ptr<std::vector<prof_format::MapEntry>> map_;
  mutable std::unique_ptr<Names> names_;
};

// Whether two files may be the same by their build-ids. Nothing speaks against it if one of them has none.
bool may_be_same(const std::string& build_id, const std::string& other);

// The first bytes of a file's section of this name, `most` at most, without reading the rest of the file; empty if
// there is none, or if it cannot be read.
std::string start_of_section(const std::string& path, std::string_view name, size_t most);

// The build-id of a file; empty if it has none or cannot be read.
std::string build_id_of(const std::string& path);

// A build-id for people: "(none)" if it has no bytes.
std::string build_id_text(const std::string& bytes);

}  // namespace prof

#endif
