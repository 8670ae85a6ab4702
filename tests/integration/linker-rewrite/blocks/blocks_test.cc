// Basic blocks: how control passes between them, what is live in them, and where counters and records stand.

#include "linker-rewrite/blocks/block_counters.h"
#include "linker-rewrite/blocks/flow_graph.h"
#include "linker-rewrite/blocks/liveness.h"
#include "tests/integration/code_fixture.h"

using namespace code_fixture;

namespace {

// A program whose functions all move.
struct Moving : Assembled {
  explicit Moving(const std::string& text) : Assembled(text) {
    for (Group& g : program.groups) g.selected = true;
  }

  const Code& code(const std::string& function) const { return program.code(program.ranges[range(function)]); }
  // Index of the instruction at a label.
  uint32_t insn(const std::string& function, const std::string& label) const {
    const auto index = code(function).index(address(label));
    REQUIRE(index);
    return uint32_t(*index);
  }
};

// Those in a function, by the instructions they stand before.
std::map<uint32_t, CounterPlace> places_in(const Moving& m, const BlockCounters& blocks, const std::string& function) {
  std::map<uint32_t, CounterPlace> found;
  for (const CounterPlace& p : blocks.of_range[m.range(function)]) found.emplace(p.insn, p);
  return found;
}

const std::string kCarryLoop = R"(
    function f
again: mov (%rsi,%rdx,8), %rax
    adc %rax, (%rdi,%rdx,8)
    lea 1(%rdx), %rdx
    dec %rcx
    jnz again
    setc %al
    ret
    done f
)";

}  // namespace

TEST_CASE("a record keeps the carry where that is live, though no other flag is") {
  const Moving m(kCarryLoop);
  const auto places = places_in(m, place_trace_records(m.program, {}), "f");
  REQUIRE(places.contains(0));
  CHECK(places.at(0).record->keeps_flags);
}

TEST_CASE("a record leaves alone the register by which the unwind table finds the frame") {
  const Moving m(R"(
    function f
    mov %rsp, %rax
    .cfi_def_cfa_register %rax
again: dec %edi
    jnz again
    mov %rax, %rsp
    .cfi_def_cfa_register %rsp
    xor %edi, %edi
    ret
    done f
)");
  const auto places = places_in(m, place_trace_records(m.program, {}), "f");
  const CounterPlace& place = places.at(m.insn("f", "again"));
  CHECK(place.record->saves_scratch);
  CHECK(place.record->scratch != kRax);
}

TEST_CASE("no records in a function with a block that they would keep an unwinder from leaving") {
  for (const std::string row : {".cfi_def_cfa_register %rax",   // flags are kept in rax
                                ".cfi_register %rbx, %rsp"}) {  // where the stack pointer is lower, no row says that
    CAPTURE(row);
    const Moving m("function f\n" + row + "\n" + kCarryLoop.substr(kCarryLoop.find("again")));
    CHECK(place_trace_records(m.program, {}).uncounted == 1);
  }
}

TEST_CASE("a record between two jumps of one comparison keeps the carry for the second") {
  const Moving m(R"(
    function f
    cmp %rsi, %rdi
    je 1f
second: jb below
    ret
1:  ret
    done f
    function below
    ret
    done below
)");
  const auto places = places_in(m, place_trace_records(m.program, {}), "f");
  REQUIRE(places.contains(m.insn("f", "second")));
  CHECK(places.at(m.insn("f", "second")).record->keeps_flags);
}

TEST_CASE("an increment stands where the carry is live, which it does not change") {
  const Moving m(kCarryLoop);
  const auto places = places_in(m, place_block_counters(m.program, {}), "f");
  REQUIRE(places.contains(0));
  CHECK(places.at(0).again.empty());
}

