#include "notes.h"

#include <algorithm>
#include <cstring>

#include "libprof/format/map.h"

namespace profld {

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

void each_loaded_note(const Image& image, const std::function<bool(const Note&)>& f) {
  for (const Elf64_Phdr& s : image.segments())
    if (s.p_type == PT_NOTE && each_note(image.file().subspan(s.p_offset, s.p_filesz), s.p_align == 8 ? 8 : 4, f))
      return;
}

bool is_rewritten(const Image& image) {
  bool found = false;
  each_loaded_note(image, [&](const Note& n) { return found = n.is_from(prof_format::kNoteOwner); });
  return found;
}

}  // namespace profld
