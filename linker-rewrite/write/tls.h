// Room for the runtime's thread-local word in a static program.

#ifndef LINKER_REWRITE_WRITE_TLS_H
#define LINKER_REWRITE_WRITE_TLS_H

#include "dynamic.h"
#include "segment.h"

namespace profld {

class ThreadLocalRoom {
 public:
  // `runtime` is the runtime's PT_TLS. Throws Error if the program's thread-local storage is of an unknown kind.
  ThreadLocalRoom(const Image& image, const Elf64_Phdr& runtime);

  uint64_t size() const { return size_; }  // bytes; symbols of thread-local variables move by it
  // Of the runtime's first byte, from the thread pointer.
  int64_t offset() const;

  // Step one: room in the new segments.
  void reserve_relocations(Segment& read_only);  // throws Error if the dynamic section has no room for them
  void reserve_image(Segment& writable);         // ends at a multiple of 8
  // Step two. `file` is the original with all changes to its bytes; its relocations are changed further.
  void write(Bytes& file, Segment& read_only, Segment& writable, SectionEdits& edits) const;
  Elf64_Phdr header(const Placement& placement) const;  // the new PT_TLS

 private:
  bool in_old_image(OldAddr a) const { return a.value - old_.p_vaddr < old_.p_filesz; }
  void retarget_relocations(Bytes& file) const;
  DynamicSection dynamic_section() const;
  void add_relocations(Bytes& file, Segment& read_only, SectionEdits& edits) const;
  uint64_t moved(OldAddr a) const { return image_start_.value + size_ + (a.value - old_.p_vaddr); }

  const Image& image_;
  Elf64_Phdr old_{};  // all zero if the program has none
  uint64_t align_;
  uint64_t old_block_;  // bytes from the old image's first byte to the thread pointer
  uint64_t size_;
  NewAddr image_start_, image_end_;
  uint64_t padding_ = 0;            // bytes after image_end_
  std::vector<Relocation> packed_;  // relocations in .relr.dyn whose word moves
  NewAddr rela_place_;              // of the longer .rela.dyn that they need
  uint64_t rela_size_ = 0;          // bytes
};

}  // namespace profld

#endif
