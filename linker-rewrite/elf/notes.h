// Notes of ELF files, from the bytes of a section or segment of them. profld and prof both read notes with this, and so
// agree on what the build-id of a file is, and on what profld wrote.

#ifndef LINKER_REWRITE_ELF_NOTES_H
#define LINKER_REWRITE_ELF_NOTES_H

#include <functional>
#include <string>
#include <string_view>

#include "linker-rewrite/base/bytes.h"

namespace profld {

struct Note {
  uint32_t type;
  ByteView owner;  // with its NUL
  ByteView descriptor;
  bool is_from(const char* name) const;  // whether that is the owner
  bool is_build_id() const;              // one that is not empty; the descriptor is the build-id
  bool is_original_build_id() const;     // profld's: the descriptor is the original's build-id, or empty
};

// Calls `f` for each note of a section or segment until it returns true. Returns whether it did. Notes after a damaged
// one are left out. `align`: 4 or 8 bytes.
bool each_note(ByteView notes, uint64_t align, const std::function<bool(const Note&)>& f);

}  // namespace profld

#endif
