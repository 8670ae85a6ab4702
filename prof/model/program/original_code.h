// The code of a program or library as it was before profld rewrote it.
//
// Best are the bytes of the original, which is looked for beside its copy, where the user's programs lie, and by the
// name that the profile has; its build-id tells that it is the right one. The copy has the old code, too, but jumps
// stand at the beginnings of functions that moved.

#ifndef PROF_MODEL_PROGRAM_ORIGINAL_CODE_H
#define PROF_MODEL_PROGRAM_ORIGINAL_CODE_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "debug_files.h"
#include "prof/read/elf_file.h"

namespace prof {

class Object;

// Addresses are link-time ones.
struct CodeRange {
  uint64_t start = 0, size = 0;  // address, bytes
};

// The original of a program or library that was rewritten, if it is found.
std::optional<ElfFile> find_original(const Object& object, const DebugSearch& search);

class OriginalCode {
 public:
  // `object` must outlive this.
  OriginalCode(const Object& object, const DebugSearch& search);

  // The bytes from an address on, as many as asked for if they are there. What is asked for one after the other is read
  // at once.
  std::string bytes(uint64_t address, uint64_t size) const;

  // Whether there are any; and whether they are the original's, without jumps of profld's.
  bool is_there() const { return file_ != nullptr; }
  bool is_original() const { return is_original_; }

  // The file that they are of; null if there is none.
  const ElfFile* file() const { return file_; }

  // When that file was made, or its copy if it is not there (time_of_change in prof/read/file.h).
  std::optional<int64_t> time_made() const;

  // The code of the function at an entry: that which begins there, and its fragments, by address.
  std::vector<CodeRange> ranges_of(uint64_t entry) const;

  // The name of the function of another file that a call leads to, through a stub of the linker's or a word of the GOT
  // at this address; "" if it is no such address.
  std::string import_at(uint64_t address) const;

 private:
  const Object& object_;
  std::optional<ElfFile> found_;
  const ElfFile* file_ = nullptr;
  bool is_original_ = false;
  std::multimap<uint64_t, CodeRange> ranges_;  // by entry
  std::map<uint64_t, std::string> got_;
  // What was read last, from this address on.
  mutable uint64_t window_start_ = 0;
  mutable std::string window_;
};

}  // namespace prof

#endif
