// Functions with hooks laid by hand, as profld lays them: HOOKED(f) defines f, which calls _profin, then f_body, then
// _profout. f_body takes and returns what fits into registers.

#ifndef TESTS_LIBPROF_HOOKED_H
#define TESTS_LIBPROF_HOOKED_H

#define HOOKED(f)                               \
  asm(".text\n"                                 \
      ".globl " #f                              \
      "\n"                                      \
      ".type " #f ", @function\n" #f            \
      ":\n"                                     \
      "        .cfi_startproc\n"                \
      "        call *_profin@GOTPCREL(%rip)\n"  \
      "        sub $8, %rsp\n"                  \
      "        .cfi_adjust_cfa_offset 8\n"      \
      "        call " #f                        \
      "_body\n"                                 \
      "        add $8, %rsp\n"                  \
      "        .cfi_adjust_cfa_offset -8\n"     \
      "        call *_profout@GOTPCREL(%rip)\n" \
      "        ret\n"                           \
      "        .cfi_endproc\n"                  \
      ".size " #f ", . - " #f "\n")

#endif
