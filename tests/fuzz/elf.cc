// A whole ELF file: headers, segments, sections, symbols, dynamic section, relocations, notes; where its functions are.

#include "fuzz.h"
#include "linker-rewrite/decide/movability.h"
#include "linker-rewrite/program/functions.h"

using namespace profld;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::expecting_errors([&] {
    const Image image = Image::from_bytes(Bytes(data, data + size));
    image.build_id();
    fuzz::expecting_errors([&] { refuse_unsupported(image); });
    const EhFrame frames = read_eh_frame(image);
    find_functions(image, frames);
  });
  return 0;
}
