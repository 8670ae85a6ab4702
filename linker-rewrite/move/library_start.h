// The code with which a rewritten library starts, its DT_INIT:
//
//   endbr64
//   lea  headers(%rip), %rax      its program headers, in memory
//   mov  $count, %ecx
//   call *_profload
//   jmp  the DT_INIT that it had; or ret
//
// The runtime has to know when a library is loaded: another one may have been in its place before. _profload keeps all
// registers but rax and rcx, so the library's own DT_INIT finds its arguments.

#ifndef LINKER_REWRITE_MOVE_LIBRARY_START_H
#define LINKER_REWRITE_MOVE_LIBRARY_START_H

#include <optional>

#include "linker-rewrite/base/address.h"
#include "linker-rewrite/x86/encoding.h"

namespace profld {

struct LibraryStart {
  NewAddr load_slot;  // the word that holds the address of _profload
  NewAddr headers;    // of the program header table
  uint32_t header_count = 0;
  std::optional<OldAddr> old_init;  // what DT_INIT was
};

inline constexpr uint64_t kLibraryStartSize = 32;  // bytes, with what fills it up

static_assert(kEndbr64Length + kLeaLength + kMoveNumberLength + kCallThroughLength + kJumpLength <= kLibraryStartSize);

// Writes the code to `out`, where kLibraryStartSize bytes are left; its address will be `at`. `old_init`: where the
// function of that name is now.
inline void write_library_start(const LibraryStart& start, std::optional<NewAddr> old_init, NewAddr at, uint8_t* out) {
  InstructionWriter writer(out, at);
  writer.endbr64();
  writer.load_address_into_rax(start.headers);
  writer.move_into_ecx(start.header_count);
  writer.call_through(start.load_slot);
  if (old_init)
    writer.jump(*old_init);
  else
    writer.return_to_caller();
}

}  // namespace profld

#endif
