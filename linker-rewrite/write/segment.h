// The new loadable segments and where they lie, in memory and in the file.

#ifndef LINKER_REWRITE_WRITE_SEGMENT_H
#define LINKER_REWRITE_WRITE_SEGMENT_H

#include "linker-rewrite/elf/image.h"

namespace profld {

inline constexpr uint64_t kPage = 4096;  // bytes: alignment of new segments

// The start of everything new: the first address and its place in the file. All new segments keep this distance.
struct Placement {
  NewAddr start;
  FileOffset offset;
  FileOffset file_offset(NewAddr a) const { return offset + (a - start); }
};

enum class Place { after, in_front };

// Decides where the new segments begin: after the image in memory or in front of it (of a program with fixed addresses;
// whether they have room is seen when they are complete), and after the first `kept` bytes of the file. Throws Error if
// the program's own segments do not allow it.
Placement place_new_segments(const Image& image, uint64_t kept, Place place = Place::after);

// One PT_LOAD under construction. First its parts are reserved, one after the other; then, in any order, filled.
class Segment {
 public:
  Segment() = default;
  Segment(uint32_t flags, NewAddr start) : flags_(flags), start_(start) {}

  uint32_t flags() const { return flags_; }
  NewAddr start() const { return start_; }
  NewAddr end() const { return start_ + bytes_.size(); }
  NewAddr next_page() const { return NewAddr(align_up(end().value, kPage)); }
  bool empty() const { return bytes_.empty(); }
  ByteView bytes() const { return bytes_; }

  void expect(uint64_t size) { bytes_.reserve(size); }   // total bytes, so that they need not be moved when it grows
  NewAddr reserve(uint64_t size, uint64_t align);        // zeros until written
  void write(NewAddr at, ByteView bytes);                // inside what was reserved
  NewAddr append(ByteView bytes, uint64_t align);        // reserve and write
  void fill(Bytes bytes) { bytes_ = std::move(bytes); }  // all of it, instead
  Bytes take() { return std::move(bytes_); }             // leaves it empty

  Elf64_Phdr header(const Placement& placement) const;

 private:
  uint32_t flags_ = 0;  // PF_*
  NewAddr start_;
  Bytes bytes_;
};

// Changes to section headers. Offsets and names are filled in when the table is written.
struct SectionEdits {
  struct Moved {
    unsigned index;  // of the original header, which keeps its place in the table
    NewAddr address;
    uint64_t size;
  };
  struct Added {
    std::string name;
    Elf64_Shdr header;
  };
  std::vector<Moved> moved;
  std::vector<Added> added;

  void move(const Section* section, NewAddr address, uint64_t size) {
    if (section) moved.push_back({section->index, address, size});
  }
  // A section of the process image. `flags`: SHF_* besides SHF_ALLOC.
  void add(std::string name, uint32_t type, uint64_t flags, NewAddr address, uint64_t size, uint64_t align);
};

// The section of the image that starts at `address` and has that type, or null.
const Section* section_at(const Image& image, uint64_t address, uint32_t type);

// Moves the section that DT_RELA stands for, or adds it.
void edit_relocation_section(const Image& image, NewAddr address, uint64_t size, SectionEdits& edits);

// `size` bytes that the original maps at `address`, from `file`, a changed copy of the original's bytes. Throws Error
// ("damaged WHAT") if the file does not have them.
ByteView mapped_bytes(const Image& image, ByteView file, OldAddr address, uint64_t size, const char* what);

}  // namespace profld

#endif
