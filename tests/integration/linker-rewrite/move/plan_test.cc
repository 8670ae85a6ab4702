// What changes in the copy of a function, how long that makes it, and the instructions that are written.

#include "linker-rewrite/move/plan.h"

#include "linker-rewrite/move/relocate.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "tests/integration/code_fixture.h"

using namespace code_fixture;

namespace {

struct Planned {
  RangePlan plan;
  RangeCopy copy;

  Planned(const Assembled& a, const std::string& function, bool hooked) {
    copy.original = a.program.ranges[a.range(function)].range;
    plan = plan_copy(a.program, a.range(function), hooked, copy);
  }

  uint64_t growth() const { return copy.size - copy.original.size(); }
  size_t count(Form form) const { return size_t(std::ranges::count(plan.changes, form, &Change::form)); }
};

// A function with a branch over some returns. Each gets a hook, so that the branch is longer in the copy.
Assembled with_branch_over_returns(const std::string& branch) {
  return Assembled("function f\n" + branch + R"( 1f
    .rept 10
    test %esi, %esi
    jne 2f
    ret
2:  xor %eax, %eax
    .endr
1:  ret
    done f
)");
}

// A function that leaves by jumps to another, and that one.
const std::string kTailCalls = R"(
    function f
    test %edi, %edi
    je other
    jrcxz other
    jmp other
    done f
    function other
    ret
    done other
)";

// All copies of the program, with hooks.
struct Emitted {
  Bytes text, tables;
  CopyMap copies;
  HookSites sites;
  static constexpr uint64_t kText = 0x100000, kHookSlots = 0x200000, kTables = kHookSlots + 32;

  explicit Emitted(Assembled& a) {
    for (Group& g : a.program.groups) g.selected = g.hooked = true;
    Relocator relocator(a.program, HookSlots(NewAddr(kHookSlots)), std::nullopt);
    relocator.plan(NewAddr(kText));
    std::vector<std::vector<NewAddr>> exits;
    relocator.emit(
        NewAddr(kTables), text, tables, [] {}, {}, &exits);
    sites = relocator.hook_sites(exits);
    copies = relocator.take_copies();
  }

  const RangeCopy& copy(const Assembled& a, const std::string& function) const {
    return *copies.find(a.address(function));
  }
  ByteView bytes(const RangeCopy& c) const { return ByteView(text).subspan(c.start.value - kText, c.size); }
  // The instructions of a copy, by what they do.
  std::vector<Flow> flows(const RangeCopy& c) const {
    std::vector<Flow> flows;
    for (ByteView rest = bytes(c); !rest.empty();) {
      const Insn* insn = DecodeCache::of_this_thread().find_insn(rest);
      REQUIRE(insn);
      flows.push_back(insn->flow);
      rest = rest.subspan(insn->length);
    }
    return flows;
  }
};

}  // namespace

TEST_CASE("plan: without hooks a copy is its original") {
  Assembled a = with_branch_over_returns("je");
  const Planned p(a, "f", false);
  CHECK(p.plan.changes.empty());
  CHECK(p.plan.enter_hook_before == RangePlan::kNone);
  CHECK(!p.plan.falls_off);
  CHECK(p.growth() == 0);
  CHECK(p.copy.steps.size() == 1);
}

TEST_CASE("plan: hooks at the entry, after ENDBR64, and before each return") {
  Assembled a(R"(
    function f
    test %edi, %edi
    je 1f
    ret
1:  ret
    done f
    function checked
    endbr64
    ret
    done checked
)");
  const Planned p(a, "f", true);
  CHECK(p.plan.enter_hook_before == 0);
  CHECK(p.copy.body == kHookLength);
  CHECK(p.plan.returns == 2);
  CHECK(p.growth() == 3 * kHookLength);
  CHECK(p.copy.offset(0) == 0);
  CHECK(p.copy.offset(2) == kHookLength + 2);      // the branch
  CHECK(p.copy.offset(5) == 2 * kHookLength + 5);  // where it leads: to the hook before the second ret

  const Planned checked(a, "checked", true);
  CHECK(checked.plan.enter_hook_before == 1);
  CHECK(checked.copy.body == kEndbr64Length + kHookLength);
}

