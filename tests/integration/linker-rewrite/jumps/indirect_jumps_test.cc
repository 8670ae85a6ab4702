// Indirect jumps that lead through no table: tail calls, ways out of frames, and what is not understood.

#include "tests/integration/code_fixture.h"

using namespace code_fixture;

TEST_CASE("jumps to where no address of the function's own leads") {
  const char* const text = R"(
struct module { unsigned long base; struct { long unused; unsigned long offset; } *symbol; };
void call_in(struct module* m) { ((void (*)(void))(m->base + m->symbol->offset))(); }
void (*handler)(void);
void out(void** buffer) { __builtin_longjmp(buffer, 1); }
long leave(long offset, void* handler) { __builtin_eh_return(offset, handler); }
int main() { return 0; }
)";
  for (const char* mode : {"-fPIE -pie", "-fno-pie -no-pie"}) {
    CAPTURE(mode);
    ScratchDirectory directory;
    Analyzed a(build(directory, "program.c", text, std::string("gcc -O2 ") + mode));
    for (const std::string name : {"call_in", "out", "leave"})
      CHECK_MESSAGE(!a.functions.at(name).reason, name << ": " << a.functions.at(name).why());
    CHECK(a.count("call_in", JumpKind::tail_call) == 1);
    CHECK(a.count("out", JumpKind::unwind) == 1);
    CHECK(a.functions.at("leave").jumps.jumps.size() <= 1);
    CHECK(a.count("leave", JumpKind::unwind) == a.functions.at("leave").jumps.jumps.size());
  }
}

TEST_CASE("indirect tail calls are told from jumps through tables") {
  const char* const text = R"(
struct object { void (*const* methods)(struct object*, int); };
extern void (*hook)(int);
void (*hook)(int);
void method(struct object* o, int n) { o->methods[3](o, n); }
void through_variable(int n) { hook(n * 2); }
void argument(void (*f)(int), int n) { f(n + 1); }
static void a(int n) { hook = (void (*)(int))(long)n; } static void b(int n) { hook = 0; }
void array(int i) { static void (*const functions[])(int) = {a, b, a, b}; functions[i & 3](i); }
void keeps_frame(void (*f)(int*)) { int n = 1; f(&n); }
int main() { return 0; }
)";
  for (const char* command : {"gcc -O2 -fPIE -pie", "gcc -O2 -fno-pie -no-pie", "clang -O2 -fPIE -pie",
                              "clang -O2 -fno-pie -no-pie", "gcc -Os -fPIE -pie"}) {
    CAPTURE(command);
    ScratchDirectory directory;
    Analyzed a(build(directory, "program.c", text, command));
    for (const std::string name : {"method", "through_variable", "argument", "array"}) {
      CAPTURE(name);
      CHECK_MESSAGE(!a.functions.at(name).reason, a.functions.at(name).why());
      CHECK(a.count(name, JumpKind::tail_call) == 1);
      CHECK(a.functions.at(name).jumps.jumps.size() == 1);
    }
    CHECK(a.functions.at("keeps_frame").jumps.jumps.empty());
  }
}

TEST_CASE("jumps that are not understood keep the function in place") {
  ScratchDirectory directory;
  Analyzed a(build(directory, "program.s", kFunctions + R"(
    function computed                 # into the middle of an unrolled loop
    lea 1f(%rip), %rax
    lea (%rax,%rdi,2), %rax
    jmp *%rax
1:  nop; nop; nop; nop
    ret
    done computed
    function framed                   # leaves with something on the stack
    push %rax
    .cfi_adjust_cfa_offset 8
    jmp *%rdi
    done framed
    function below                    # the target lies where a hook would write
    mov %rdi, -8(%rsp)
    jmp *-8(%rsp)
    done below
    function data_in_code
    lea 2f(%rip), %rax
    mov (%rax,%rdi,8), %rax
    jmp *%rax
2:  nop; nop; nop; nop; nop; nop; nop; nop
    ret
    done data_in_code
    .section .note.GNU-stack
)",
                   "gcc -pie"));
  CHECK(!a.functions.at("main").reason);
  for (const std::string name : {"computed", "framed", "below", "data_in_code"}) {
    CAPTURE(name);
    CHECK(a.functions.at(name).reason);
  }
}
