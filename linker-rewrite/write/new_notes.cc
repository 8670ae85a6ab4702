// The build-id identifies a file's contents, so the output needs one of its own: otherwise a debugger or a cache would
// take the output for the original. It is written over the original's, in place. So no tool can find the old one,
// whether it looks at program headers, section headers, or memory. A program without build-id gets one. The original's
// is kept in the note "prof".

#include "new_notes.h"

#include <cstring>

#include "libprof/format/map.h"
#include "linker-rewrite/elf/notes.h"

namespace profld {

namespace {

Bytes make_note(const char* owner, uint32_t type, ByteView descriptor) {
  uint32_t owner_size = uint32_t(std::strlen(owner) + 1);
  Bytes out(sizeof(Elf64_Nhdr));
  put(out, 0, Elf64_Nhdr{owner_size, uint32_t(descriptor.size()), type});
  append_bytes(out, ByteView(reinterpret_cast<const uint8_t*>(owner), owner_size));
  out.resize(align_up(out.size(), 4));
  append_bytes(out, descriptor);
  out.resize(align_up(out.size(), 4));
  return out;
}

constexpr uint64_t kIdSize = 20;                                   // of a build-id that we add
constexpr uint64_t kIdOffset = sizeof(Elf64_Nhdr) + sizeof "GNU";  // in its note

}  // namespace

NewNotes::NewNotes(const Image& image) : id_size_(kIdSize) {
  ByteView old_id;
  each_loaded_note(image, [&](const Note& n) {
    if (n.is_build_id()) old_id = n.descriptor;
    return n.is_build_id();
  });
  if (!old_id.empty()) {
    old_id_ = FileOffset(uint64_t(old_id.data() - image.file().data()));
    id_size_ = old_id.size();
  } else {
    new_notes_ = make_note(ELF_NOTE_GNU, NT_GNU_BUILD_ID, Bytes(kIdSize));
  }
  append_bytes(new_notes_, make_note(prof_format::kNoteOwner, prof_format::kNoteOriginalBuildId, old_id));
}

void NewNotes::reserve(Segment& read_only) { place_ = read_only.reserve(new_notes_.size(), 4); }

void NewNotes::write(Segment& read_only, SectionEdits& edits) const {
  read_only.write(place_, new_notes_);
  uint64_t id_note = old_id_ ? 0 : kIdOffset + kIdSize;
  if (id_note) edits.add(".note.gnu.build-id", SHT_NOTE, 0, place_, id_note, 4);
  edits.add(prof_format::kNoteSection, SHT_NOTE, 0, place_ + id_note, new_notes_.size() - id_note, 4);
}

Elf64_Phdr NewNotes::header(const Placement& placement) const {
  Elf64_Phdr h{};
  h.p_type = PT_NOTE;
  h.p_flags = PF_R;
  h.p_offset = placement.file_offset(place_).value;
  h.p_vaddr = h.p_paddr = place_.value;
  h.p_filesz = h.p_memsz = new_notes_.size();
  h.p_align = 4;
  return h;
}

FileOffset NewNotes::build_id_at(const Placement& placement) const {
  return old_id_ ? *old_id_ : placement.file_offset(place_ + kIdOffset);
}

}  // namespace profld