TEST_CASE("a loop is hotter than what stands among its code, and a block than each of those it chooses from") {
  const Moving m(R"(
    function f
    xor %eax, %eax
again: cmp $1, %edi
    je one
    jmp two
out: ret
one: inc %eax
    jmp join
two: add $2, %eax
join: dec %esi
    jz out
    jmp again
    done f
)");
  const FlowGraph graph(m.program, m.program.groups[m.group("f")], find_arrivals(m.program, {}));
  const std::vector<double> guessed = guess_frequencies(graph, std::vector<bool>(graph.blocks().size())).blocks;
  const auto at = [&](const std::string& label) {
    const auto b = std::ranges::find(graph.blocks(), m.insn("f", label), &BasicBlock::first);
    REQUIRE(b != graph.blocks().end());
    return guessed[size_t(b - graph.blocks().begin())];
  };
  CHECK(at("out") < at("one"));
  CHECK(at("one") < at("two"));  // after a jump, which goes forward
  CHECK(at("two") < at("again"));
  CHECK(at("one") + at("two") == doctest::Approx(at("join")));
}

TEST_CASE("a row of comparisons has its ways out counted, where they lead to the same place") {
  const std::string text = R"(
    function f
    nop
again: cmp %rdi, %rsi
first: jne out
    cmp %rdi, %rdx
second: jne out
    cmp %rdi, %rcx
third: jne out
    inc %rcx
    jmp again
out: BEHIND
    ret
    done f
)";
  const auto with = [&](const std::string& after) {
    std::string changed = text;
    return changed.replace(changed.find("BEHIND"), 6, after);
  };
  const Moving m(with("mov $1, %edx"));
  const BlockCounters blocks = place_block_counters(m.program, {});
  const std::vector<EdgeRecord>& ways = blocks.edges[m.range("f")];
  REQUIRE(ways.size() == 2);  // the loop has one in a block
  for (size_t i = 0; i < ways.size(); ++i) {
    CHECK(ways[i].insn == m.insn("f", i == 0 ? "second" : "third"));
    CHECK(ways[i].is_taken);
    CHECK(!ways[i].record);
  }
  // The way that has no counter is told as well: it has a count, too.
  size_t told = 0;
  for (const CountedFunction& function : blocks.functions)
    told += size_t(std::ranges::count_if(function.blocks, [](const CountedBlock& b) { return b.is_marked; }));
  CHECK(told == 3);
  // Not where flags are live.
  const Moving live(with("sete %al"));
  CHECK(place_block_counters(live.program, {}).edges[live.range("f")].empty());
}

TEST_CASE("a system call in the way of 32-bit programs ends a block") {
  const Moving m(R"(
    function f
    mov $1, %eax
again: int $0x80
after: mov $4, %eax
    dec %esi
    jnz again
    ret
    done f
)");
  const Group& group = m.program.groups[m.group("f")];
  const Arrivals arrivals = find_arrivals(m.program, {});
  const FlowGraph graph(m.program, group, arrivals);
  const auto b = std::ranges::find(graph.blocks(), m.insn("f", "again"), &BasicBlock::first);
  REQUIRE(b != graph.blocks().end());
  CHECK(b->end == m.insn("f", "after"));
  CHECK(b->leaves);
  // What the kernel reads of registers is nothing that the instruction says.
  const LiveRegisters live(group, graph);
  CHECK(live.at_start(size_t(b - graph.blocks().begin())) == 0xffff);
  const auto places = places_in(m, place_trace_records(m.program, {}), "f");
  REQUIRE(places.contains(b->first));
  CHECK(places.at(b->first).record->saves_scratch);
}

TEST_CASE("nothing stands before ENDBR64, wherever in a function that is") {
  const Moving m(R"(
    function f
    endbr64
    test %edi, %edi
    je landing
    ret
landing: endbr64
    xor %eax, %eax
    ret
    done f
)");
  for (const BlockCounters& blocks : {place_block_counters(m.program, {}), place_trace_records(m.program, {})}) {
    const auto places = places_in(m, blocks, "f");
    CHECK(places.size() >= 1);
    CHECK(!places.contains(0));
    CHECK(!places.contains(m.insn("f", "landing")));
  }
}

TEST_CASE("flags pass through a long row of functions") {
  constexpr unsigned kRow = 12;
  std::string text = "function f0\n cmp %esi, %edi\n jmp f1\n done f0\n";
  for (unsigned i = 1; i < kRow; ++i) {
    const std::string name = "f" + std::to_string(i);
    text += "function " + name + "\n jmp f" + std::to_string(i + 1) + "\n done " + name + "\n";
  }
  const std::string last = "f" + std::to_string(kRow);
  const Moving m(text + "function " + last + "\n je 1f\n ret\n1: ret\n done " + last + "\n");
  const BlockCounters blocks = place_block_counters(m.program, {});
  for (unsigned i = 1; i < kRow; ++i) CHECK(places_in(m, blocks, "f" + std::to_string(i)).empty());
}

