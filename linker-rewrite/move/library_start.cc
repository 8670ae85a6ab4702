#include "library_start.h"

#include "linker-rewrite/x86/encoding.h"

namespace profld {

static_assert(kEndbr64Length + kLeaLength + kMoveNumberLength + kCallThroughLength + kJumpLength <= kLibraryStartSize);

void write_library_start(const LibraryStart& start, std::optional<NewAddr> old_init, NewAddr at, uint8_t* out) {
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
