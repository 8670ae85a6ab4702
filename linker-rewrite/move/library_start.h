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

namespace profld {

struct LibraryStart {
  NewAddr load_slot;  // the word that holds the address of _profload
  NewAddr headers;    // of the program header table
  uint32_t header_count = 0;
  std::optional<OldAddr> old_init;  // what DT_INIT was
};

inline constexpr uint64_t kLibraryStartSize = 32;  // bytes, with what fills it up

// Writes the code to `out`, where kLibraryStartSize bytes are left; its address will be `at`. `old_init`: where the
// function of that name is now.
void write_library_start(const LibraryStart& start, std::optional<NewAddr> old_init, NewAddr at, uint8_t* out);

}  // namespace profld

#endif
