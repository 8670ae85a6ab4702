// The file with the symbols and the debug information that were taken out of a program or library.

#ifndef PROF_MODEL_PROGRAM_DEBUG_FILES_H
#define PROF_MODEL_PROGRAM_DEBUG_FILES_H

#include <optional>
#include <string>
#include <vector>

#include "prof/read/dwarf_file.h"
#include "prof/read/elf_file.h"

namespace prof {

// Where to look.
struct DebugSearch {
  std::vector<std::string> folders = {};  // before /usr/lib/debug, and such as that
  std::vector<std::string> beside = {};   // where originals lie, besides where their copies do
};

// What a search came to.
struct DebugFile {
  std::optional<ElfFile> file;
  std::string expected;  // where it would be, likeliest; empty if the program does not say how to find it
};

// The debug file of `program`, which may be a copy that profld made; that of its original is meant. A file that is
// another's or cannot be read is passed over, and a remark says so.
DebugFile find_debug_file(const ElfFile& program, const DebugSearch& search, std::vector<std::string>& remarks);

// The file to which dwz moved a part of the debug information of `file`; none unless it has the right build-id. If
// `file` is a copy that profld made, it may lie beside the original.
std::optional<ElfFile> find_dwz_file(const ElfFile& file, const DwzLink& link, const DebugSearch& search);

// What to tell of one whose file of dwz's is not there.
std::string part_is_missing(const DwzLink& link);

// The symbols that the file has packed in itself, .gnu_debugdata; none if it has none, or they are damaged.
std::optional<ElfFile> packed_symbols(const ElfFile& program);

}  // namespace prof

#endif
