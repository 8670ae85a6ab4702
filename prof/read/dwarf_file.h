// The debug information (DWARF) of a file, opened for libdw, and what libdw would pass over without a word.
//
// The problem. To libdw a section that it cannot unpack is not there, and a file without a readable section has no
// debug information. Views would show less, and nobody knew why.
//
// - Sections compressed by zstd (objcopy --compress-debug-sections=zstd, gcc -gz=zstd) are more than the libelf of
//   Debian 12 can unpack. Where a file has one, libdw is given another file in their place, in memory: all sections of
//   debug information, and those unpacked.
// - With -gsplit-dwarf the file has the line tables and skeletons of its compiled files; their functions are in files
//   of their own (.dwo). libdw finds those beside the file and where the compiler wrote them. Files .dwp, which pack
//   many of these into one, it cannot read.
//
// What cannot be read is said by problem().

#ifndef PROF_READ_DWARF_FILE_H
#define PROF_READ_DWARF_FILE_H

#include <elfutils/libdw.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "elf_file.h"

namespace prof {

// Whether a file has debug information of its own, in whatever form.
bool has_debug_info(const ElfFile& file);

// What dwz moved into another file: the file's name, and its build-id (raw bytes); empty if it moved nothing.
struct DwzLink {
  std::string name, build_id;
};

class DwarfFile {
 public:
  // `file` must outlive this.
  explicit DwarfFile(const ElfFile& file);
  DwarfFile(const DwarfFile&) = delete;
  ~DwarfFile();

  // Null if there is none that can be read.
  Dwarf* get() const { return dwarf_; }

  DwzLink dwz_link() const;
  // Before anything is read, the file of dwz_link, which must outlive this object. Without it libdw would look for the
  // file by itself, and use whatever it finds.
  void set_dwz_file(const ElfFile& file);

  // Calls `use` with the entry of each unit, until it returns false.
  void each_unit(const std::function<bool(Dwarf_Die& unit)>& use);

  // Whether it has line tables only, and refers to other files for the rest.
  bool is_split();

  // The entry of a compiled file that has its functions: `unit`, or if that is a skeleton the one in the .dwo file, or
  // none if that is not there, or is another's.
  std::optional<Dwarf_Die> unit_with_functions(const Dwarf_Die& unit);

  // Of what was asked for so far: why it cannot be read, or not all of it. "" if it can, or if there is nothing.
  std::string problem() const;

 private:
  void unpack_zstd(const ElfFile& file);

  std::string path_;
  std::string unpacked_;  // an ELF file; empty if none was needed
  Elf* elf_ = nullptr;    // of that
  Dwarf* dwarf_ = nullptr;
  bool may_be_split_ = false;
  std::unique_ptr<DwarfFile> dwz_;
  std::string problem_;
  std::set<std::string> missing_;  // .dwo files
};

}  // namespace prof

#endif
