// Code as V8 keeps it in node: a block of functions that some table describes only by its start and its size, with a sum
// over its bytes and knowledge of where in it a return address lies.
#include <stdint.h>

#include "calls.h"

KEPT int twice(int n) {
  CALLED("twice");
  return 2 * n;
}

__asm__(
    ".text\n"
    ".balign 64\n"
    "v8_Default_embedded_blob_code_:\n"
    "blob:\n"
    ".type Builtins_Increment, @function\n"
    "Builtins_Increment:\n"
    "  lea 1(%rdi), %eax\n"
    "  ret\n"
    ".size Builtins_Increment, .-Builtins_Increment\n"
    ".balign 16, 0xcc\n"
    ".type Builtins_Where, @function\n"
    "Builtins_Where:\n"
    "  sub $8, %rsp\n"
    "  call *%rdi\n"  // learns where this call returns to
    "  add $8, %rsp\n"
    "  ret\n"
    ".size Builtins_Where, .-Builtins_Where\n"
    ".balign 64, 0xcc\n"
    "blob_end:\n"
    ".section .rodata\n"
    ".balign 4\n"
    "v8_Default_embedded_blob_code_size_:\n"
    "blob_size:\n"
    "  .long blob_end - blob\n"
    ".text\n");
extern const uint8_t blob[];
extern const uint32_t blob_size;
int increment(int) __asm__("Builtins_Increment");
long where(long (*)(void)) __asm__("Builtins_Where");

KEPT long caller(void) {
  CALLED("caller");
  return (const uint8_t*)__builtin_return_address(0) - blob;
}

int main(void) {
  unsigned sum = 0;
  for (uint32_t i = 0; i < blob_size; ++i) sum = sum * 31 + blob[i];
  printf("%u bytes, sum %u\n", blob_size, sum);
  int n = 0;
  for (int i = 0; i < 10; ++i) n = twice(increment(n));
  printf("%d, called from %ld\n", n, where(caller));
  print_calls();
}
