// V8 writes the functions of JavaScript's library, its interpreter's handlers and the stubs around calls with a
// compiler of its own, once, and links them into the program as one block of code. They look like functions, have
// symbols, and must stay where they are, as they are: V8 finds out by return address which of them a frame belongs to
// and what its collector has to look at there; they keep the address of their own start in a register and compute
// others from it; and a sum over the block, checked at start, tells whether a byte of it was changed.
//
// The block has no unwind tables. Only symbols know the names of these functions, and the start and size of the block.
// So it is told by the symbols that all of V8's builds give it (CONTRIBUTING, "What must always hold").

#include "v8.h"

#include <algorithm>

namespace profld {

OldRange v8_builtins(const Image& image) {
  auto find = [&](const char* name) {
    return std::ranges::find_if(image.symbols(), [&](const Symbol& s) { return s.name == name; });
  };
  const auto code = find("v8_Default_embedded_blob_code_"), size = find("v8_Default_embedded_blob_code_size_");
  if (code == image.symbols().end() || size == image.symbols().end()) return {};
  const auto word = image.bytes(size->address, sizeof(uint32_t));
  if (!word) return {};
  return {code->address, code->address + Reader(*word, "data").u32()};
}

}  // namespace profld
