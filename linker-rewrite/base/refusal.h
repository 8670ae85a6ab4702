// Error, which the rewriter throws but for command lines that it does not understand (UsageError, command_line.h), and
// why a program is not rewritten at all. The words of all refusals are in one table, which the test of the manual
// reads; only damaged and unreadable files have messages of their own.

#ifndef LINKER_REWRITE_BASE_REFUSAL_H
#define LINKER_REWRITE_BASE_REFUSAL_H

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

namespace profld {

// Its message is fit for a user ("what is wrong; what to do"), without the "profld: FILE: " that main puts before it.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
  bool is_nothing_to_rewrite = false;  // nothing is wrong: nothing in the file can be rewritten, or was to be
};

// In the order of the list in profld(1).
enum class Refusal {
  not_elf,
  not_64_bit,
  not_x86_64,
  not_linked,
  dynamic_linker,
  no_code,
  neither_program_nor_library,
  already_rewritten,
  set_user_id,
  file_capabilities,
  go_program,
  ocaml_program,
  ghc_program,
  no_functions,
  nothing_can_move,
  nothing_selected,
  all_left_out,
  no_interpreter,
  no_dynamic_section,
  no_room_for_replacement,
  segments_too_far,
  unwind_tables_too_far,
  data_too_far,
  too_many_headers,
  tls_not_aligned,
  no_room_for_relocations,
  names_too_long,
  too_many_sections,
  unknown_unwind_pointers,
  unknown_unwind_sizes,
  unknown_unwind_tables,
  trace_of_library,
  uses_gs,
  trace_without_hooks,
  too_many_blocks,
  heap_after_data,
  hooks_cannot_leave,
};

struct RefusalWords {
  Refusal code;
  std::string_view words;  // what is wrong; what to do
};

inline constexpr std::array kRefusals = std::to_array<RefusalWords>({
    {Refusal::not_elf, "not an ELF file; name a compiled program (for a script, its interpreter)"},
    {Refusal::not_64_bit, "not a 64-bit little-endian ELF file; only x86-64 programs can be rewritten"},
    {Refusal::not_x86_64, "not an x86-64 program; only x86-64 programs can be rewritten"},
    {Refusal::not_linked, "not a program (an object file or a core file); link it first"},
    {Refusal::dynamic_linker, "the dynamic linker, which runs before libprof.so can; leave it as it is"},
    {Refusal::no_code, "holds data only, no code; there is nothing to rewrite"},
    {Refusal::neither_program_nor_library, "neither a program nor a shared library; name a compiled program"},
    {Refusal::already_rewritten, "already rewritten by profld; give the original program"},
    {Refusal::set_user_id,
     "set-user-id or set-group-id program: a copy would lose its rights; profile it under its own user from a copy "
     "without them"},
    {Refusal::file_capabilities,
     "it has file capabilities, and a copy would lose them; make a copy (cp leaves them out) and profile that as a "
     "user who has these rights"},
    {Refusal::go_program,
     "a Go program: its run-time system finds frames by return address, which copies change; use pprof"},
    {Refusal::ocaml_program,
     "an OCaml program: its frame tables, by which its collector finds frames, are not understood; use perf"},
    {Refusal::ghc_program, "a GHC program: its run-time system keeps tables in front of its code; use GHC's -prof"},
    {Refusal::no_functions,
     "no functions found: neither unwind tables nor symbols name any; build it with -fasynchronous-unwind-tables"},
    {Refusal::nothing_can_move, "none of its functions can get hooks; the first stays in place for this reason:"},
    {Refusal::nothing_selected,
     "no function matches -F, -N, --min-size and --no-leaves; check the patterns against nm(1)"},
    {Refusal::all_left_out,
     "all functions of this library are too small to time, or are chosen by IFUNC resolvers; --all profiles small "
     "ones"},
    {Refusal::no_interpreter,
     "dynamically linked, but it names no dynamic linker (PT_INTERP): nothing would load libprof.so"},
    {Refusal::no_dynamic_section,
     "its interpreter (PT_INTERP) is no dynamic linker, as it has no dynamic section: nothing would load libprof.so"},
    {Refusal::no_room_for_replacement,
     "a C library whose prctl or syscall is too short for a jump to the one in libprof.so; leave this library as it "
     "is"},
    {Refusal::segments_too_far, "its segments span more than 2 GiB, farther than new code can reach; link it smaller"},
    {Refusal::unwind_tables_too_far,
     "too large: its code and its unwind tables would lie more than 2 GiB apart; choose fewer functions (-F)"},
    {Refusal::data_too_far, "too large: code and data would lie more than 2 GiB apart; choose fewer functions (-F)"},
    {Refusal::too_many_headers,
     "it has so many program headers that, with the new ones, the kernel would not load it; use perf"},
    {Refusal::tls_not_aligned,
     "its thread-local storage does not start at a multiple of its alignment; link it with a current linker"},
    {Refusal::no_room_for_relocations,
     "its dynamic section has no room for a relocation table; link it without RELR (-Wl,-z,nopack-relative-relocs)"},
    {Refusal::names_too_long, "its symbol names are too long; strip it"},
    {Refusal::too_many_sections, "it has too many sections; strip it"},
    {Refusal::unknown_unwind_pointers, "unwind tables with pointers of an unknown kind"},
    {Refusal::unknown_unwind_sizes, "unwind tables with sizes of an unknown kind"},
    {Refusal::unknown_unwind_tables, "unwind tables of an unknown kind"},
    {Refusal::trace_of_library, "a shared library, whose blocks --trace cannot write down; profile it without"},
    {Refusal::uses_gs, "it uses the register gs, which --trace needs; profile it without --trace"},
    {Refusal::trace_without_hooks,
     "it may make threads that only hooks tell the runtime of; trace it without --no-hooks"},
    {Refusal::too_many_blocks, "it has too many basic blocks for --trace=memory; choose fewer functions (-F)"},
    {Refusal::heap_after_data,
     "it takes the memory after its data for its heap, as dumped Lisps do, and copies have new segments there; use "
     "perf"},
    {Refusal::hooks_cannot_leave,
     "a static program or a library, and --latency is for programs with a dynamic linker; profile it without"},
});
static_assert([] {
  for (size_t i = 0; i < kRefusals.size(); ++i)
    if (kRefusals[i].code != Refusal(i)) return false;
  return kRefusals.size() == size_t(Refusal::hooks_cannot_leave) + 1;
}());

constexpr std::string_view words_of(Refusal code) { return kRefusals[size_t(code)].words; }

// Whether the file is in order and there is only nothing in it to rewrite: profld's exit status tells it apart.
constexpr bool is_nothing_to_rewrite(Refusal code) {
  switch (code) {
    case Refusal::dynamic_linker:
    case Refusal::no_code:
    case Refusal::no_functions:
    case Refusal::nothing_selected:
    case Refusal::all_left_out:
      return true;
    default:
      return false;
  }
}

// What cannot be, whatever the file: the mistake is in profld.
inline Error internal_error(const std::string& what) {
  return Error("internal error: " + what + "; this is a mistake in profld, please report it with the file");
}

// The error to throw. `detail`, if it is not empty, follows the words, after a space.
inline Error refusal(Refusal code, const std::string& detail = "") {
  Error error(std::string(words_of(code)) + (detail.empty() ? "" : " " + detail));
  error.is_nothing_to_rewrite = is_nothing_to_rewrite(code);
  return error;
}

}  // namespace profld

#endif
