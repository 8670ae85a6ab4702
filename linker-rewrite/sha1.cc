#include "sha1.h"

#include <algorithm>
#include <bit>

namespace profld {

void Sha1::add(ByteView data) {
  while (!data.empty()) {
    size_t used = length_ % 64;
    if (used == 0 && data.size() >= 64) {
      block(data.data());
      data = data.subspan(64);
      length_ += 64;
      continue;
    }
    size_t n = std::min(64 - used, data.size());
    std::ranges::copy(data.first(n), partial_.begin() + long(used));
    data = data.subspan(n);
    length_ += n;
    if (used + n == 64) block(partial_.data());
  }
}

std::array<uint8_t, 20> Sha1::finish() {
  uint64_t bits = length_ * 8;
  // A one bit, zeros, and the length in the last 8 bytes of a block.
  Bytes padding{0x80};
  while ((length_ + padding.size()) % 64 != 56) padding.push_back(0);
  for (int shift = 56; shift >= 0; shift -= 8) padding.push_back(uint8_t(bits >> shift));
  add(padding);
  std::array<uint8_t, 20> out;
  for (size_t i = 0; i < out.size(); ++i) out[i] = uint8_t(state_[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

void Sha1::block(const uint8_t* p) {
  std::array<uint32_t, 80> w;
  for (size_t i = 0; i < 16; ++i)
    w[i] = uint32_t(p[4 * i]) << 24 | uint32_t(p[4 * i + 1]) << 16 | uint32_t(p[4 * i + 2]) << 8 | p[4 * i + 3];
  for (size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  auto [a, b, c, d, e] = state_;
  for (size_t i = 0; i < 80; ++i) {
    uint32_t f, k;
    if (i < 20) {
      f = (b & c) | (~b & d), k = 0x5a827999;
    } else if (i < 40) {
      f = b ^ c ^ d, k = 0x6ed9eba1;
    } else if (i < 60) {
      f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
    } else {
      f = b ^ c ^ d, k = 0xca62c1d6;
    }
    uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
    e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
  }
  state_[0] += a, state_[1] += b, state_[2] += c, state_[3] += d, state_[4] += e;
}

}  // namespace profld
