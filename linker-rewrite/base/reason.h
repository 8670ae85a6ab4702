// Why a function stays where it was: a value, so that it can be compared and counted. Its words are in one table, which
// the report, its counts and the tests of the manual read. A function that can move has no reason (std::nullopt).

#ifndef LINKER_REWRITE_BASE_REASON_H
#define LINKER_REWRITE_BASE_REASON_H

#include <array>
#include <string>
#include <string_view>

#include "address.h"
#include "linker-rewrite/text/numbers.h"

namespace profld {

// In the order of the list in profld(1).
enum class ReasonCode : uint8_t {
  // Its bytes or its place matter.
  v8_builtin,
  inherits_register,
  beside_inheriting,
  bytes_read_by_code,
  reads_own_code,
  patched,
  relocated,
  inner_address_used,
  inner_address_in_data,
  place_compared,
  label_taken_for_no_jump,
  address_between_instructions,
  probe_between_instructions,
  called_in_middle,
  calls_own_middle,
  restartable_sequence,
  frame_after_no_call,
  changes_return_address,
  data_after_call,
  splits_stack,
  caller_compared,
  returns_twice,
  signal_frame,
  no_return_address,
  // Where a jump goes is not known.
  jump_not_understood,
  jump_not_reached,
  jump_with_frame,
  table_addresses_differ,
  table_bases_differ,
  table_address_used,
  table_base_used,
  table_address_computed,
  table_base_computed,
  table_of_fragment,
  table_leads_out,
  table_without_entry,
  table_entry_leads_out,
  table_of_entry_only,
  label_or_number,
  stack_not_followed,
  may_be_inside,
  // Its bytes are not code that is understood.
  no_instruction,
  part_not_decoded,
  far_return,
  far_branch,
  unusual_branch,
  short_address,
  not_in_file,
  jumps_between_instructions,
  jumped_to_between_instructions,
  unwind_address,
  unwind_program_counter,
  unwind_not_understood,
  unwind_outdated,
  unwind_extension,
  personality_unknown,
  exception_table_not_understood,
  // There is no room.
  too_short,
  too_short_and_no_room,
};

struct ReasonWords {
  ReasonCode code;
  std::string_view words;  // "..." stands for the address, if the reason names one
};

inline constexpr std::array kReasons = std::to_array<ReasonWords>({
    {ReasonCode::v8_builtin, "a builtin of V8, which finds frames by return address and sums up its code"},
    {ReasonCode::inherits_register,
     "it uses a register that its caller has set, as code does that is found by address"},
    {ReasonCode::beside_inheriting, "it calls, or is called by, code at ... that uses a register of its caller's"},
    {ReasonCode::bytes_read_by_code, "its bytes are read as data by the instruction at ..."},
    {ReasonCode::reads_own_code, "it reads its own code as data"},
    {ReasonCode::patched, "the program may patch it at ..."},
    {ReasonCode::relocated, "the dynamic linker changes the instruction at ... in a way that its copy cannot be"},
    {ReasonCode::inner_address_used, "an address inside it is used at ..."},
    {ReasonCode::inner_address_in_data, "data at ... has an address inside it, for no jump that is known"},
    {ReasonCode::place_compared, "its start is compared with other addresses at ..., to tell which of them lie in it"},
    {ReasonCode::label_taken_for_no_jump, "the address of its middle is taken at ... for no jump that is known"},
    {ReasonCode::address_between_instructions, "the instruction at ... takes an address that is no instruction's"},
    {ReasonCode::probe_between_instructions, "a probe lies between two of its instructions at ..."},
    {ReasonCode::called_in_middle, "called in its middle from ..."},
    {ReasonCode::calls_own_middle, "calls into its own middle at ..."},
    {ReasonCode::restartable_sequence,
     "it has a restartable sequence (rseq), which the kernel begins again by its address"},
    {ReasonCode::frame_after_no_call, "a frame table has a return address in it, ..., that is after no call"},
    {ReasonCode::changes_return_address, "it changes its return address"},
    {ReasonCode::data_after_call, "what it calls at ... reads or skips the bytes after the call"},
    {ReasonCode::splits_stack, "its stack is split: what it calls for more goes on after the return address"},
    {ReasonCode::caller_compared,
     "it calls, or may call, a function that compares its return address with others at ..."},
    {ReasonCode::returns_twice, "vfork or clone: the system call in it returns twice"},
    {ReasonCode::signal_frame, "signal frame"},
    {ReasonCode::no_return_address, "outermost function: it has no return address"},
    {ReasonCode::jump_not_understood, "indirect jump at ... is not understood"},
    {ReasonCode::jump_not_reached, "indirect jump at ... is not reached"},
    {ReasonCode::jump_with_frame, "indirect jump at ... leaves the function with its frame in place"},
    {ReasonCode::table_addresses_differ,
     "indirect jump at ... has the address of its table from several places that differ"},
    {ReasonCode::table_bases_differ, "indirect jump at ... has the base of its table from several places that differ"},
    {ReasonCode::table_address_used, "indirect jump at ... uses the address of its table otherwise as well"},
    {ReasonCode::table_base_used, "indirect jump at ... uses the base of its table otherwise as well"},
    {ReasonCode::table_address_computed,
     "indirect jump at ... computes the address of its table in a way not understood"},
    {ReasonCode::table_base_computed, "indirect jump at ... computes the base of its table in a way not understood"},
    {ReasonCode::table_of_fragment, "a jump table of it leads to ..."},
    {ReasonCode::table_leads_out, "jump table at ... leads out of the function"},
    {ReasonCode::table_without_entry, "jump table at ... has no entry that leads into the function"},
    {ReasonCode::table_entry_leads_out, "jump table at ... has an entry that leads out of the function"},
    {ReasonCode::table_of_entry_only, "jump table at ... leads to the entry of the function only"},
    {ReasonCode::label_or_number, "computed goto: a number in its code may be the address of a label or not"},
    {ReasonCode::stack_not_followed, "no table describes it, and its stack or what it has to keep cannot be followed"},
    {ReasonCode::may_be_inside, "no table describes it, and it may be a part of another function"},
    {ReasonCode::no_instruction, "bytes that are no instruction at ..."},
    {ReasonCode::part_not_decoded, "a part of it does not decode"},
    {ReasonCode::far_return, "far return at ..."},
    {ReasonCode::far_branch, "far branch at ..."},
    {ReasonCode::unusual_branch, "unusual branch at ..."},
    {ReasonCode::short_address, "32-bit instruction-relative address at ..."},
    {ReasonCode::not_in_file, "its bytes are not in the file"},
    {ReasonCode::jumps_between_instructions, "jumps between two instructions at ..."},
    {ReasonCode::jumped_to_between_instructions, "jumped to between two of its instructions"},
    {ReasonCode::unwind_address, "its unwind table contains an address"},
    {ReasonCode::unwind_program_counter, "its unwind table computes with the program counter"},
    {ReasonCode::unwind_not_understood, "its unwind table is not understood"},
    {ReasonCode::unwind_outdated, "its unwind table is of an outdated kind"},
    {ReasonCode::unwind_extension, "its unwind table has an unknown extension"},
    {ReasonCode::personality_unknown, "its personality routine is known at run time only"},
    {ReasonCode::exception_table_not_understood, "its exception table is not understood"},
    {ReasonCode::too_short, "too short for a jump to its copy"},
    {ReasonCode::too_short_and_no_room, "too short for a jump to its copy, and no room near it"},
});
static_assert([] {
  for (size_t i = 0; i < kReasons.size(); ++i)
    if (kReasons[i].code != ReasonCode(i)) return false;
  return kReasons.size() == size_t(ReasonCode::too_short_and_no_room) + 1;
}());

// A reason's words without its address, as profld(1) has them.
constexpr std::string_view words_of(ReasonCode code) { return kReasons[size_t(code)].words; }

struct Reason {
  ReasonCode code;
  OldAddr at;  // for the words that name an address; else 0

  constexpr Reason(ReasonCode c, OldAddr address = OldAddr()) : code(c), at(address) {}
  constexpr bool operator==(const Reason&) const = default;
};

// For the report: the words, with the address in its place.
inline std::string text_of(const Reason& reason) {
  constexpr std::string_view kAddress = "...";
  std::string s(words_of(reason.code));
  if (const size_t place = s.find(kAddress); place != std::string::npos)
    s.replace(place, kAddress.size(), prof_text::hexadecimal(reason.at.value));
  return s;
}

}  // namespace profld

#endif
