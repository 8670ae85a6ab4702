// Jump tables as compilers make them. What the compiler meant is in its assembly output: every table and the label of
// every entry, whose addresses the assembler is told to keep.

#include <sstream>

#include "tests/integration/code_fixture.h"

using namespace code_fixture;

namespace {

// The jump tables of an assembly file: the table's label, and the labels of its entries. Other data that holds
// addresses of labels looks different: its own label does not start with .LJTI (clang) or .L and a digit (gcc).
std::map<std::string, std::vector<std::string>> tables_of(const std::string& assembly) {
  std::map<std::string, std::vector<std::string>> tables;
  std::ifstream in(assembly);
  std::string line, label;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string first, second;
    words >> first >> second;
    if (first.ends_with(":")) {
      label = first.substr(0, first.size() - 1);
    } else if ((first == ".long" || first == ".quad") && second.starts_with(".L") && !label.empty()) {
      const bool relative = second.find('-') != std::string::npos;
      if (relative != (first == ".long") || (relative && second.substr(second.find('-') + 1) != label)) continue;
      const bool table = label.starts_with(".LJTI") || (label.starts_with(".L") && std::isdigit(label[2]));
      if (table) tables[label].push_back(second.substr(0, second.find('-')));
    } else if (first != ".align" && first != ".p2align") {
      label.clear();
    }
  }
  return tables;
}

const char* const kSwitches = R"(
extern int f(int); extern void* volatile sink; volatile int zero;
__attribute__((noinline)) int f(int x) { return x + zero; }
__attribute__((noinline)) int dense(int x) {
  switch (x) {
    case 0: return f(7); case 1: return f(3) * 2; case 2: return f(9) - 1; case 3: f(1); case 4: return f(4);
    case 5: return f(8) ^ 5; case 7: return f(2); case 8: return f(f(1)); case 9: return f(12);
  }
  return f(99);
}
__attribute__((noinline)) int shifted(long x) {
  switch (x) {
    case 101: return f(7); case 102: return f(3) * 2; case 103: return f(9) - 1; case 104: return f(4);
    case 105: return f(8) ^ 5; case 106: return f(2); case 108: return f(f(1)); case 113: return f(12);
  }
  return -1;
}
__attribute__((noinline)) int bytes(const char* s) {
  int n = 0;
  for (; *s; ++s)
    switch (*s) {
      case 'a': n += f(1); break; case 'b': n -= f(2); break; case 'c': n *= f(3); break; case 'd': n ^= f(4); break;
      case 'e': n |= f(5); break; case 'f': n = -f(n); break; case 'g': return n; case 'i': n = f(n) * 7; break;
      case '0' ... '9': n = n * 10 + f(*s); break;
      default: n = f(n);
    }
  return n;
}
// A loop with more live values than registers, two switches in it, and a call that does not return.
__attribute__((noinline)) int machine(const unsigned char* code, int* r, int n) {
  int a = r[0], b = r[1], c = r[2], d = r[3], e = r[4], g = r[5], h = r[6], i = r[7], j = r[8], k = r[9];
  for (int pc = 0; pc < n; ++pc) {
    switch (code[pc]) {
      case 0: a += b; break; case 1: b ^= c; break; case 2: c = f(d); break; case 3: d = e - g; break;
      case 4: e = f(h) + i; break; case 5: g = j * k; break; case 6: h = f(a); break; case 7: i += a * 3; break;
      case 8: j = f(j); break; case 9: if (k == 12345) __builtin_trap(); k ^= h; break;
      case 10:
        switch (a & 15) {
          case 0: b++; break; case 1: c = f(c); break; case 2: d--; break; case 3: e = f(e) * 2; break; case 4: g ^= 77; break;
          case 5: h = f(2); break; case 6: i = 8; break; case 9: j = k; break; case 12: k = f(a); break;
        }
        break;
      default: return a + b * c - d + e * g - h + i * j - k;
    }
  }
  return a ^ b ^ c ^ d ^ e ^ g ^ h ^ i ^ j ^ k;
}
// All values have a case: no comparison.
enum kind { k0, k1, k2, k3, k4, k5, k6, k7 };
__attribute__((noinline)) int masked(unsigned x) {
  switch (x & 7) {
    case 0: return f(7); case 1: return f(3) * 2; case 2: return f(9) - 1; case 3: f(1); case 4: return f(4);
    case 5: return f(8) ^ 5; case 6: return f(2); case 7: return f(f(1));
  }
  return 0;
}
__attribute__((noinline)) int cold(int x) {
  switch (x) {
    case 0: return f(7); case 1: return f(3) * 2; case 2: return f(9) - 1; case 3: __builtin_abort(); case 4: return f(4);
    case 5: return f(8) ^ 5; case 6: f(3); __builtin_trap(); case 7: return f(f(1)); case 8: __builtin_unreachable();
  }
  return 0;
}
int main(int argc, char** argv) {
  int r[10] = {argc};
  return dense(argc) + shifted(argc) + bytes(argv[0]) + machine((unsigned char*)argv[0], r, 10) + masked(argc) + cold(argc);
}
)";

