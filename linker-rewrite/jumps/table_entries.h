// Reading a jump table whose form is known, and where its entry 0 is, or would be. Where it begins and ends, its
// entries have to tell: see table_entries.cc.

#ifndef LINKER_REWRITE_JUMPS_TABLE_ENTRIES_H
#define LINKER_REWRITE_JUMPS_TABLE_ENTRIES_H

#include <optional>
#include <vector>

#include "abstract_state.h"
#include "instructions.h"
#include "tables.h"

namespace profld {

// What tables of a function are read from.
struct TableSource {
  const Image& image;
  const DataReferences& data;
  const PartsByAddress& parts;
  // Addresses that the function reads without an index: no object need begin there, it may be an entry. Sorted.
  std::vector<OldAddr> read{};
};

struct TableForm {
  OldAddr first;  // address of the entry with index 0
  OldAddr base;   // relative: what is added to an entry
  bool relative = false;
  uint8_t size = 8;  // of an entry
  bool sign_extended = false;
  auto operator<=>(const TableForm&) const = default;
  OldAddr at(int64_t index) const { return OldAddr(first.value + uint64_t(index) * size); }
};

// What is known of an index.
struct IndexRange {
  uint64_t greatest = kNoBound;  // kNoBound if not known
  bool exact = false;            // then a table must not have fewer entries
  bool may_be_negative = false;
  bool operator==(const IndexRange&) const = default;
};

struct TableEntries {
  std::vector<OldAddr> targets;  // empty if it is no jump table of this function
  int64_t lowest = 0;            // the index of the first of them
  // How many of these entries the table most likely has: those up to the bound or the next object.
  size_t likely = 0;
  std::optional<Unresolved> why;  // if it is no jump table
  std::vector<OldAddr> between;   // where entries lead that are none of the function's, but stand before one that is
  std::vector<OldAddr> perhaps;   // see Unresolved
  bool foreign = false;           // if it is no jump table: not even one entry leads into the function
};

// `named`: the address that the code names, by which an entry most likely is.
TableEntries read_table(const TableSource& source, const TableForm& form, const IndexRange& index, OldAddr named);

// True if entries of the function can be read from the address of the entry with index 0 on.
bool may_be_table(const TableSource& source, const TableForm& form);

// True if one of the first two entries leads into the function, or, of a relative table, the first to any code.
bool begins_like_table(const Image& image, const PartsByAddress& parts, const TableForm& form);

// True if a jump can lead to `a` inside the function, or if `a` is the end of one of its ranges, which stands for an
// index that cannot occur.
bool is_possible_target(const PartsByAddress& parts, OldAddr a);

// True if `a` is inside the function and starts an instruction, but is no entry: only the function's own jumps can lead
// there.
bool is_label(const EhFrame& frames, const PartsByAddress& parts, OldAddr a);

}  // namespace profld

#endif
