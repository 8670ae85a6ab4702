// Finds the data after its own file's end in the way that its argument says. The last 24 bytes of the file are its mark, the
// payload's offset in the file, and its length with these bytes.
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct trailer {
  char mark[8];
  uint64_t offset, length;
};

static long calls_print_text, calls_size_of;

__attribute__((noinline)) static void print_text(const char* text, size_t most) {
  ++calls_print_text;
  printf("%.*s\n", (int)strnlen(text, most), text);
}

__attribute__((noinline)) static long size_of(FILE* f) {
  ++calls_size_of;
  fseek(f, 0, SEEK_END);
  return ftell(f);
}

int main(int argc, char** argv) {
  const char* way = argv[1];
  FILE* f = fopen("/proc/self/exe", "rb");
  struct trailer t;
  char text[64] = "";
  const long size = size_of(f);
  fseek(f, size - (long)sizeof t, SEEK_SET);
  if (fread(&t, sizeof t, 1, f) != 1 || memcmp(t.mark, "trailer!", 8) != 0) {
    puts("no trailer");
    return 1;
  }
  if (strcmp(way, "headers") == 0) {
    Elf64_Ehdr h;
    fseek(f, 0, SEEK_SET);
    if (fread(&h, sizeof h, 1, f) != 1) return 2;
    fseek(f, (long)(h.e_shoff + (uint64_t)h.e_shnum * h.e_shentsize), SEEK_SET);
  } else if (strcmp(way, "offset") == 0) {
    fseek(f, (long)t.offset, SEEK_SET);
  } else {
    fseek(f, size - (long)t.length, SEEK_SET);
  }
  if (strcmp(way, "mapped") == 0) {
    const char* map = mmap(0, t.length, PROT_READ, MAP_PRIVATE, fileno(f), size - (long)t.length);
    if (map == MAP_FAILED) {
      perror("mmap");
      return 3;
    }
    print_text(map, 64);
  } else {
    if (fread(text, 1, sizeof text, f) == 0) return 4;
    print_text(text, sizeof text);
  }
  printf("calls print_text %ld\ncalls size_of %ld\n", calls_print_text, calls_size_of);
  return 0;
}
