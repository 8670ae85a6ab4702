// Reading notes, and those that tell the output from the original: its own build-id, and the note "prof" that marks it
// as rewritten.

#ifndef LINKER_REWRITE_ELF_NOTES_H
#define LINKER_REWRITE_ELF_NOTES_H

#include <functional>

#include "linker-rewrite/write/segment.h"

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

// True if profld wrote this file.
bool is_rewritten(const Image& image);

class Notes {
 public:
  explicit Notes(const Image& image);

  void reserve(Segment& read_only);
  void write(Segment& read_only, SectionEdits& edits) const;
  Elf64_Phdr header(const Placement& placement) const;  // a PT_NOTE for the new notes

  // Where in the output the build-id is to be written, and its size in bytes; until then it is not part of what it is
  // computed from.
  FileOffset build_id_at(const Placement& placement) const;
  uint64_t build_id_size() const { return id_size_; }

 private:
  Bytes new_notes_;                   // their bytes
  std::optional<FileOffset> old_id_;  // the original's build-id
  uint64_t id_size_;
  NewAddr place_;
};

}  // namespace profld

#endif
