// A collector that finds frames by return address, as OCaml's does, and functions as ocamlopt makes them: tables with
// descriptors of all kinds, a call at the very end of a function, handlers that are pushed and reached by a return or by a
// jump, tail calls through pointers in functions with handlers. The C code goes through the frames and says what it found.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

struct Descriptor {
  uint64_t return_address;
  uint16_t size, live, places[];
};

// r14 points to this. See the assembly for the first two words of a chunk of OCaml's frames.
struct {
  uint64_t handler, return_address, bottom;
} state;

extern uint64_t caml_frametable[];
long caml_start_program(long (*f)(long), long n);
long camlDemo__entry(long n), camlDemo__twice(long n);
uint64_t entered[8];
extern const char camlDemo__code_begin[], camlDemo__code_end[], caml_system__code_begin[], caml_system__code_end[];

#define FUNCTION(NAME) ".globl " NAME "\n.type " NAME ",@function\n.balign 16\n" NAME ": .cfi_startproc\n"
#define END(NAME) ".cfi_endproc\n.size " NAME ",.-" NAME "\n"
#define CALLED_HERE(N) " incq entered+8*" #N "(%rip)\n"
#define PUSH_HANDLER(LABEL) \
  " lea " LABEL "(%rip),%r11\n push %r11\n push (%r14)\n mov %rsp,(%r14)\n .cfi_adjust_cfa_offset 16\n"
#define POP_HANDLER " pop (%r14)\n add $8,%rsp\n .cfi_adjust_cfa_offset -16\n"
#define CALLED_FROM_C " .quad .Lat107\n .value -1\n .value 0\n .balign 8\n"

