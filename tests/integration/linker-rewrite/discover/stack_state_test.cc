// The stack as it is followed through code that no unwind table describes.

#include "linker-rewrite/discover/stack_state.h"

#include "linker-rewrite/discover/body.h"
#include "tests/integration/code_fixture.h"

using namespace code_fixture;

namespace {

// Knows nothing but the body itself: all calls return.
class Alone : public Surroundings {
 public:
  Returns returns(const Insn&, OldAddr) const override { return Returns::yes; }
  const std::vector<OldAddr>* targets_of(OldAddr) const override { return nullptr; }
};

Body body_of(const Assembled& a, const std::string& function) {
  const auto symbol = std::ranges::find(a.image().symbols(), function, &Symbol::name);
  REQUIRE(symbol != a.image().symbols().end());
  return explore(a.image(), {symbol->address, symbol->address + symbol->size},
                 {{symbol->address, StackState::at_entry()}}, {}, Alone());
}

}  // namespace

TEST_CASE("the stack of what compilers make of functions is followed") {
  const Assembled a(R"(
    function frame
    push %rbp
    mov %rsp, %rbp
    push %rbx
    sub $0x28, %rsp
    mov %rdi, -0x20(%rbp)
    sub %rsi, %rsp          # alloca
    lea -8(%rbp), %rsp
    pop %rbx
    leave
    ret
    done frame
    function aligned        # gcc -mavx
    lea 8(%rsp), %r10
    and $-32, %rsp
    push -8(%r10)
    push %rbp
    mov %rsp, %rbp
    push %r10
    sub $0x40, %rsp
    mov -8(%rbp), %r10
    leave
    lea -8(%r10), %rsp
    ret
    done aligned
    function two_paths
    test %edi, %edi
    je 1f
    push %r12
    call main
    pop %r12
1:  ret
    done two_paths
    function red_zone
    mov %edi, -8(%rsp)
    mov -8(%rsp), %eax
    ret
    done red_zone
    function many           # of a number of arguments that varies
    sub $0xd8, %rsp
    test %al, %al
    je 1f
    movaps %xmm0, 0x50(%rsp)
1:  add $0xd8, %rsp
    ret
    done many
)");
  for (const char* name : {"frame", "aligned", "two_paths", "red_zone", "many"}) {
    CAPTURE(name);
    const Body b = body_of(a, name);
    CHECK(b.is_understood);
    CHECK(b.returns);
    CHECK(int(b.breaches) == 0);
  }
}

TEST_CASE("code that starts in the middle of a function is told from a function") {
  const Assembled a(R"(
    function leaves_frame
    add $8, %rsp
    ret
    done leaves_frame
    function unequal
    test %edi, %edi
    je 1f
    push %r12
1:  ret
    done unequal
    function not_kept
    xor %ebx, %ebx
    ret
    done not_kept
    function uses_kept
    mov (%rbx), %eax
    ret
    done uses_kept
    function uses_unset
    add %eax, %edi
    ret
    done uses_unset
    function uses_flags
    je 1f
    nop
1:  ret
    done uses_flags
    function reads_below
    mov -8(%rsp), %edi
    ret
    done reads_below
)");
  CHECK(body_of(a, "leaves_frame").breaches == kLeavesInFrame);
  CHECK((body_of(a, "unequal").breaches & kHeightUnknown) != 0);
  CHECK(body_of(a, "not_kept").breaches == kNotKept);
  CHECK(body_of(a, "uses_kept").breaches == kUsesKept);
  CHECK(body_of(a, "uses_unset").breaches == kUsesUnset);
  CHECK(body_of(a, "uses_flags").breaches == kUsesUnset);
  CHECK(body_of(a, "reads_below").breaches == kReadsBelow);
}

TEST_CASE("a call that cannot return is seen by what follows it") {
  const Assembled a(R"(
    function fails
    test %edi, %edi
    jne 2f
1:  ret
2:  push %rbx
    call main
    jmp 1b
    done fails
)");
  const Body b = body_of(a, "fails");
  CHECK(b.returns);
  CHECK(int(b.breaches) == 0);
}
