// SHA-1 (FIPS 180-4), for build-ids: linkers use it too. It protects nothing here.

#ifndef LINKER_REWRITE_SHA1_H
#define LINKER_REWRITE_SHA1_H

#include <array>

#include "bytes.h"

namespace profld {

class Sha1 {
 public:
  void add(ByteView data);
  std::array<uint8_t, 20> finish();  // once, after the last add

 private:
  void block(const uint8_t* p);

  std::array<uint32_t, 5> state_{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::array<uint8_t, 64> partial_{};
  uint64_t length_ = 0;  // bytes added
};

}  // namespace profld

#endif
