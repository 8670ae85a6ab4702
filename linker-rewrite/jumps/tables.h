// Resolves the indirect jumps of a function: some go through a jump table, and we need to know where to; some through
// pointers to labels (computed goto); some leave the function (tail calls).

#ifndef LINKER_REWRITE_JUMPS_TABLES_H
#define LINKER_REWRITE_JUMPS_TABLES_H

#include "linker-rewrite/base/expected.h"
#include "linker-rewrite/base/reason.h"
#include "linker-rewrite/program/data_references.h"
#include "linker-rewrite/program/indirect_jumps.h"
#include "linker-rewrite/program/noreturn.h"
#include "linker-rewrite/unwind/eh_frame.h"
#include "linker-rewrite/x86/decode.h"

namespace profld {

// Why a function's indirect jumps could not be resolved.
struct Unresolved {
  Reason reason;
  // Set if the only problem is a jump table that leads to code outside the function: the address of that code. The
  // caller may know that it is a fragment of the function, and try again with it.
  OldAddr outside{};
  // Where entries of its tables lead that are outside the function, and certainly belong to the tables: a comparison
  // asks for them, or entries after them lead into the function. Sorted.
  std::vector<OldAddr> elsewhere{};
  // Where what follows these entries leads, up to the next object in the data: that may be entries as well. Sorted.
  std::vector<OldAddr> perhaps{};
  // Jumps that are understood, as far as the code is known, and where their tables lead, with the end of a part for an
  // index that cannot occur.
  std::vector<std::pair<OldAddr, std::vector<OldAddr>>> understood{};
};

// Resolves every indirect jump of the function. `may_lack_parts`: not all of its code is known, perhaps; then the first
// entries that certainly lead elsewhere are told, and what takes longer to find out is left for when their code is
// there.
Expected<IndirectJumps, Unresolved> resolve_indirect_jumps(const Image& image, const EhFrame& frames,
                                                           const LastCalls& last_calls, const DataReferences& data,
                                                           const FunctionCode& function, bool may_lack_parts = false);

// True if some return of the function may not go to its caller (retpolines and context switches push or overwrite the
// return address), or if the function calls the next instruction to learn its own address.
bool return_address_is_changed(const FunctionCode& function);

}  // namespace profld

#endif
