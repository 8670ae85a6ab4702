// A static program has one block of thread-local storage per thread, whose size is fixed when it is linked: libc copies
// the image that PT_TLS describes to just below the thread pointer, and code reaches a variable at a constant negative
// distance from there. The runtime needs one word per thread in it, without moving anything that has its distance
// already.
//
//      room       old image (.tdata)      .tbss
//   |--------|------------------------|----------|.....|
//   new start  old start                               thread pointer, at old start + roundup(old size, p_align)
//
// So room is prepended, for the word and a mark in front of it (libprof/life/thread_pointer.cc tells what that is for).
// The image starts earlier by `size`, a multiple of p_align, so the end stays where it was. Both glibc and musl place
// the block like this. Offsets that count from the block's start rather than from the thread pointer grow by `size`:
//
// - symbols of type TLS (symtab.cc);
// - dynamic relocations against module offsets (DTPOFF64, TPOFF64, TLSDESC; the word after a DTPMOD64 without symbol).
//   When linkers make a program they turn all of these into distances from the thread pointer (local-exec). So a static
//   PIE hardly ever has any, and a static non-PIE has none: linkers refuse code that they cannot convert;
// - DWARF's location expressions, which only a debugger that knows the thread library of a static program evaluates.
//   They stay.
//
// The image moves to a new segment, as there is no room before it. It may contain addresses that a static PIE relocates
// when it starts: entries of .rela.dyn are changed to the new place. In .relr.dyn, a list of addresses packed into
// bitmaps, an entry cannot be changed; those go on relocating the old image, which nobody reads any more, and .rela.dyn
// gets an additional entry for each. .rela.dyn then moves to a new segment; the dynamic section, which the program
// knows by address, is changed in place.

#include "tls.h"

#include <algorithm>

#include "libprof/format/map.h"
#include "linker-rewrite/base/refusal.h"

