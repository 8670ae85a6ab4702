// Calls of imported functions: which are chosen, and the hooks around them.

#include "linker-rewrite/decide/selection.h"
#include "linker-rewrite/move/relocate.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "tests/integration/code_fixture.h"

using namespace code_fixture;

namespace {

// In a library symbols may stay undefined, and its own functions are reached through stubs as well.
constexpr char kLink[] = "gcc -nostdlib -shared";

constexpr char kCalls[] = R"(
    function f
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    call strlen@plt
    call *strlen@GOTPCREL(%rip)
    call own@plt
    call _setjmp@plt
    call *%rax
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    test %eax, %eax
    je strlen@plt
    jmp puts@plt
    done f
    function own
    ret
    done own
    function in_frame                 # jumps with its frame in place: no tail call
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    jmp puts@plt
    done in_frame
    function stays
    call strlen@plt
    ret
    done stays
)";

struct Selected {
  Assembled assembled;
  Program& program;
  ImportCallCounts counts;

  explicit Selected(const Selection& selection, const std::string& link = kLink)
      : assembled(kCalls, link), program(assembled.program) {
    select_groups(program, selection);
    program.groups[assembled.group("stays")].stay(ReasonCode::too_short);
    counts = select_import_calls(program, selection);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Import& i : program.imports) names.push_back(i.name);
    return names;
  }
};

}  // namespace

TEST_CASE("import calls: through stubs and through the GOT, of what is not in the file") {
  for (const std::string link : {"", " -Wl,-z,now", " -Wl,-z,ibtplt"}) {
    CAPTURE(link);
    const Selected s({}, kLink + link);
    CHECK(s.names() == std::vector<std::string>{"strlen", "puts"});
    CHECK(s.counts.calls == 2);
    CHECK(s.counts.tail_jumps == 2);
    CHECK(s.counts.to_special == 1);
    CHECK(s.counts.from_unhooked == 1);
    CHECK(s.program.imports[0].is_called);
    CHECK(s.program.imports[0].is_jumped_to);
    CHECK(s.program.imports[0].has_stub);
    CHECK(!s.program.imports[1].is_called);
    CHECK(s.program.imports[1].is_jumped_to);
  }
}

TEST_CASE("import calls: options choose by name, and none has hooks where functions have none") {
  CHECK(Selected({.not_ = {"str*"}}).names() == std::vector<std::string>{"puts"});
  CHECK(Selected({.only = {"f"}}).names().empty());
  CHECK(Selected({.only = {"f", "strlen"}}).counts.calls == 2);
  CHECK(Selected({.no_hooks = true}).names().empty());
  CHECK(Selected({.imports = false}).names().empty());
}

TEST_CASE("import calls: the hooks stand around calls and before tail jumps") {
  Selected s({});
  constexpr uint64_t kText = 0x100000, kHookSlots = 0x200000;
  Relocator relocator(s.program, HookSlots(NewAddr(kHookSlots)), std::nullopt);
  relocator.plan(NewAddr(kText));
  Bytes text, tables;
  relocator.emit(NewAddr(kHookSlots + 32), text, tables, [] {});
  const ImportThunks& thunks = relocator.thunks();
  CHECK(thunks.start() + thunks.size() == NewAddr(kText + text.size()));

  // Where each call and jump of a stretch of code leads; 0 if that is through memory or a register.
  auto flows = [&](NewAddr at, uint64_t size) {
    std::vector<std::pair<Flow, uint64_t>> found;
    for (uint64_t i = 0; i < size;) {
      const ByteView rest = ByteView(text).subspan(at.value - kText + i, size - i);
      const Insn* insn = DecodeCache::of_this_thread().find_insn(rest);
      REQUIRE(insn);
      i += insn->length;
      if (insn->flow == Flow::next) continue;
      const bool direct = insn->field_size == 4 && !insn->rip_relative;
      const uint64_t target =
          direct ? at.value + i + uint64_t(int64_t(*last_number<int32_t>(rest.first(insn->length)))) : 0;
      found.emplace_back(insn->flow, target);
    }
    return found;
  };
  using F = Flow;
  const RangeCopy& f = *relocator.copies().find(s.assembled.address("f"));
  const auto found = flows(f.start, f.size);
  std::vector<Flow> kinds;
  for (const auto& [flow, target] : found) kinds.push_back(flow);
  CHECK(kinds == std::vector{F::call_indirect,                                // the entry hook
                             F::call, F::call, F::call,                       // strlen
                             F::call, F::call_indirect, F::call,              // strlen through the GOT
                             F::call, F::call, F::call_indirect,              // own, _setjmp, *%rax
                             F::jump_if, F::call, F::call_indirect, F::jump,  // strlen, counted
                             F::call, F::call_indirect, F::jump});            // puts, counted
  CHECK(found[1].second == thunks.enter(0).value);
  CHECK(found[3].second == thunks.leave().value);
  CHECK(found[4].second == thunks.enter(0).value);
  CHECK(found[6].second == thunks.leave().value);
  CHECK(found[11].second == thunks.count(0).value);
  CHECK(found[14].second == thunks.count(1).value);

  // What is after a call begins after the hook: a handler's range that begins there does not cover the hook.
  const Code& code = s.program.code(s.program.ranges[s.assembled.range("f")]);
  CHECK(f.offset(code.insns[2].offset) - f.offset(code.insns[1].offset) == code.insns[1].length + 2 * kCallLength);

  auto kinds_at = [&](NewAddr thunk) {
    std::vector<Flow> all;
    for (const auto& [flow, target] : flows(thunk, 16)) {
      all.push_back(flow);
      if (flow == F::ret) break;
    }
    return all;
  };
  CHECK(kinds_at(thunks.enter(0)) == std::vector{F::call_indirect, F::ret});
  CHECK(kinds_at(thunks.leave()) == std::vector{F::call_indirect, F::ret});
  CHECK(kinds_at(thunks.count(1)) == std::vector{F::call_indirect, F::call_indirect, F::ret});

  const std::vector<ImportCopy> copies = thunks.copies(s.program.imports);
  REQUIRE(copies.size() == 3);
  CHECK(copies[0].name == "strlen");
  CHECK(copies[1].name == "strlen");
  CHECK(copies[2].name == "puts");
  CHECK(copies[0].original == copies[1].original);
  CHECK(copies[1].start == copies[0].start + copies[0].size);
}
