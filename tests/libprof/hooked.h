// Functions with hooks laid by hand, as profld lays them: HOOKED(f) defines f, which calls _profin, then f_body, then
// _profout. f_body takes and returns what fits into registers.

#ifndef TESTS_LIBPROF_HOOKED_H
#define TESTS_LIBPROF_HOOKED_H

// A line of assembler is a line here.
// clang-format off

#define HOOKED(f) HOOKED_WITH(f, "")

// The same, but if the body returns anything but 0, there is a tail call of `to` with that in place of the return:
// HOOKED_TAIL jumps after its hook, HOOKED_JUMP to wherever a word says that it is.
#define HOOKED_TAIL(f, to) HOOKED_WITH(f, UNLESS_ZERO("_proftail", ".byte 0xe9; .long " #to "_after_hook - . - 4"))
#define HOOKED_JUMP(f, to) HOOKED_WITH(f, UNLESS_ZERO("_profjump", "jmp *" #to "@GOTPCREL(%rip)"))

#define UNLESS_ZERO(hook, jump)                     \
  "        mov %eax, %edi\n"                        \
  "        test %eax, %eax\n"                       \
  "        jz 1f\n"                                 \
  "        call *" hook "@GOTPCREL(%rip)\n"         \
  "        " jump "\n"                              \
  "1:\n"

// `end`: instructions after the body.
#define HOOKED_WITH(f, end)                         \
  asm(".text\n"                                     \
      ".globl " #f "\n"                             \
      ".type " #f ", @function\n"                   \
      #f ":\n"                                      \
      "        .cfi_startproc\n"                    \
      "        call *_profin@GOTPCREL(%rip)\n"      \
      #f "_after_hook:\n"                          \
      "        sub $8, %rsp\n"                      \
      "        .cfi_adjust_cfa_offset 8\n"          \
      "        call " #f "_body\n"                  \
      "        add $8, %rsp\n"                      \
      "        .cfi_adjust_cfa_offset -8\n"         \
      end                                           \
      "        call *_profout@GOTPCREL(%rip)\n"     \
      "        ret\n"                               \
      "        .cfi_endproc\n"                      \
      ".size " #f ", . - " #f "\n")

#endif
