// What an instruction does to the status flags, as far as code that is put before it has to know: an increment (`inc` of a
// word), which changes all of them but the carry, or that of a record (record_code.h), which changes all. It may stand
// wherever those that it changes are dead: before an instruction that overwrites them, or on a path to one on which nothing
// reads them.

#ifndef LINKER_REWRITE_X86_FLAGS_H
#define LINKER_REWRITE_X86_FLAGS_H

#include <Zydis/Zydis.h>

#include <cstdint>

namespace profld {

// Sets of flags, but for the adjust flag. That one is left undefined by logical instructions, and read by none that does not
// read others, too.
using Flags = uint8_t;
inline constexpr Flags kParity = 1, kZero = 2, kSign = 4, kOverflow = 8, kCarry = 16;
inline constexpr Flags kFlagsOfIncrement = kParity | kZero | kSign | kOverflow;  // that it changes
inline constexpr Flags kAllFlags = kFlagsOfIncrement | kCarry;

struct FlagEffect {
  Flags reads = 0;
  Flags overwrites = 0;           // whatever its operands are
  Flags overwrites_if_shift = 0;  // if its immediate is the count of a shift, and not 0

  // The flags that are live in front of it if those are that are live after.
  Flags live_before(Flags after) const { return Flags((after & ~overwrites) | reads); }

  // Doing it once more changes nothing, if its registers have not changed: it compares registers or numbers, and does
  // nothing else.
  bool is_comparison : 1 = false;
  bool uses_gs : 1 = false;  // the segment by which threads find their counters (libprof/file/block_counters.cc)
};

// Of an instruction with `operands`, or of one whose operands could not be decoded: then null.
FlagEffect flag_effect_of(const ZydisDecodedInstruction& in, const ZydisDecodedOperand* operands);

}  // namespace profld

#endif