__asm__(
    ".text\n.globl camlDemo__code_begin,camlDemo__code_end,caml_system__code_begin,caml_system__code_end\n"
    "camlDemo__code_begin:\n"
    // n frames deep, then a collection. What was put on the stack is live, and so is a value in the caller's frame.
    FUNCTION("camlDemo__descend") CALLED_HERE(0)
    " sub $24,%rsp\n .cfi_adjust_cfa_offset 24\n mov %rax,8(%rsp)\n test %rax,%rax\n je 1f\n dec %rax\n call camlDemo__descend\n"
    ".Lat1: add 8(%rsp),%rax\n add $24,%rsp\n .cfi_adjust_cfa_offset -24\n ret\n .cfi_adjust_cfa_offset 24\n"
    "1: call caml_call_gc\n.Lat2: xor %eax,%eax\n add $24,%rsp\n .cfi_adjust_cfa_offset -24\n ret\n" END("camlDemo__descend")
    // The call of what raises is the last instruction, so that its return address is the next function's.
    FUNCTION("camlDemo__thrower") CALLED_HERE(1)
    " sub $8,%rsp\n .cfi_adjust_cfa_offset 8\n test $1,%al\n jne 1f\n call camlDemo__descend\n.Lat3: add $8,%rsp\n"
    " .cfi_adjust_cfa_offset -8\n ret\n .cfi_adjust_cfa_offset 8\n1: call camlDemo__raise\n" END("camlDemo__thrower")
    ".Lat4:\n"
    FUNCTION("camlDemo__raise") CALLED_HERE(2)
    " sub $8,%rsp\n .cfi_adjust_cfa_offset 8\n call caml_call_gc\n.Lat5: mov $5,%eax\n"
    " mov (%r14),%rsp\n pop (%r14)\n ret\n" END("camlDemo__raise")
    FUNCTION("camlDemo__raise_by_jump") CALLED_HERE(3)
    " mov $7,%eax\n mov (%r14),%rsp\n pop (%r14)\n pop %r11\n jmp *%r11\n" END("camlDemo__raise_by_jump")
    // Both ends are tail calls through a pointer.
    FUNCTION("camlDemo__guarded") CALLED_HERE(4)
    " sub $24,%rsp\n .cfi_adjust_cfa_offset 24\n mov %rax,(%rsp)\n" PUSH_HANDLER("2f")
    " call camlDemo__thrower\n.Lat6: " POP_HANDLER " add (%rsp),%rax\n mov camlDemo__closure(%rip),%rdi\n"
    " add $24,%rsp\n .cfi_adjust_cfa_offset -24\n jmp *%rdi\n .cfi_adjust_cfa_offset 24\n"
    "2: add (%rsp),%rax\n lea camlDemo__twice(%rip),%rdi\n add $24,%rsp\n .cfi_adjust_cfa_offset -24\n jmp *%rdi\n"
    END("camlDemo__guarded")
    FUNCTION("camlDemo__twice") CALLED_HERE(5) " add %rax,%rax\n ret\n" END("camlDemo__twice")
    FUNCTION("camlDemo__jumping") CALLED_HERE(6)
    " sub $8,%rsp\n .cfi_adjust_cfa_offset 8\n" PUSH_HANDLER("3f")
    " call camlDemo__raise_by_jump\n.Lat7: " POP_HANDLER "3: call camlDemo__guarded\n.Lat8: add $8,%rsp\n .cfi_adjust_cfa_offset -8\n ret\n"
    END("camlDemo__jumping")
    FUNCTION("camlDemo__entry") CALLED_HERE(7)
    " sub $24,%rsp\n .cfi_adjust_cfa_offset 24\n mov %rax,8(%rsp)\n call camlDemo__guarded\n.Lat9: mov %rax,16(%rsp)\n"
    " mov 8(%rsp),%rax\n call camlDemo__jumping\n.Lat10: add 16(%rsp),%rax\n add $24,%rsp\n .cfi_adjust_cfa_offset -24\n ret\n"
    END("camlDemo__entry")
    "camlDemo__code_end:\n"
    // The run-time system's.
    ".balign 16\ncaml_system__code_begin: ret\n"
    FUNCTION("caml_call_gc")
    " push %rax\n .cfi_adjust_cfa_offset 8\n mov 8(%rsp),%rax\n mov %rax,8(%r14)\n lea 16(%rsp),%rax\n mov %rax,16(%r14)\n"
    " push %rbp\n .cfi_adjust_cfa_offset 8\n mov %rsp,%rbp\n and $-16,%rsp\n call collect\n mov %rbp,%rsp\n pop %rbp\n"
    " .cfi_adjust_cfa_offset -8\n pop %rax\n .cfi_adjust_cfa_offset -8\n ret\n" END("caml_call_gc")
    FUNCTION("caml_start_program")
    " push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n sub $8,%rsp\n .cfi_adjust_cfa_offset 56\n"
    " lea state(%rip),%r14\n mov %rsi,%rax\n mov %rdi,%r12\n push 16(%r14)\n push 8(%r14)\n .cfi_adjust_cfa_offset 16\n"
    " lea .Lat108(%rip),%r13\n push %r13\n push (%r14)\n .cfi_adjust_cfa_offset 16\n mov %rsp,(%r14)\n call *%r12\n"
    ".Lat107: pop (%r14)\n pop %r12\n .cfi_adjust_cfa_offset -16\n"
    ".Lat109: pop 8(%r14)\n pop 16(%r14)\n add $8,%rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
    " .cfi_adjust_cfa_offset -72\n ret\n .cfi_adjust_cfa_offset 72\n"
    ".Lat108: neg %rax\n jmp .Lat109\n" END("caml_start_program")
    "caml_system__code_end: nop\n"
    ".data\n.balign 8\n"
    ".globl camlDemo__closure,camlDemo__frametable,camlOther__frametable,caml_system__frametable,caml_frametable\n"
    "camlDemo__closure: .quad camlDemo__twice\n"
    "camlDemo__frametable: .quad 5\n"
    " .quad .Lat1\n .value 32|1\n .value 1\n .value 8\n .balign 4\n .long 0\n .balign 8\n"         // a line
    " .quad .Lat2\n .value 32|2\n .value 1\n .value 8\n .byte 2,1,3\n .balign 8\n"              // allocations
    " .quad .Lat3\n .value 16|3\n .value 0\n .byte 3,1,1,1\n .balign 4\n .long 0,0,0\n .balign 8\n"  // both
    " .quad .Lat4\n .value 16\n .value 0\n .balign 8\n"
    " .quad .Lat5\n .value 16|2\n .value 0\n .byte 0\n .balign 8\n"
    "camlOther__frametable: .quad 5\n"
    " .quad .Lat10\n .value 32\n .value 2\n .value 8,16\n .balign 8\n"
    " .quad .Lat6\n .value 48|3\n .value 1\n .value 16\n .byte 0\n .balign 4\n .balign 8\n"
    " .quad .Lat7\n .value 32\n .value 0\n .balign 8\n"
    " .quad .Lat8\n .value 16\n .value 0\n .balign 8\n"
    " .quad .Lat9\n .value 32\n .value 1\n .value 8\n .balign 8\n"
    "caml_system__frametable: .quad 1\n" CALLED_FROM_C
    "caml_frametable: .quad camlDemo__frametable,camlOther__frametable,caml_system__frametable,0\n"
    ".text\n");

