// What the fuzz targets share. A target is a function of arbitrary bytes that must end by itself: with a result or with
// one of the project's own errors. Any other exception, a signal, a sanitizer's complaint, a leak or more than a few
// seconds is a finding.

#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <cstddef>
#include <cstdint>

#include "linker-rewrite/base/bytes.h"

namespace fuzz {

// Two pieces of the input: as many bytes as its first two say (little-endian), and the rest.
struct Pieces {
  profld::ByteView first, second;
};

inline Pieces split(const uint8_t* data, size_t size) {
  if (size < 2) return {};
  const profld::ByteView all(data + 2, size - 2);
  const size_t n = size_t(data[0] | data[1] << 8) % (all.size() + 1);
  return {all.first(n), all.subspan(n)};
}

// Calls `function`; the project's own errors are a result like any other.
template <class Function>
void expecting_errors(const Function& function) {
  try {
    function();
  } catch (const profld::Error&) {
  }
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#endif