namespace profld {

using prof_format::kThreadMark;

ThreadLocalRoom::ThreadLocalRoom(const Image& image, const Elf64_Phdr& runtime) : image_(image) {
  if (const Elf64_Phdr* old = image.segment(PT_TLS)) old_ = *old;
  align_ = std::max<uint64_t>(old_.p_align, 1);
  if ((align_ & (align_ - 1)) != 0 || align_ > kPage || old_.p_filesz > old_.p_memsz || old_.p_memsz > UINT32_MAX)
    throw Error("damaged program headers: impossible size or alignment of thread-local storage; use an intact file");
  if (old_.p_vaddr % align_ != 0) throw refusal(Refusal::tls_not_aligned);
  mapped_bytes(image, image.file(), OldAddr(old_.p_vaddr), old_.p_filesz, "thread-local storage");
  old_block_ = align_up(old_.p_memsz, align_);
  uint64_t unit = std::max({align_, runtime.p_align, uint64_t(8)});
  size_ = align_up(old_block_ + sizeof kThreadMark + runtime.p_memsz, unit) - old_block_;
  if (old_.p_memsz == 0) align_ = unit;
  for (const Relocation& r : image.relocations())
    if (r.packed && in_old_image(r.where)) packed_.push_back(r);
}

int64_t ThreadLocalRoom::offset() const { return int64_t(sizeof kThreadMark) - int64_t(old_block_ + size_); }

void ThreadLocalRoom::reserve_relocations(Segment& read_only) {
  if (packed_.empty()) return;
  rela_size_ = image_.dynamic_value(DT_RELASZ).value_or(0) + packed_.size() * sizeof(Elf64_Rela);
  rela_place_ = read_only.reserve(rela_size_, 8);
  if (!dynamic_section().fits()) throw refusal(Refusal::no_room_for_relocations);
}

void ThreadLocalRoom::reserve_image(Segment& writable) {
  image_start_ = writable.reserve(size_ + old_.p_filesz, std::max<uint64_t>(align_, 64));
  image_end_ = writable.end();
  writable.reserve(0, 8);
  padding_ = writable.end() - image_end_;
}

void ThreadLocalRoom::retarget_relocations(Bytes& file) const {
  auto add_to = [&](uint64_t at) {
    uint64_t v = Reader(ByteView(file).subspan(std::min<uint64_t>(at, file.size())), "relocations").u64();
    put(file, at, v + size_);
  };
  for (const Relocation& r : image_.relocations()) {
    if (r.packed) continue;
    if (in_old_image(r.where)) put(file, r.addend_at.value - offsetof(Elf64_Rela, r_addend), moved(r.where));
    switch (r.type) {
      case R_X86_64_DTPOFF64:
      case R_X86_64_TPOFF64:
      case R_X86_64_TLSDESC:
        add_to(r.addend_at.value);
        break;
      case R_X86_64_DTPMOD64: {
        // Without a symbol, the linker has put the offset into the next word.
        auto offset = image_.file_offset(r.where + 8);
        if (r.symbol == 0 && offset) add_to(offset->value);
        break;
      }
      default:
        break;
    }
  }
}

// With the longer table of relocations.
DynamicSection ThreadLocalRoom::dynamic_section() const {
  DynamicSection dynamic(image_);
  dynamic.set(DT_RELA, rela_place_.value);
  dynamic.set(DT_RELASZ, rela_size_);
  dynamic.set(DT_RELAENT, sizeof(Elf64_Rela));
  if (auto count = image_.dynamic_value(DT_RELACOUNT)) dynamic.set(DT_RELACOUNT, *count + packed_.size());
  return dynamic;
}

void ThreadLocalRoom::add_relocations(Bytes& file, Segment& read_only, SectionEdits& edits) const {
  Bytes table;
  for (const Relocation& r : packed_) {
    Elf64_Rela rela{};
    rela.r_offset = moved(r.where);
    rela.r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE);
    rela.r_addend = Reader(mapped_bytes(image_, file, r.where, 8, "thread-local storage"), "data").read<int64_t>();
    append(table, rela);
  }
  uint64_t old_rela = image_.dynamic_value(DT_RELA).value_or(0);
  uint64_t old_size = rela_size_ - table.size();
  append_bytes(table, mapped_bytes(image_, file, OldAddr(old_rela), old_size, "relocations"));
  read_only.write(rela_place_, table);

  dynamic_section().write_in_place(file);
  edit_relocation_section(image_, rela_place_, rela_size_, edits);
}

void ThreadLocalRoom::write(Bytes& file, Segment& read_only, Segment& writable, SectionEdits& edits) const {
  retarget_relocations(file);
  if (!packed_.empty()) add_relocations(file, read_only, edits);
  writable.write(image_start_, Bytes(std::begin(kThreadMark), std::end(kThreadMark)));
  writable.write(image_start_ + size_,
                 mapped_bytes(image_, file, OldAddr(old_.p_vaddr), old_.p_filesz, "thread-local storage"));

  if (padding_) edits.add(".prof.padding", SHT_PROGBITS, SHF_WRITE, image_end_, padding_, 1);
  edits.add(".prof.tdata", SHT_PROGBITS, SHF_WRITE | SHF_TLS, image_start_, size_, 8);
  for (const Section& s : image_.sections()) {
    uint64_t from_start = s.header.sh_addr - old_.p_vaddr;
    if ((s.header.sh_flags & SHF_TLS) && old_.p_memsz != 0 && from_start <= old_.p_memsz)
      edits.move(&s, NewAddr(moved(OldAddr(s.header.sh_addr))), s.header.sh_size);
  }
}

Elf64_Phdr ThreadLocalRoom::header(const Placement& placement) const {
  Elf64_Phdr h = old_;
  h.p_type = PT_TLS;
  h.p_flags = PF_R;
  h.p_offset = placement.file_offset(image_start_).value;
  h.p_vaddr = h.p_paddr = image_start_.value;
  h.p_filesz = size_ + old_.p_filesz;
  h.p_memsz = size_ + old_.p_memsz;
  h.p_align = align_;
  return h;
}

}  // namespace profld
