// What data says about code: where objects begin, and which words are pointers to code.

#ifndef LINKER_REWRITE_PROGRAM_DATA_REFERENCES_H
#define LINKER_REWRITE_PROGRAM_DATA_REFERENCES_H

#include <utility>
#include <vector>

#include "program.h"

namespace profld {

// What every function's analysis shares about the image, made once.
struct DataReferences {
  // Addresses at which, as far as known, an object in read-only or writable data begins (symbols, targets of
  // relocations and of RIP-relative operands): a table that has no known bound ends there.
  std::vector<OldAddr> object_starts;  // sorted
  // Words in data that hold the address of code (address of word, target), sorted by target. Relocations tell
  // (RELATIVE, RELR); in a program at a fixed address there are none, and these are all aligned words that look like
  // it.
  std::vector<std::pair<OldAddr, OldAddr>> code_pointers;
};

// For the analysis of jump tables.
DataReferences find_data_references(Program& program);

// All aligned words in data that look like the address of code, for programs at a fixed address; ascending by segment.
std::vector<std::pair<OldAddr, OldAddr>> find_apparent_code_pointers(const Image& image);

}  // namespace profld

#endif