TEST_CASE("plan: a short branch stays short while it reaches, and is lengthened when hooks are in between") {
  struct Lengthened {
    std::string branch;
    Form form;
    uint32_t more;  // bytes
  };
  for (const Lengthened& l : {Lengthened{"jmp", Form::jump, kJumpLength - kShortJumpLength},
                              Lengthened{"jg", Form::jump_if, kJumpIfLength - kShortJumpLength},
                              Lengthened{"jrcxz", Form::jump_if_short_far, kShortJumpLength + kJumpLength},
                              Lengthened{"loop", Form::jump_if_short_far, kShortJumpLength + kJumpLength}}) {
    CAPTURE(l.branch);
    const Assembled near("function f\n" + l.branch + " 1f\n ret\n1: ret\n done f\n");
    const Planned stays(near, "f", true);
    CHECK(stays.count(l.form) == 0);
    CHECK(stays.growth() == 3 * kHookLength);

    const Assembled far = with_branch_over_returns(l.branch);
    const Planned grows(far, "f", true);
    CHECK(grows.plan.returns == 11);
    CHECK(grows.count(l.form) == 1);
    CHECK(grows.growth() == 12 * kHookLength + l.more);
    CHECK(Planned(far, "f", false).growth() == 0);
  }
}

TEST_CASE("plan: a branch that is lengthened may put another out of reach") {
  Assembled a(R"(
    function f
    jne 2f                            # over 125 bytes, of which the hooks are none
    je 1f
    .skip 123, 0x90
2:  nop
    ret
1:  ret
    done f
)");
  CHECK(Planned(a, "f", false).count(Form::jump_if) == 0);
  const Planned p(a, "f", true);
  CHECK(p.count(Form::jump_if) == 2);
  CHECK(p.growth() == 3 * kHookLength + 2 * (kJumpIfLength - kShortJumpLength));
}

TEST_CASE("plan: a loop to the first instruction leads after the entry hook") {
  Assembled a(R"(
    function f
1:  .skip 125, 0x90
    jne 1b                            # over 127 bytes
    ret
    done f
)");
  CHECK(Planned(a, "f", true).count(Form::jump_if) == 0);
}

TEST_CASE("plan: jumps out of a function are as long as they can be, and tail calls have hooks") {
  Assembled a(kTailCalls + R"(
    function caller
    call other
    call f
    ret
    done caller
)");
  const Planned p(a, "f", true);
  CHECK(p.plan.tail_jumps == 3);
  CHECK(p.plan.returns == 0);
  CHECK(p.count(Form::tail_call_if) == 1);
  CHECK(p.count(Form::tail_call_if_short) == 1);
  CHECK(p.count(Form::jump) == 1);

  const Planned plain(a, "f", false);
  CHECK(plain.plan.tail_jumps == 0);
  CHECK(plain.count(Form::jump_if) == 1);
  CHECK(plain.count(Form::jump_if_short_far) == 1);
  CHECK(plain.count(Form::jump) == 1);
  CHECK(plain.copy.size == 2 + kJumpIfLength + (2 + kShortJumpLength + kJumpLength) + kJumpLength);
}

TEST_CASE("plan: a function that goes on after its last instruction gets a jump there") {
  Assembled a(R"(
    function f
    nop
    done f
    function ends_with_call
    call f
    done ends_with_call
    function other
    ret
    done other
)");
  for (const std::string name : {"f", "ends_with_call"}) {
    CAPTURE(name);
    const Planned p(a, name, false);
    CHECK(p.plan.falls_off);
    CHECK(p.growth() == kJumpLength);
  }
  CHECK(!Planned(a, "other", false).plan.falls_off);
}

TEST_CASE("emit: a copy's instructions are those of its plan") {
  Assembled a(kTailCalls);
  const Emitted e(a);
  using F = Flow;
  CHECK(e.flows(e.copy(a, "other")) == std::vector{F::call_indirect, F::call_indirect, F::ret});
  // Hook, test; jne over hook and jump; jrcxz over a jump over hook and jump; hook and jump.
  CHECK(e.flows(e.copy(a, "f")) == std::vector{F::call_indirect, F::next, F::jump_if, F::call_indirect, F::jump,
                                               F::jump_if_short, F::jump, F::call_indirect, F::jump, F::call_indirect,
                                               F::jump});
  // The last jump leads to the copy of `other`, after the entry hook.
  const RangeCopy& f = e.copy(a, "f");
  const auto distance = last_number<int32_t>(e.bytes(f).last(kJumpLength));
  REQUIRE(distance);
  CHECK(f.start + f.size + uint64_t(int64_t(*distance)) == e.copy(a, "other").start + e.copy(a, "other").body);
}