TEST_CASE("flags that a caller reads are kept by all functions that return in the place of the one it calls") {
  const Moving m(R"(
    function by_running_on
    cmp %esi, %edi
    done by_running_on
    function after
    mov %esi, %eax
    ret
    done after
    function by_short_jump
    cmp %esi, %edi
    jrcxz target_of_short
    ret
    done by_short_jump
    function target_of_short
    mov %esi, %eax
    ret
    done target_of_short
    function by_jump_inside
    cmp %esi, %edi
    jmp inside
    done by_jump_inside
    function around
    xor %eax, %eax
inside: mov %esi, %eax
    ret
    done around
    function caller
    push %rbx
    call by_running_on
    je 1f
    call by_short_jump
    je 1f
    call by_jump_inside
    je 1f
1:  pop %rbx
    ret
    done caller
)");
  const BlockCounters blocks = place_block_counters(m.program, {});
  CHECK(places_in(m, blocks, "after").empty());
  CHECK(places_in(m, blocks, "target_of_short").empty());
  CHECK(!places_in(m, blocks, "around").contains(m.insn("around", "inside")));
}

TEST_CASE("flags that a caller reads are kept by all functions if the one it calls leaves by an indirect jump") {
  const Moving m(R"(
    function caller
    push %rbx
    call leaves
    je 1f
1:  pop %rbx
    ret
    done caller
    function leaves
    cmp %esi, %edi
    jmp *%rax
    done leaves
    function any
    mov %esi, %eax
    ret
    done any
)");
  Program program = m.program;
  program.groups[m.group("leaves")].indirect.jumps.push_back({{0, 1}, JumpKind::tail_call});
  CHECK(place_block_counters(program, {}).of_range[m.range("any")].empty());
}

// In the order of their addresses each block of these says nothing of the one before it.
TEST_CASE("what is live is found quickly, too, where each block jumps back to the one before it") {
  constexpr unsigned kBlocks = 150'000;
  std::string text = "function f\n jmp b" + std::to_string(kBlocks) + "\nb0: je 1f\n ret\n1: ret\n";
  for (unsigned i = 1; i <= kBlocks; ++i) text += "b" + std::to_string(i) + ": jmp b" + std::to_string(i - 1) + "\n";
  const Moving m(text + "done f\n");
  const Group& group = m.program.groups[m.group("f")];
  const Arrivals arrivals = find_arrivals(m.program, {});
  const FlowGraph graph(m.program, group, arrivals);
  const FlagPassing passing;
  const LiveFlags live(m.program, group, graph, passing);
  CHECK(live.at_start(0) == kZero);
  CHECK(live.at_start(graph.blocks().size() - 1) == kZero);
}

TEST_CASE("a shift by one overwrites flags, one by a register may leave them alone") {
  const Moving m(R"(
    function f
    shr %rax
    je 1f
    shr %cl, %rax
    je 1f
1:  ret
    done f
)");
  const Code& code = m.code("f");
  CHECK(flag_effect_of(code, code.insns[0]).overwrites == Flags(kAllFlags & ~kOverflow));
  CHECK(flag_effect_of(code, code.insns[2]).overwrites == 0);
}

TEST_CASE("flags that are read at a label are live at a jump to labels") {
  const Moving m(R"(
    function f
    test %edi, %edi
    jmp *(%rsi)
label: je 1f
    ret
1:  ret
    done f
)");
  Program program = m.program;
  Group& group = program.groups[m.group("f")];
  group.indirect.jumps.push_back({{0, 1}, JumpKind::labels});
  group.indirect.label_arrivals.push_back(m.address("label"));
  const Arrivals arrivals = find_arrivals(program, {});
  const FlowGraph graph(program, group, arrivals);
  const FlagPassing passing;
  const LiveFlags live(program, group, graph, passing);
  std::map<uint32_t, Flags> found;
  live.each_insn(0, [&](uint32_t i, Flags flags) { found[i] = flags; });
  CHECK(found.at(1) == kZero);
  CHECK(found.at(0) == 0);
}

