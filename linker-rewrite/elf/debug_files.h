// Separate debug files: where the symbols and the debug information may be that were taken out of a program or library.
// profld and prof both look for them with this, and so find the same names.
//
// A stripped file tells in up to three ways where they went:
//
//   its build-id, a note. The debug file has the same, and lies at FOLDER/.build-id/ab/cdef0123.debug, where Debian's
//   -dbg and -dbgsym packages put it, or in the cache of debuginfod's client at CACHE/abcdef0123/debuginfo. Only the
//   cache is looked into: nothing here asks a network for anything.
//
//   .gnu_debuglink, a section with the name of the debug file and the CRC-32 of its bytes. It is looked for beside the
//   program, in .debug/ there, and in FOLDER followed by the program's own folder. gdb(1) looks in the same places.
//
//   .gnu_debugdata, a section that holds a small ELF file, packed by xz: no more than symbols of functions
//   (MiniDebugInfo, as Fedora has it).
//
// Any of these files may be another program's. Whoever uses one first compares build-ids, or, if one of the two files
// has none, the CRC.

#ifndef LINKER_REWRITE_ELF_DEBUG_FILES_H
#define LINKER_REWRITE_ELF_DEBUG_FILES_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace profld {

// What a file says of its debug file.
struct DebugLink {
  std::string build_id;  // raw bytes; empty if it has none
  std::string name;      // of .gnu_debuglink; empty if there is no such section
  uint32_t crc = 0;
};

// Sets `name` and `crc` from the bytes of a section .gnu_debuglink; leaves them as they are if it is damaged.
void read_debuglink(std::string_view section, DebugLink& link);

// The folders that are searched besides those of the user: the last ones.
inline constexpr char kDebugFolder[] = "/usr/lib/debug";

struct DebugFilePlace {
  std::string path;
  bool is_by_name;  // by .gnu_debuglink, whose CRC the file must have unless its build-id is the right one
};

// Where the debug file may be, the likeliest place first. `folders`: such as /usr/lib/debug, which need not be named.
// `beside`: the folders in which the program or library lies.
std::vector<DebugFilePlace> places_of_debug_file(const DebugLink& link, std::vector<std::string> folders,
                                                 const std::vector<std::string>& beside);

// Whether the bytes of the file have this CRC-32; false if it cannot be read.
bool has_crc(const std::string& path, uint32_t crc);

// The bytes that xz packed; none if they are damaged, or so many that no symbols of a program can be meant.
std::optional<std::string> unpack_xz(std::string_view packed);

}  // namespace profld

#endif
