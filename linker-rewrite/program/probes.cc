// A probe is a no-operation in the code and a note in the file that says where it is, what it is called, and in which
// registers or words its arguments are. Nothing in the program refers to it: gdb, perf, bpftrace and SystemTap read the
// notes and put a breakpoint there. If the function moved, the breakpoint has to be in the copy. In the old code
// control would never come to it, and it could damage the jump to the copy.
//
// The format is SystemTap's ("UserSpaceProbeImplementation"). The note, of owner "stapsdt" and type 3, begins with
// three words: the probe's address; that of the section .stapsdt.base when the note was written, because a program that
// was prelinked later has moved by the difference to where that section is now; and that of a semaphore, or 0. The
// section and the semaphore are data and do not move. The arguments hold in the copy as they do in the original.

#include "probes.h"

#include "linker-rewrite/elf/notes.h"

namespace profld {

namespace {

constexpr uint32_t kType = 3;
constexpr uint64_t kWords = 3 * 8;  // bytes before the names

}  // namespace

std::vector<Probe> find_probes(const Image& image) {
  const Section* const base = image.section(".stapsdt.base");
  std::vector<Probe> probes;
  for (const Section& s : image.sections()) {
    if (s.header.sh_type != SHT_NOTE) continue;
    each_note(image.file().subspan(s.header.sh_offset, s.header.sh_size), 4, [&](const Note& note) {
      if (note.type != kType || !note.is_from("stapsdt") || note.descriptor.size() < kWords) return false;
      Reader words(note.descriptor, "note");
      const uint64_t address = words.u64(), old_base = words.u64();
      const uint64_t difference = base ? base->header.sh_addr - old_base : 0;
      probes.push_back({OldAddr(address + difference),
                        FileOffset(uint64_t(note.descriptor.data() - image.file().data())), difference});
      return false;
    });
  }
  return probes;
}

std::vector<Patch> probe_patches(const Image& image, const CopyMap& copies) {
  std::vector<Patch> patches;
  for (const Probe& probe : find_probes(image))
    if (const RangeCopy* copy = copies.find(probe.address)) {
      Patch p{probe.field, {}};
      append(p.bytes, copy->body_address(probe.address).value - probe.difference);
      patches.push_back(std::move(p));
    }
  return patches;
}

}  // namespace profld
