// Computed gotos: which words and which numbers in instructions are the addresses of labels.

#include "tests/integration/code_fixture.h"

using namespace code_fixture;

namespace {

// Calls `check` with the program of each compiler, at each of the levels, position independent and not.
template <class Check>
void for_each_build(const char* text, std::initializer_list<const char*> levels, Check check) {
  for (const char* compiler : {"gcc", "clang"})
    for (const char* level : levels)
      for (const char* mode : {"-fPIE -pie", "-fno-pie -no-pie"}) {
        const std::string command = std::string(compiler) + " " + level + " " + mode;
        CAPTURE(command);
        ScratchDirectory directory;
        check(Analyzed(build(directory, "program.c", text, command)));
      }
}

}  // namespace

TEST_CASE("computed goto: labels in data, in position-independent and other programs") {
  const char* const text = R"(
volatile int zero; int f(int x) { return x + zero; }
int run(const unsigned char* code) {
  static const void* const table[] = {&&add, &&sub, &&mul, &&out};
  int n = 1;
  goto *table[*code++];
add: n += f(3); goto *table[*code++];
sub: n -= f(4); goto *table[*code++];
mul: n *= f(5); goto *table[*code++];
out: return n;
}
int main(int argc, char** argv) { return run((unsigned char*)argv[0]); }
)";
  for_each_build(text, {"-O0", "-O1", "-O2", "-Os"}, [](const Analyzed& a) {
    const Resolved& run = a.functions.at("run");
    REQUIRE_MESSAGE(!run.reason, run.why());
    CHECK(a.count("run", JumpKind::tail_call) == 0);
    CHECK(run.jumps.jumps.size() >= 1);
    // Without relocations, either the code reads a clone, or the words themselves are changed.
    size_t entries = run.jumps.label_words.size();
    for (const JumpTable& t : run.jumps.tables) entries += t.targets.size();
    if (a.image.is_position_independent())
      CHECK(a.count("run", JumpKind::labels) == run.jumps.jumps.size());
    else
      CHECK(entries >= 4);
  });
}

TEST_CASE("computed goto: distances between labels, and labels in instructions") {
  const char* const text = R"(
volatile int zero; int f(int x) { return x + zero; }
int distances(const unsigned char* code) {
  static const int table[] = {&&add - &&sub, &&sub - &&sub, &&mul - &&sub, &&out - &&sub};
  int n = 1;
  goto *(&&sub + table[*code++]);
add: n += f(3); goto *(&&sub + table[*code++]);
sub: n -= f(4); goto *(&&sub + table[*code++]);
mul: n *= f(5); goto *(&&sub + table[*code++]);
out: return n;
}
int resumed(void** at, int n) {
  if (*at) goto **at;
  *at = &&second;
  return f(n) + 1;
second:
  *at = &&third;
  return f(n) * 2;
third:
  *at = 0;
  return f(n) * 3;
}
int main(int argc, char** argv) { void* at = 0; return distances((unsigned char*)argv[0]) + resumed(&at, argc) + resumed(&at, argc); }
)";
  for_each_build(text, {"-O0", "-O2", "-Os"}, [](const Analyzed& a) {
    const Resolved& distances = a.functions.at("distances");
    REQUIRE_MESSAGE(!distances.reason, distances.why());
    REQUIRE(distances.jumps.tables.size() == 1);
    const JumpTable& table = distances.jumps.tables[0];
    CHECK(table.relative);
    CHECK(table.base != table.address);
    CHECK(table.targets.size() == 4);
    CHECK(table.targets[1] == table.base);
    for (const LabelUse& u : distances.jumps.label_uses) CHECK(u.label == table.base);
    CHECK(distances.jumps.label_uses.size() >= 1);
    const Resolved& resumed = a.functions.at("resumed");
    REQUIRE_MESSAGE(!resumed.reason, resumed.why());
    CHECK(a.count("resumed", JumpKind::labels) == 1);
    CHECK(resumed.jumps.label_uses.size() == 2);
  });
}

TEST_CASE("computed goto: numbers that are no addresses of labels stay what they are") {
  ScratchDirectory directory;
  // Both functions go to labels; in one the number is stored as a label would be and added to, in the other compared.
  Analyzed a(build(directory, "program.s", kFunctions + R"(
    function adds
    mov $1f, %eax
    mov %rax, (%rdi)
    add $5, %rax
    imul %rax, %rsi
    jmp *8(%rdi)
1:  ret
    done adds
    function compares
    movq $1f, (%rdi)
    cmpq $1f, %rsi
    je 1f
    jmp *(%rdi)
1:  ret
    done compares
    function stores32
    movl $1f, (%rdi)
    jmp *8(%rdi)
1:  ret
    done stores32
    .section .note.GNU-stack
)",
                   "gcc -no-pie"));
  for (const std::string name : {"adds", "compares", "stores32"})
    CHECK_MESSAGE(a.functions.at(name).stays_for(ReasonCode::label_or_number),
                  name << ": " << a.functions.at(name).why());
}
