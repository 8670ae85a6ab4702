// The notes of a program.

#ifndef LINKER_REWRITE_ELF_NOTES_H
#define LINKER_REWRITE_ELF_NOTES_H

#include <functional>

#include "image.h"

namespace profld {

struct Note {
  uint32_t type;
  ByteView owner;  // with its NUL
  ByteView descriptor;
  bool is_from(const char* name) const;  // whether that is the owner
};

// Calls `f` for each note of a section or segment until it returns true; says whether it did. What is behind a damaged
// note is left out. `align`: 4 or 8 bytes.
bool each_note(ByteView notes, uint64_t align, const std::function<bool(const Note&)>& f);

// The same for each note of the image that is loaded.
void each_loaded_note(const Image& image, const std::function<bool(const Note&)>& f);

// True if profld wrote this file.
bool is_rewritten(const Image& image);

}  // namespace profld

#endif
