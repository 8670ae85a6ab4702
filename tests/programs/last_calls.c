// Functions of a library that never return, which nothing in the program says. After a call of one is another path's code, where
// registers hold something else. Built with LIBRARY it is that library; with TABLES the program has unwind tables for the assembly.
//
// `run' jumps through a table whose address is in %r13. After its call of `usage', where %r13 is something else, is the code of a
// case. `give_up' and `usage' end with a call of `quit', which gives the latter away. What follows `usage' is `behind': only a case
// of `run' takes its address.
//
// `note' returns, most often. `careless' ends with a call of it all the same. `masked' has a greater index on the path that calls
// `note'. `two_tables' and `offsets' take another table on that path, one after the call and one in front of it.
#include <stdio.h>
#include <stdlib.h>

#ifdef LIBRARY
void quit(int status) { exit(status); }
void note(int n) {
  if (n < 0) exit(4);
}
#else
long run(const char*cases), two_tables(long n, long which), masked(long n), offsets(long n, long which), counted(void),
    give_up(void), careless(void);
int next(const char** cases);

#ifdef TABLES
#define BEGIN ".cfi_startproc\n"
#define GREW(BYTES) ".cfi_adjust_cfa_offset " #BYTES "\n"
#define DONE ".cfi_endproc\n"
#else
#define BEGIN
#define GREW(BYTES)
#define DONE
#endif
#define FUNCTION(NAME) ".globl " NAME "\n.type " NAME ",@function\n" NAME ":\n" BEGIN
#define END(NAME) DONE ".size " NAME ",.-" NAME "\n"
#define PUSH(REGISTER) "push %" REGISTER "\n" GREW(8)
#define POP(REGISTER) "pop %" REGISTER "\n" GREW(-8)
#define TABLE(NAME, ONE, TWO, THREE) \
  ".section .rodata\n.p2align 2\n" NAME ": .long " ONE " - " NAME "," TWO " - " NAME "," THREE " - " NAME "\n.text\n"

__asm__(".text\n.p2align 4\n"  //
        FUNCTION("run") PUSH("rbx") PUSH("r13") PUSH("rdi") "xor %ebx,%ebx\n lea cases(%rip),%r13\n"
        ".Lagain: mov %rsp,%rdi\n call next\n cmp $2,%eax\n ja .Lother\n"
        "movslq (%r13,%rax,4),%rax\n add %r13,%rax\n jmp *%rax\n"
        ".Lother: lea text(%rip),%r13\n cmp $4,%eax\n je .Lout\n call usage\n"
        ".Lone: lea behind(%rip),%rax\n call *%rax\n add %rax,%rbx\n jmp .Lagain\n"
        ".Ltwo: call counted\n add %rax,%rbx\n jmp .Lagain\n"
        ".Lthree: add $100,%rbx\n jmp .Lagain\n"
        ".Lout: mov %rbx,%rax\n" POP("rdi") POP("r13") POP("rbx") "ret\n" END("run")  //
        TABLE("cases", ".Lone", ".Ltwo", ".Lthree")                                   //
        ".p2align 4\n"                                                                //
        FUNCTION("give_up") PUSH("rbx") "mov $5,%edi\n call quit@PLT\n" END("give_up")
        FUNCTION("counted") "mov $10,%eax\n ret\n" END("counted") ".p2align 4\n"  //
        FUNCTION("usage") PUSH("rbx") "mov $3,%edi\n call quit@PLT\n" END("usage")
        FUNCTION("behind") "mov $1,%eax\n ret\n" END("behind"));