void check_switches(const std::string& compiler, const std::string& flags) {
  CAPTURE(compiler);
  CAPTURE(flags);
  ScratchDirectory directory;
  const std::string assembly = directory / "program.s";
  const std::string program = directory / "program";
  std::ofstream(directory / "program.c") << kSwitches;
  REQUIRE(std::system((compiler + " -w -S " + flags + " -o " + assembly + " " + (directory / "program.c")).c_str()) ==
          0);
  const bool pie = flags.find("-fPIE") != std::string::npos;
  // -L keeps the local labels.
  REQUIRE(std::system(
              ("gcc -Wa,-L " + std::string(pie ? "-pie" : "-no-pie") + " -o " + program + " " + assembly).c_str()) ==
          0);

  Analyzed analyzed(program);
  std::map<std::string, OldAddr> labels;
  for (const Symbol& s : analyzed.image.symbols()) labels[s.name] = s.address;
  std::map<OldAddr, const JumpTable*> found;
  size_t uses = 0;
  for (const auto& function : analyzed.functions) {
    const std::string& name = function.first;
    const Resolved& r = function.second;
    if (name != "_start") CHECK_MESSAGE(!r.reason, name << ": " << r.why());
    for (const JumpTable& t : r.jumps.tables) {
      found[t.address] = &t;
      uses += t.uses.size();
      CHECK(t.relative == pie);
    }
  }
  const auto expected = tables_of(assembly);
  CHECK(expected.size() >= 5);
  CHECK(found.size() == expected.size());
  CHECK(uses >= expected.size());
  for (const auto& e : expected) {
    const std::string& table = e.first;
    const std::vector<std::string>& entries = e.second;
    CAPTURE(table);
    REQUIRE(labels.contains(table));
    const auto it = found.find(labels.at(table));
    REQUIRE(it != found.end());
    const std::vector<OldAddr>& targets = it->second->targets;
    REQUIRE(targets.size() >= entries.size());
    for (size_t i = 0; i < entries.size(); ++i)
      if (labels.contains(entries[i])) CHECK(targets[i].value == labels.at(entries[i]).value);
  }
}

}  // namespace

TEST_CASE("jump tables: every one that gcc and clang make is found, entry by entry") {
  for (const char* compiler : {"gcc", "clang -fno-addrsig"})
    for (const char* level : {"-O0", "-O1", "-O2", "-O3", "-Os"})
      for (const char* mode : {"-fPIE", "-fno-pie"}) check_switches(compiler, std::string(level) + " " + mode);
  check_switches("gcc", "-O2 -fPIE -fcf-protection");
  check_switches("gcc", "-O3 -fno-pie -fcf-protection -fno-omit-frame-pointer");
  check_switches("gcc", "-O2 -fPIE -fipa-ra -fno-plt -mno-red-zone");
  check_switches("clang -fno-addrsig", "-O2 -fPIE -fcf-protection -fno-omit-frame-pointer");
}