TEST_CASE("what is jumped over needs a record, or the jump does; what is between needs none") {
  const Moving m(R"(
    function f
    xor %eax, %eax
loop: test $1, %dil
    je 1f
    inc %eax
1:  test $2, %dil
    je 2f
    inc %ecx
2:  test $4, %dil
    je 3f
    inc %edx
3:  dec %edi
    jnz loop
    ret
    done f
)");
  const BlockCounters blocks = place_trace_records(m.program, {});
  // One each for what is jumped over, one for the loop, and what is before and after it.
  CHECK(places_in(m, blocks, "f").size() + blocks.edges_of(m.range("f"))->size() == 6);
  for (const auto& [insn, place] : places_in(m, blocks, "f")) CHECK(place.number < blocks.records);
}

TEST_CASE("with memory, a record has the registers that tell all addresses in the block") {
  const Moving m(R"(
    function f
    mov (%rdi), %rax
    mov 8(%rdi,%rax,4), %rcx
    mov -8(%rsp), %rdx
    ret
    done f
)");
  const BlockCounters blocks = place_trace_records(m.program, {}, true);
  const auto places = places_in(m, blocks, "f");
  REQUIRE(places.size() == 1);
  CHECK(places.begin()->first >= 1);  // rax is there
  const std::vector<uint8_t>& values = places.begin()->second.record->values;
  CHECK(values == std::vector<uint8_t>{7, kRax, kRsp});
  const TracedBlock& block = blocks.traced.at(places.begin()->second.number);
  REQUIRE(block.accesses.size() == 4);
  CHECK(block.values == 3);
  CHECK(block.accesses[1].base == 0);
  CHECK(block.accesses[1].index == 1);
  CHECK(block.accesses[1].addend == 8);
  CHECK(block.accesses[3].base == 2);  // of ret
}

TEST_CASE("with memory, a block is cut where a pointer takes the place of the one before it") {
  const Moving m(R"(
    function f
    mov (%rdi), %rdi
    mov (%rdi), %rdi
    ret
    done f
)");
  const BlockCounters blocks = place_trace_records(m.program, {}, true);
  const auto places = places_in(m, blocks, "f");
  REQUIRE(places.size() == 2);
  CHECK(places.contains(0));
  CHECK(places.contains(1));
  CHECK(blocks.traced.at(places.at(0).number).instructions == 1);
  CHECK(blocks.traced.at(places.at(1).number).instructions == 2);
}

TEST_CASE("with memory, a block is silent only while its values stay in registers") {
  const auto silent = [](const std::string& after) {
    const Moving m("function f\n mov (%rdi), %rax\n" + after +
                   "test %rax, %rax\n jz 1f\n ret\n1: inc %eax\n ret\n done f\n");
    return place_trace_records(m.program, {}, true).of_range[m.range("f")].size();
  };
  CHECK(silent("") == 2);
  CHECK(silent("xor %edi, %edi\n") == 3);
}

TEST_CASE("with memory, what a block in between touches is told by each record after it, in its own way") {
  const Moving m(R"(
    function f
    xor %eax, %eax
loop: test $1, %sil
    jz 1f
    call f
1:  mov (%rdi,%rax,8), %rdx
    add $16, %rdi
    test $2, %sil
    jz 2f
    mov %rdi, %rcx
    call f
2:  dec %esi
    jnz loop
    ret
    done f
)");
  const BlockCounters blocks = place_trace_records(m.program, {}, true);
  const OldAddr between = m.program.ranges[m.range("f")].range.start + (m.code("f").insns[4].offset);  // 1:
  unsigned told = 0;
  for (uint32_t number = 0; number < blocks.traced.size(); ++number) {
    const TracedBlock& block = blocks.traced[number];
    if (block.range.start != between) continue;
    ++told;
    CHECK(number >= blocks.records);  // no record has this number
    REQUIRE(block.accesses.size() == 1);
    CHECK(block.accesses[0].base < block.values);
    CHECK(block.accesses[0].index < block.values);
    CHECK(block.accesses[0].addend == -16);  // rdi has grown since
    CHECK(block.next.size() == 1);
  }
  CHECK(told == 2);
}
