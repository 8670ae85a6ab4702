// How a program depends on the place of its code, or on its bytes, so that functions have to stay, or on what lies
// after its data. Each way is found by a file of its own.

#ifndef LINKER_REWRITE_DECIDE_CODE_DEPENDENCES_H
#define LINKER_REWRITE_DECIDE_CODE_DEPENDENCES_H

#include <utility>
#include <vector>

#include "linker-rewrite/program/data_references.h"
#include "linker-rewrite/program/fragments.h"
#include "linker-rewrite/program/program.h"

namespace profld {

// inner_addresses.cc: functions with an address inside that data or an instruction holds, and that no jump is known to
// use.

// Data at `at`, or the instruction there, says where in the code range `range` something is.
struct InnerAddress {
  uint32_t range;
  OldAddr at;
  bool in_instruction = false;
};

// Finds all that can be told from other numbers, in a fixed order. Needs Group::indirect.
std::vector<InnerAddress> find_inner_addresses(const Program& program, const DataReferences& data);

// inline_data.cc: functions that find data after the call that called them.

// The call at `at` in the group `group` leads to a function that reads the bytes after it, or skips them.
struct InlineData {
  uint32_t group;
  OldAddr at;
};

struct InlineDataUse {
  std::vector<InlineData> calls;
  std::vector<uint32_t> skipping;  // groups that return elsewhere than after the call
};

// Finds all that can be seen, in a fixed order.
InlineDataUse find_inline_data(const Program& program);

// code_as_data.cc: functions whose bytes the program reads, or writes, through a pointer, or whose place it compares.

// The instruction at `at`, or a function that it calls, reads or writes the code range `range` as data. Or it only
// finds out whether an address lies in the range.
struct CodeAccess {
  uint32_t range;
  OldAddr at;
  bool is_comparison = false;
};

// For each group, the numbers in its instructions that may be addresses of code, or the end of some; ascending, each
// once.
using NamedAddresses = std::vector<std::vector<OldAddr>>;
NamedAddresses addresses_named(const Program& program);

// Finds all that can be seen, in a fixed order. Needs Group::indirect.
std::vector<CodeAccess> find_code_accesses(const Program& program, const NamedAddresses& named);

// compared_callers.cc: functions whose return addresses are compared with other addresses, where what they call asks
// who called it.

// Gives the groups that call such a function, or may call it, a reason to stay. Needs Group::indirect.
void keep_compared_callers(Program& program, const DataReferences& data, const NamedAddresses& named);

// relocated_code.cc: code that the dynamic linker changes when it loads the file: relocations in code, as
// -mcmodel=large without -fPIC and -z notext make them (DT_TEXTREL).

// Why a group cannot move for a relocation in its code; nullopt if all its relocations can be led to the copies. To be
// called when its indirect jumps are resolved.
std::optional<Reason> why_not_relocated(const Program& program, const Group& group);

// The instructions of `code` with a number that a relocation changes to an address in this file: their indexes, and
// that address.
std::vector<std::pair<uint32_t, OldAddr>> relocated_numbers(const Image& image, const Code& code);

// type_checks.cc: what compilers put into indirect calls to check the function's type.

// The instructions of `code` that read the type of a function that will be called, and nothing else of it: their
// indexes, ascending.
std::vector<uint32_t> reads_of_type(const Program& program, const Code& code);

// How many bytes in front of the entries of functions are read by such instructions; 0 if none are.
uint64_t bytes_read_before_entries(const Program& program);

// monitored_text.cc: programs that profile themselves (gcc -pg).

// Where an instruction has the end of the code in it that is to be watched.
struct MonitoredEnd {
  uint32_t group;
  AddressField field;
  OldAddr end;
};

std::vector<MonitoredEnd> find_monitored_ends(const Program& program);

// heap_place.cc: programs that take the memory after their data for their heap.

// Whether it is one. To be called when its functions are decoded.
bool takes_heap_after_data(const Program& program);

}  // namespace profld

#endif