TEST_CASE("emit: hooks that leave begin within a word, and each function leaves by its own") {
  size_t long_calls = 0, nops = 0;
  for (int place = 0; place < 8; ++place) {
    CAPTURE(place);
    const std::string skip = "    .balign 8\n    .skip " + std::to_string(place) + ", 0xcc\n";
    Assembled a(skip + kTailCalls + skip + R"(
    function returns
    endbr64
    test %edi, %edi
    je 1f
    ret
1:  xor %eax, %eax
    ret
    done returns
)");
    a.program.hooks_leave = true;
    const Emitted e(a);
    const auto at = [&](NewAddr address) { return e.text.data() + (address.value - Emitted::kText); };
    size_t exits = 0;
    for (const HookSites::Function& function : e.sites.functions) {
      REQUIRE(function.entries.size() == 1);
      const NewAddr entry = function.entries[0] - kHookLength;
      const bool is_long = prof_format::crosses_word(entry.value);
      CHECK(at(entry)[0] == 0xff);
      CHECK(at(entry)[1] == 0x15);
      if (is_long) CHECK(at(entry)[-1] == 0x48);
      long_calls += is_long;
      for (const NewAddr end : function.exits) {
        const NewAddr exit = end - kHookLength;
        CHECK(!prof_format::crosses_word(exit.value));
        CHECK(at(exit)[0] == 0xff);
        CHECK(at(exit)[1] == 0x15);
        nops += at(exit)[-1] == 0x90;
        // The second word, which holds the hook of leaving.
        CHECK(end + uint64_t(int64_t(*last_number<int32_t>(ByteView(at(exit), kHookLength)))) ==
              NewAddr(Emitted::kHookSlots + 8));
        ++exits;
      }
    }
    CHECK(exits == 3 + 1 + 2 + 1);  // of f, other, returns, main
    // The tail call leads to the whole function, whose own hook enters it.
    const RangeCopy& f = e.copy(a, "f");
    const auto distance = last_number<int32_t>(e.bytes(f).last(kJumpLength));
    CHECK(f.start + f.size + uint64_t(int64_t(*distance)) == e.copy(a, "other").start);
    CHECK(f.body + f.start.value == at(f.start + f.body) - e.text.data() + Emitted::kText);
  }
  CHECK(long_calls > 0);
  CHECK(nops > 0);
}

TEST_CASE("emit: bodies keep their place in a line of code, and what is between copies stops control") {
  Assembled a = with_branch_over_returns("je");
  const Emitted e(a);
  const RangeCopy& f = e.copy(a, "f");
  CHECK((f.start + f.body).value % 64 == a.address("f").value % 64);
  NewAddr end(Emitted::kText);
  size_t filled = 0;
  for (const RangeCopy& c : e.copies.copies()) {
    for (; end < c.start; end += 1, ++filled) CHECK(e.text[end.value - Emitted::kText] == kFillByte);
    end = c.start + c.size;
  }
  CHECK(filled > 0);
  CHECK(end.value - Emitted::kText == e.text.size());
}

TEST_CASE("emit: entries of a jump table hold the places of copies, or nothing is written") {
  Assembled a(kTailCalls);
  Group& f = a.program.groups[a.group("f")];
  auto with_table = [&](bool relative, uint8_t entry_size, bool sign_extended) {
    const OldAddr at = a.address("other");  // any place for the table that is copied
    f.indirect.tables = {{at, at, relative, at, entry_size, sign_extended, {a.address("f")}, 0, {}}};
    return Emitted(a);
  };
  const auto place = [&](const Emitted& e) { return e.copies.jump_target(a.address("f")).value; };
  for (const uint8_t size : {uint8_t(4), uint8_t(8)}) {
    const Emitted e = with_table(false, size, false);
    CHECK(read_entry(e.tables.data(), size, false) == place(e));
  }
  const Emitted relative = with_table(true, 4, true);
  CHECK(Emitted::kTables + read_entry(relative.tables.data(), 4, true) == place(relative));
  CHECK_THROWS_AS(with_table(false, 2, false), Error);
  CHECK_THROWS_AS(with_table(true, 4, false), Error);  // the copy lies before its table
  CHECK_THROWS_AS(with_table(false, 16, false), Error);
}
