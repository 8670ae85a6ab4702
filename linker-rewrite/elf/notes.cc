#include "notes.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "libprof/format/map.h"
#include "linker-rewrite/base/address.h"

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

bool Note::is_build_id() const { return type == NT_GNU_BUILD_ID && is_from(ELF_NOTE_GNU) && !descriptor.empty(); }

bool Note::is_original_build_id() const {
  return type == prof_format::kNoteOriginalBuildId && is_from(prof_format::kNoteOwner);
}

}  // namespace profld
