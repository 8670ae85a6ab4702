// What data says about code: where objects begin, and which words are pointers to code.

#ifndef LINKER_REWRITE_PROGRAM_DATA_REFERENCES_H
#define LINKER_REWRITE_PROGRAM_DATA_REFERENCES_H

#include <utility>
#include <vector>

#include "program.h"

namespace profld {

// Facts about the image that the analyses of all functions share, collected once.
struct DataReferences {
  // Addresses where an object in read-only or writable data begins, as far as known (symbols, targets of relocations
  // and of RIP-relative operands): a table that has no known bound ends there.
  std::vector<OldAddr> object_starts;  // sorted
  // Words in data that hold the address of code (address of word, target), sorted by target. Relocations (RELATIVE,
  // RELR) tell which words these are. In a program at a fixed address there are no relocations: then these are all
  // aligned words that look like the address of code.
  std::vector<std::pair<OldAddr, OldAddr>> code_pointers;
  // Code of which it is known to what function it belongs: not where jump tables alone may lead. Sorted.
  std::vector<OldRange> known_code{};
  // Return addresses of calls that frame tables describe; sorted.
  std::vector<OldAddr> framed_calls;
};

// Collects them for the analysis of jump tables.
DataReferences find_data_references(Program& program);

// All aligned words in data that look like the address of code, for programs at a fixed address; ascending by segment.
std::vector<std::pair<OldAddr, OldAddr>> find_apparent_code_pointers(const Image& image);

}  // namespace profld

#endif