__asm__(".text\n.p2align 4\n"  //
        FUNCTION("careless") PUSH("rbx") "mov $-1,%edi\n call note@PLT\n" END("careless")
        FUNCTION("two_tables") PUSH("rbx") PUSH("r13") PUSH("rdi")
        "lea table_a(%rip),%r13\n test %rsi,%rsi\n je 1f\n mov $1,%edi\n call note@PLT\n lea table_b(%rip),%r13\n"
        "1: mov (%rsp),%rax\n cmp $2,%rax\n ja .La\n movslq (%r13,%rax,4),%rax\n add %r13,%rax\n jmp *%rax\n"
        ".La: mov $1,%eax\n jmp 2f\n .Lb: mov $2,%eax\n jmp 2f\n .Lc: mov $3,%eax\n jmp 2f\n .Ld: mov $4,%eax\n"
        "2:\n" POP("rdi") POP("r13") POP("rbx") "ret\n" END("two_tables")  //
        TABLE("table_a", ".La", ".Lb", ".Lc") TABLE("table_b", ".Lb", ".Ld", ".La"));

#define CASE(N) ".Lm" #N ": mov $" #N ",%eax\n jmp 3f\n"
__asm__(".text\n.p2align 4\n"  //
        FUNCTION("masked") PUSH("rbx") PUSH("r13") PUSH("rdi")
        "lea eight(%rip),%r13\n mov %rdi,%rbx\n cmp $100,%rdi\n je 2f\n test $16,%bl\n je 4f\n"
        "and $7,%ebx\n mov $1,%edi\n call note@PLT\n"
        "1: movslq (%r13,%rbx,4),%rax\n add %r13,%rax\n jmp *%rax\n"
        "2: lea text(%rip),%r13\n mov $3,%edi\n call quit@PLT\n" ".Lm0: mov (%rsp),%rbx\n inc %ebx\n and $3,%ebx\n jmp 1b\n" CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6)
            CASE(7) "4: and $3,%ebx\n jmp 1b\n"
                    "3:\n" POP("rdi") POP("r13") POP("rbx") "ret\n" END("masked")  //
        ".section .rodata\n.p2align 2\neight: .long .Lm0 - eight,.Lm1 - eight,.Lm2 - eight,.Lm3 - eight,.Lm4 - eight,"
        ".Lm5 - eight,.Lm6 - eight,.Lm7 - eight\nbehind_eight: .long 1,2,3,4,5,6,7,8\n.text\n");

__asm__(".text\n.p2align 4\n"  //
        FUNCTION("offsets") PUSH("rbx") PUSH("r13") PUSH("rdi")
        "lea fast(%rip),%r13\n test %rsi,%rsi\n je 1f\n lea slow(%rip),%r13\n mov $1,%edi\n call note@PLT\n"
        "1: mov (%rsp),%rbx\n and $1,%ebx\n lea .Lo0(%rip),%rdx\n movslq (%r13,%rbx,4),%rax\n add %rdx,%rax\n jmp *%rax\n"
        ".Lo0: mov $1,%eax\n jmp 2f\n .Lo1: mov $2,%eax\n jmp 2f\n .Lo2: mov $3,%eax\n jmp 2f\n .Lo3: mov $4,%eax\n"
        "2:\n" POP("rdi") POP("r13") POP("rbx") "ret\n" END("offsets")  //
        ".section .rodata\n.p2align 2\nfast: .long .Lo1 - .Lo0, .Lo2 - .Lo0\n"
        "slow: .long .Lo3 - .Lo0, .Lo0 - .Lo0\n.text\n");

const char text[] = "other";
static long calls_of_next;
int next(const char** cases) {
  ++calls_of_next;
  return *(*cases)++ - '0';
}

int main(int argc, char** argv) {
  if (argc > 2) return (int)(atoi(argv[1]) ? give_up() : careless());
  long sum = counted();
  for (long n = 0; n < 10; ++n) sum = sum * 5 + two_tables(n % 4, n % 3) + offsets(n, n % 3);
  for (long n = 0; n < 32; ++n) sum = sum * 3 + masked(n);
  printf("%ld %ld\n", run("0120114"), sum);
  printf("calls main 1\ncalls run 1\ncalls next %ld\ncalls counted 4\ncalls masked 32\n", calls_of_next);
#ifdef TABLES
  printf("calls behind 2\n");
#endif
  return argc > 1 ? (int)run("3") : 0;
}
#endif
