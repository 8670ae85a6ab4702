// Some programs change their own code while they run: they switch the calls of a tracer on and off, or make a branch
// out of no-operations. For this the compiler leaves room in the code, a patch site, and lists the sites in a section
// that the program reads:
//
//   __patchable_function_entries  gcc and clang -fpatchable-function-entry=N,M: a word with the address of the first of
//                                 N no-operations, of which M stand before the function's entry
//   __mcount_loc                  gcc -mrecord-mcount: a word with the address of the call of mcount or __fentry__, or
//                                 of the no-operation in its place (-mnop-mcount)
//   xray_instr_map                clang -fxray-instrument: 32 bytes, which begin with the addresses of the site and of
//                                 its function; byte 18 is the version (LLVM, compiler-rt, XRaySledEntry)
//   __jump_table                  static keys (Linux, include/linux/jump_label.h, struct jump_entry): site, label and
//                                 key; as 32, 32 and 64 bits, each relative to its own place, or as three words
//
// A function with a site stays in place. It would not be enough to move it and to make the table lead to the copy. The
// program has to make the code writable first, and nothing tells how it finds the pages: from the site, or from the
// linker's symbols for the start and the end of the code, or all from the first site to the last at once. In the second
// case the site in the copy could not be written; in the third, data between the old code and the copies may become
// read-only.

#include "patch_sites.h"

#include <algorithm>

#include "linker-rewrite/elf/notes.h"

namespace profld {

namespace {

class SiteFinder {
 public:
  explicit SiteFinder(const Image& image) : image_(image) {}

  PatchSites find() {
    for (const Section& s : image_.sections()) {
      if (!(s.header.sh_flags & SHF_ALLOC) || s.header.sh_type == SHT_NOBITS || s.header.sh_type == SHT_NULL) continue;
      const OldAddr start(s.header.sh_addr);
      const auto bytes = image_.bytes(start, s.header.sh_size);
      if (!bytes) continue;
      table_ = {start, start + s.header.sh_size};
      bytes_ = *bytes;
      if (s.name == "__patchable_function_entries" || s.name == "__mcount_loc")
        read_words();
      else if (s.name == "xray_instr_map")
        read_xray();
      else if (s.name == "__jump_table")
        read_static_keys();
      else
        continue;
      found_.tables.push_back(table_);
    }
    std::ranges::sort(found_.sites);
    found_.sites.erase(std::unique(found_.sites.begin(), found_.sites.end()), found_.sites.end());
    return std::move(found_);
  }

 private:
  void add(OldAddr site) {
    if (image_.is_code(site)) found_.sites.push_back(site);
  }

  // All words of the table that are the address of code. If the program is not at a fixed address they have
  // relocations, and the words in the file do not matter.
  void read_words() {
    if (!image_.is_position_independent())
      for (Reader r(bytes_, "table"); r.remaining() >= 8;) add(OldAddr(r.u64()));
    for (const Relocation& r : image_.relocations())
      if (r.type == R_X86_64_RELATIVE && table_.contains(r.where)) add(OldAddr(uint64_t(r.addend)));
  }

  void read_xray() {
    constexpr uint64_t kEntry = 32, kVersion = 18;
    constexpr uint8_t kRelative = 2;  // the first version that has distances
    bool words = false;
    for (Reader r(bytes_, "table"); r.remaining() >= kEntry; r.skip(kEntry - 8)) {
      const OldAddr field = table_.start + r.position();
      const bool relative = bytes_[r.position() + kVersion] >= kRelative;
      const uint64_t value = r.u64();
      if (relative)
        add(field + value);
      else
        words = true;
    }
    if (words) read_words();
  }

  // Nothing says which of the two forms it has. If it is read in the wrong form, the numbers are hardly ever addresses
  // of code.
  void read_static_keys() {
    for (Reader r(bytes_, "table"); r.remaining() >= 16; r.skip(8))
      for (int field = 0; field < 2; ++field) {
        const OldAddr at = table_.start + r.position();
        add(at + uint64_t(int64_t(r.read<int32_t>())));
      }
    read_words();
  }

  const Image& image_;
  OldRange table_;  // the section that is being read
  ByteView bytes_;
  PatchSites found_;
};

}  // namespace

PatchSites find_patch_sites(const Image& image) { return SiteFinder(image).find(); }

// A probe is a no-operation in the code and a note in the file that says where it is, what it is called, and in which
// registers or words its arguments are. Nothing in the program refers to it: gdb, perf, bpftrace and SystemTap read the
// notes and put a breakpoint there. If the function moved, the breakpoint has to be in the copy. In the old code
// control would never come to it, and it could damage the jump to the copy.
//
// The format is SystemTap's ("UserSpaceProbeImplementation"). The note, of owner "stapsdt" and type 3, begins with
// three words: the probe's address; that of the section .stapsdt.base when the note was written, because a program that
// was prelinked later has moved by the difference to where that section is now; and that of a semaphore, or 0. The
// section and the semaphore are data and do not move. The arguments hold in the copy as they do in the original.

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
