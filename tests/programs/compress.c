// zlib and zstd, with their vector code: packs data of several kinds at several levels, unpacks it, and prints what
// came out.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { kSize = 150000 };
static unsigned char data[kSize], packed[2 * kSize], unpacked[kSize];

static void fill(int kind) {
  unsigned x = (unsigned)kind + 1;
  for (size_t i = 0; i < kSize; ++i) {
    x = x * 1103515245 + 12345;
    const unsigned char random = (unsigned char)(x >> 16);
    if (kind == 0) data[i] = random;
    if (kind == 1) data[i] = "the quick brown fox jumps over the lazy dog "[(i + random / 40) % 44];
    if (kind == 2) data[i] = (unsigned char)(i / 100);
    if (kind == 3) data[i] = i > 5000 && random % 8 ? data[i - 777 - random / 128] : random;
  }
}
static void check(const char* what, int kind, int level, size_t size, int right) {
  printf("%s %d %d: %zu %lx %s\n", what, kind, level, size, crc32(adler32(1, packed, (uInt)size), packed, (uInt)size),
         right ? "" : "WRONG");
}

int main(void) {
  for (int kind = 0; kind < 4; ++kind) {
    fill(kind);
    for (int level = 0; level <= 9; level += 3) {
      uLongf size = sizeof packed, back = sizeof unpacked;
      if (compress2(packed, &size, data, kSize, level) != Z_OK) abort();
      const int right =
          uncompress(unpacked, &back, packed, size) == Z_OK && back == kSize && !memcmp(data, unpacked, kSize);
      check("zlib", kind, level, size, right);
    }
    const int levels[] = {-3, 1, 4, 8, 13, 19};
    for (int i = 0; i < 6; ++i) {
      const size_t size = ZSTD_compress(packed, sizeof packed, data, kSize, levels[i]);
      if (ZSTD_isError(size)) abort();
      const int right =
          ZSTD_decompress(unpacked, sizeof unpacked, packed, size) == kSize && !memcmp(data, unpacked, kSize);
      check("zstd", kind, levels[i], size, right);
    }
  }
  return 0;
}
