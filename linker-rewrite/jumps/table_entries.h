// Reading a jump table whose place and form are known, but whose length is only guessed at.

#ifndef LINKER_REWRITE_JUMPS_TABLE_ENTRIES_H
#define LINKER_REWRITE_JUMPS_TABLE_ENTRIES_H

#include <optional>
#include <vector>

#include "parts_by_address.h"
#include "tables.h"

namespace profld {

struct TableForm {
  OldAddr first;  // address of the entry with index 0
  OldAddr base;   // relative: what is added to an entry
  bool relative = false;
  uint8_t size = 8;  // of an entry
  bool sign_extended = false;
  auto operator<=>(const TableForm&) const = default;
};

struct TableEntries {
  std::vector<OldAddr> targets;  // empty if it is no jump table of this function
  // How many of these entries the table most likely has: those up to the bound or the next object.
  size_t likely = 0;
  std::optional<Unresolved> why;  // if it is no jump table
  std::vector<OldAddr> between;   // where entries lead that are none of the function's, but stand before one that is
  std::vector<OldAddr> perhaps;   // see Unresolved
  bool foreign = false;           // if it is no jump table: not even one entry leads into the function
};

// `bound` is the greatest index, kNoBound if not known. If it is `exact`, a table must not have fewer entries.
TableEntries read_table(const Image& image, const DataReferences& data, const PartsByAddress& parts,
                        const TableForm& form, uint64_t bound, bool exact);

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
