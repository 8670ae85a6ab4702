// Indirect jumps inside a function: which of them go through a jump table, and where to; which through pointers to
// labels (computed goto); which leave the function (tail calls).

#ifndef LINKER_REWRITE_JUMPS_TABLES_H
#define LINKER_REWRITE_JUMPS_TABLES_H

#include "linker-rewrite/base/expected.h"
#include "linker-rewrite/base/reason.h"
#include "linker-rewrite/program/data_references.h"
#include "linker-rewrite/program/indirect_jumps.h"
#include "linker-rewrite/unwind/eh_frame.h"
#include "linker-rewrite/x86/decode.h"

namespace profld {

// Why a function's indirect jumps could not be resolved.
struct Unresolved {
  Reason reason;
  // If it is only that a jump table leads to code that is not part of the function: where. The caller may know that
  // this is a fragment of the function, and try again with it.
  OldAddr outside{};
};

// Resolves every indirect jump of the function.
Expected<IndirectJumps, Unresolved> resolve_indirect_jumps(const Image& image, const EhFrame& frames,
                                                           const DataReferences& data, const FunctionCode& function);

// True if some return of the function may go elsewhere than to its caller (retpolines, context switches: the return
// address is pushed or overwritten), or if it calls the next instruction to learn its own address.
bool return_address_is_changed(const FunctionCode& function);

}  // namespace profld

#endif
