// The whole way: an ELF file is rewritten, and if it can be, the result must be a file that is recognized as rewritten.

#include "linker-rewrite/rewrite.h"

#include <cstdlib>

#include "fuzz.h"
#include "tests/unit/elf_fixture.h"

using namespace profld;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const runtime = std::getenv("LIBPROF");
  if (!runtime) std::abort();  // tests/fuzz/run sets it
  Bytes output;
  fuzz::expecting_errors([&] {
    output = elf_fixture::file_of(rewrite(Image::from_bytes(Bytes(data, data + size)), {}, RuntimeFile(runtime)).file);
  });
  if (output.empty()) return 0;
  const Image image = Image::from_bytes(std::move(output));  // throws Error: a finding
  bool refused = false;
  try {
    rewrite(image, {}, RuntimeFile(runtime));
  } catch (const Error&) {
    refused = true;
  }
  if (!refused) std::abort();
  return 0;
}
