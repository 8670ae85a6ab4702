// Functions that never return, told by their code and by what they call.

#include "linker-rewrite/program/noreturn.h"

#include "tests/integration/code_fixture.h"

using namespace code_fixture;

namespace {

const char* const kCalls = R"(
    function returns
    ret
    done returns
    function stops
    ud2
    done stops
    function spins
1:  pause
    jmp 1b
    done spins
    function aborts
    call abort@plt
    nop
    ret                               # of some other path
    done aborts
    function aborts_last
    jmp abort@plt
    done aborts_last
    function aborts_through_word
    call *abort@GOTPCREL(%rip)
    ret
    done aborts_through_word
    function prints
    call puts@plt
    ret
    done prints
    function perhaps
    test %edi, %edi
    je 1f
    call abort@plt
1:  ret
    done perhaps
    function both_ways
    test %edi, %edi
    je 1f
    call abort@plt
1:  ud2
    done both_ways
    function recursive
    call recursive
    ret
    done recursive
    function through_pointer
    call *%rdi
    ret
    done through_pointer
    function jumps_through_pointer
    jmp *%rdi
    done jumps_through_pointer
    function runs_on                  # into what follows it
    call puts@plt
    done runs_on
    function deep1
    call aborts
    ret
    done deep1
    function deep2
    call deep1
    ret
    done deep2
    function deep3
    call deep2
    ret
    done deep3
    function deep4
    call deep3
    ret
    done deep4
    function deep5
    call deep4
    ret
    done deep5
)";

}  // namespace

TEST_CASE("no-return: calls out of which no path leads") {
  for (const std::string mode : {"gcc -pie", "gcc -no-pie"}) {
    CAPTURE(mode);
    const Assembled a(kCalls, mode);
    const auto never_returns = [&](const std::string& function) {
      Noreturn fresh(a.image(), a.frames());
      return fresh.never_returns({.flow = Flow::call}, a.address(function));
    };
    for (const std::string name : {"stops", "spins", "aborts", "aborts_last", "aborts_through_word", "both_ways"})
      CHECK_MESSAGE(never_returns(name), name);
    for (const std::string name :
         {"returns", "prints", "perhaps", "recursive", "through_pointer", "jumps_through_pointer", "runs_on"})
      CHECK_MESSAGE(!never_returns(name), name);
  }
}

TEST_CASE("no-return: calls are followed, but not without end") {
  const Assembled a(kCalls, "gcc -pie");
  const auto never_returns = [&](const std::string& function) {
    Noreturn fresh(a.image(), a.frames());
    return fresh.never_returns({.flow = Flow::call}, a.address(function));
  };
  CHECK(never_returns("deep1"));
  CHECK(never_returns("deep3"));
  CHECK(!never_returns("deep5"));
}

TEST_CASE("no-return: a call through a register may lead anywhere, one through an imported word to its function") {
  const Assembled a(kCalls, "gcc -pie");
  Noreturn noreturn(a.image(), a.frames());
  const auto first_call_ends = [&](const std::string& function) {
    const Code& code = a.program.code(a.program.ranges[a.range(function)]);
    return noreturn.never_returns(code.insns[0], code.target(code.insns[0]));
  };
  CHECK(first_call_ends("aborts_through_word"));
  CHECK(!first_call_ends("through_pointer"));
}
