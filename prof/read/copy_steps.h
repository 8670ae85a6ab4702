// From addresses of instructions in copies to those of the originals: the sections .prof.steps and .prof.loops
// (libprof/format/map.h).

#ifndef PROF_READ_COPY_STEPS_H
#define PROF_READ_COPY_STEPS_H

#include <cstdint>
#include <string>
#include <vector>

#include "elf_file.h"

namespace prof {

class CopySteps {
 public:
  // Of a file, which need not have been rewritten. What is damaged is taken to be absent.
  explicit CopySteps(const ElfFile& file);

  // An address in the original instruction that an address (link-time) in a copy is of: its first byte, or, if
  // something stands before it in the copy, any of its bytes. Of an address outside all copies, itself; of a copy whose
  // instructions are not known, the start of the original.
  uint64_t original(uint64_t address) const;

 private:
  // Where the code is, or that of the first time if it stands there several times.
  uint64_t first_time(uint64_t address) const;

  std::vector<prof_format::MapEntry> map_;  // sorted by `copy`
  std::vector<prof_format::LoopEntry> loops_;
  std::string bytes_;           // of .prof.steps
  std::vector<size_t> starts_;  // by entry of the map: where its steps begin in bytes_
};

}  // namespace prof

#endif
