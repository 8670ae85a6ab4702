// The notes that tell the output from the original: its own build-id, and the note "prof" that marks it as rewritten.

#ifndef LINKER_REWRITE_WRITE_NEW_NOTES_H
#define LINKER_REWRITE_WRITE_NEW_NOTES_H

#include "segment.h"

namespace profld {

class NewNotes {
 public:
  explicit NewNotes(const Image& image);

  void reserve(Segment& read_only);
  void write(Segment& read_only, SectionEdits& edits) const;
  Elf64_Phdr header(const Placement& placement) const;  // a PT_NOTE for the new notes

  // Where in the output the build-id will be written, and its size in bytes. It is computed from the output without
  // these bytes.
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
