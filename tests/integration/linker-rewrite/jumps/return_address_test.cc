// Functions that return elsewhere than to where they were called from.

#include "tests/integration/code_fixture.h"

using namespace code_fixture;

TEST_CASE("functions that change their return address are known") {
  ScratchDirectory directory;
  Analyzed a(build(directory, "program.s", R"(
    .macro function name
    .globl \name
    .type \name, @function
\name:
    .endm
    .macro done name
    .size \name, .-\name
    .endm
    function main
    push %rbx
    mov %rdi, 8(%rsp)
    pop %rbx
    ret
    done main
    function pushes
    push %rdi
    ret
    done pushes
    function retpoline
    call 1f
2:  pause
    lfence
    jmp 2b
1:  mov %rax, (%rsp)
    ret
    done retpoline
    function exchanges
    xchg %rax, (%rsp)
    ret
    done exchanges
    function where_am_i
    call 1f
1:  pop %rax
    ret
    done where_am_i
    function get_pc
    mov (%rsp), %rbx
    ret
    done get_pc
    .section .note.GNU-stack
)",
                   "gcc -pie"));
  for (const std::string name : {"pushes", "retpoline", "exchanges", "where_am_i"}) {
    CAPTURE(name);
    CHECK(a.functions.at(name).reason);
  }
  for (const std::string name : {"main", "get_pc"}) {
    CAPTURE(name);
    CHECK(!a.functions.at(name).reason);
  }
}