TEST_CASE("jump tables: an address in a table's place is changed wherever it stands") {
  // The same table named by two instructions, one of them in the function's prologue and kept on the stack.
  ScratchDirectory directory;
  Analyzed a(build(directory, "program.s", R"(
    .globl main
    .type main, @function
main: .cfi_startproc
    sub $24, %rsp
    .cfi_adjust_cfa_offset 24
    lea table(%rip), %rax
    mov %rax, 8(%rsp)
    cmp $1, %edi
    je 1f
    lea table(%rip), %rdx
    jmp 2f
1:  mov 8(%rsp), %rdx
2:  cmp $2, %edi
    ja 5f
    mov %edi, %edi
    movslq (%rdx,%rdi,4), %rcx
    add 8(%rsp), %rcx
    notrack jmp *%rcx
3:  xor %eax, %eax
    jmp 6f
4:  mov $1, %eax
    jmp 6f
5:  mov $2, %eax
6:  add $24, %rsp
    .cfi_adjust_cfa_offset -24
    ret
    .cfi_endproc
    .size main, .-main
    .section .rodata
    .align 4
table: .long 3b-table, 4b-table, 5b-table, 0
    .section .note.GNU-stack
)",
                   "gcc -pie"));
  const Resolved& main = a.functions.at("main");
  REQUIRE_MESSAGE(!main.reason, main.why());
  REQUIRE(main.jumps.tables.size() == 1);
  CHECK(main.jumps.tables[0].uses.size() == 2);
  CHECK(main.jumps.tables[0].targets.size() == 3);
  CHECK(a.count("main", JumpKind::table) == 1);
}

TEST_CASE("jump tables: a table whose address has another use is not cloned") {
  ScratchDirectory directory;
  Analyzed a(build(directory, "program.s", R"(
    .globl main
    .type main, @function
main: .cfi_startproc
    lea table(%rip), %rdx
    mov %rdx, sink(%rip)
    cmp $1, %edi
    ja 4f
    mov %edi, %edi
    movslq (%rdx,%rdi,4), %rcx
    add %rdx, %rcx
    jmp *%rcx
3:  xor %eax, %eax
    ret
4:  mov $1, %eax
    ret
    .cfi_endproc
    .size main, .-main
    .section .rodata
table: .long 3b-table, 4b-table
    .local sink
    .comm sink, 8
    .section .note.GNU-stack
)",
                   "gcc -pie"));
  CHECK(a.functions.at("main").stays_for(ReasonCode::table_address_used));
}

TEST_CASE("jump tables: a required entry that leads out of the function, to another one, keeps it in place") {
  ScratchDirectory directory;
  Analyzed a(build(directory, "program.s", R"(
    .globl main
    .type main, @function
main: .cfi_startproc
    cmp $2, %edi
    ja 4f
    lea table(%rip), %rdx
    mov %edi, %edi
    movslq (%rdx,%rdi,4), %rcx
    add %rdx, %rcx
    jmp *%rcx
3:  xor %eax, %eax
    ret
4:  mov $1, %eax
    ret
    .cfi_endproc
    .size main, .-main
    nop                               # else it would stand for "cannot happen"
    .type other, @function
other: .cfi_startproc
    mov $2, %eax
    ret
    .cfi_endproc
    .size other, .-other
    .globl caller
    .type caller, @function
caller: .cfi_startproc
    call other
    ret
    .cfi_endproc
    .size caller, .-caller
    .section .rodata
table: .long 3b-table, other-table, 4b-table
    .section .note.GNU-stack
)",
                   "gcc -pie"));
  CHECK_MESSAGE(a.functions.at("main").stays_for(ReasonCode::table_leads_out), a.functions.at("main").why());
}
