// The build-id names a file's contents, so the output needs one of its own: else a debugger or a cache takes it for the
// original. It is written over the original's, in place: so no tool can find the old one, whether it goes by program
// headers, by section headers, or by memory. A program without build-id gets one. The original's is kept in the note
// "prof".

#include "notes.h"

#include <algorithm>
#include <cstring>

#include "libprof/map.h"

namespace profld {

namespace {

// Calls `f` for each note of the image that is loaded, until it returns true.
void each_loaded_note(const Image& image, const std::function<bool(const Note&)>& f) {
  for (const Elf64_Phdr& s : image.segments())
    if (s.p_type == PT_NOTE && each_note(image.file().subspan(s.p_offset, s.p_filesz), s.p_align == 8 ? 8 : 4, f))
      return;
}

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

bool each_note(ByteView notes, uint64_t align, const std::function<bool(const Note&)>& f) {
  Reader r(notes, "notes");
  auto skip_padding = [&] { r.skip(std::min(align_up(r.position(), align) - r.position(), r.remaining())); };
  while (r.remaining() >= sizeof(Elf64_Nhdr)) {
    auto h = r.read<Elf64_Nhdr>();
    if (h.n_namesz > r.remaining()) break;
    Note note{h.n_type, r.take(h.n_namesz), {}};
    skip_padding();
    if (h.n_descsz > r.remaining()) break;
    note.descriptor = r.take(h.n_descsz);
    skip_padding();
    if (f(note)) return true;
  }
  return false;
}

bool Note::is_from(const char* name) const {
  const size_t size = std::strlen(name) + 1;
  return owner.size() == size && std::memcmp(owner.data(), name, size) == 0;
}

bool is_rewritten(const Image& image) {
  bool found = false;
  each_loaded_note(image, [&](const Note& n) { return found = n.is_from(prof_format::kNoteOwner); });
  return found;
}

Notes::Notes(const Image& image) : id_size_(kIdSize) {
  ByteView old_id;
  each_loaded_note(image, [&](const Note& n) {
    bool found = n.type == NT_GNU_BUILD_ID && n.is_from(ELF_NOTE_GNU) && !n.descriptor.empty();
    if (found) old_id = n.descriptor;
    return found;
  });
  if (!old_id.empty()) {
    old_id_ = FileOffset(uint64_t(old_id.data() - image.file().data()));
    id_size_ = old_id.size();
  } else {
    new_notes_ = make_note(ELF_NOTE_GNU, NT_GNU_BUILD_ID, Bytes(kIdSize));
  }
  append_bytes(new_notes_, make_note(prof_format::kNoteOwner, prof_format::kNoteOriginalBuildId, old_id));
}

void Notes::reserve(Segment& read_only) { place_ = read_only.reserve(new_notes_.size(), 4); }

void Notes::write(Segment& read_only, SectionEdits& edits) const {
  read_only.write(place_, new_notes_);
  uint64_t id_note = old_id_ ? 0 : kIdOffset + kIdSize;
  if (id_note) edits.add(".note.gnu.build-id", SHT_NOTE, 0, place_, id_note, 4);
  edits.add(prof_format::kNoteSection, SHT_NOTE, 0, place_ + id_note, new_notes_.size() - id_note, 4);
}

Elf64_Phdr Notes::header(const Placement& placement) const {
  Elf64_Phdr h{};
  h.p_type = PT_NOTE;
  h.p_flags = PF_R;
  h.p_offset = placement.file_offset(place_).value;
  h.p_vaddr = h.p_paddr = place_.value;
  h.p_filesz = h.p_memsz = new_notes_.size();
  h.p_align = 4;
  return h;
}

FileOffset Notes::build_id_at(const Placement& placement) const {
  return old_id_ ? *old_id_ : placement.file_offset(place_ + kIdOffset);
}

}  // namespace profld
