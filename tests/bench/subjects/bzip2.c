// bzip2 FILE BYTES: packs the beginning of a file and unpacks it again, with libbz2.
#include <bzlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const unsigned wanted = (unsigned)atoi(argv[2]);
  char *data = malloc(wanted), *packed = malloc(wanted * 2 + 1000), *unpacked = malloc(wanted);
  FILE* file = fopen(argv[1], "rb");
  if (!file || !data || !packed || !unpacked) return 1;
  unsigned size = (unsigned)fread(data, 1, wanted, file), packed_size = wanted * 2 + 1000, unpacked_size = wanted;
  if (BZ2_bzBuffToBuffCompress(packed, &packed_size, data, size, 9, 0, 0) != BZ_OK) return 1;
  if (BZ2_bzBuffToBuffDecompress(unpacked, &unpacked_size, packed, packed_size, 0, 0) != BZ_OK) return 1;
  printf("%u %u\n", size, packed_size);
  return unpacked_size != size || memcmp(data, unpacked, size) != 0;
}
