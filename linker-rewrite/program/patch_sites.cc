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

}  // namespace profld