static const struct Descriptor* next_of(const struct Descriptor* d) {
  const uint8_t* p = (const uint8_t*)&d->places[d->live];
  uint64_t lines = d->size & 1;
  if (d->size == 0xffff) return d + 1;
  if (d->size & 2) {
    lines *= *p;
    p += *p + 1;
  }
  if (d->size & 1) p = (const uint8_t*)(((uint64_t)p + 3) & ~3ull) + 4 * lines;
  return (const struct Descriptor*)(((uint64_t)p + 7) & ~7ull);
}

static const struct Descriptor* find(uint64_t return_address) {
  for (uint64_t* table = caml_frametable; *table; ++table) {
    const uint64_t* count = (const uint64_t*)*table;
    const struct Descriptor* d = (const struct Descriptor*)(count + 1);
    for (uint64_t i = 0; i < *count; ++i, d = next_of(d))
      if (d->return_address == return_address) return d;
  }
  printf("a frame without a descriptor\n");
  print_calls();
  exit(1);
}

// What the run-time system takes for OCaml's code when the stack overflows.
static struct { const char *start, *end; } fragments[16];
static int fragment_count;

KEPT int caml_register_code_fragment(const char* start, const char* end, int how, const void* digest) {
  CALLED("caml_register_code_fragment");
  if (how != 0 && how != 3) printf("a fragment of an unknown kind: %d\n", how);
  if (digest) printf("a fragment with a digest\n");
  fragments[fragment_count].start = start;
  fragments[fragment_count].end = end;
  return fragment_count++;
}

static int is_registered(uint64_t address) {
  for (int i = 0; i < fragment_count; ++i)
    if (address >= (uint64_t)fragments[i].start && address < (uint64_t)fragments[i].end) return 1;
  return 0;
}

static uint64_t frames, live_values, outside;

// Through all frames, those of callbacks included, to the first one that C called.
void collect(void) {
  CALLED("collect");
  uint64_t address = state.return_address, bottom = state.bottom;
  while (bottom) {
    const struct Descriptor* d = find(address);
    ++frames;
    outside += !is_registered(address - 1);
    if (d->size == 0xffff) {
      const uint64_t* chunk = (const uint64_t*)(bottom + 16);  // above the handler
      address = chunk[0];
      bottom = chunk[1];
      continue;
    }
    for (int i = 0; i < d->live; ++i) live_values = live_values * 31 + *(uint64_t*)(bottom + d->places[i]);
    bottom += d->size & ~3u;
    address = *(uint64_t*)(bottom - 8);
  }
}

int main(void) {
  static const char* const names[] = {"descend", "thrower", "raise",   "raise_by_jump",
                                      "guarded", "twice",   "jumping", "entry"};
  // Of OCaml's run-time system, where nothing is exported, this name is all that is known.
  if (getenv("OCAMLRUNPARAM")) return 1;
  CALLED("main");
  caml_register_code_fragment(camlDemo__code_begin, camlDemo__code_end, 0, 0);
  caml_register_code_fragment(caml_system__code_begin, caml_system__code_end, 3, 0);
  long sum = 0;
  for (long i = 0; i < 50; ++i) sum = sum * 3 + caml_start_program(camlDemo__entry, i % 17);
  printf("%ld %lu %lu %lu\n", sum, frames, live_values, outside);
  printf("calls caml_start_program 50\n");
  for (int i = 0; i < 8; ++i) printf("calls camlDemo__%s %lu\n", names[i], entered[i]);
  print_calls();
  return 0;
}
