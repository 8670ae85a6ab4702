// The words of reasons and refusals: what the report makes of them, and whether profld(1) has them all.

#include "linker-rewrite/base/reason.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "linker-rewrite/base/refusal.h"
#include "linker-rewrite/report.h"

using namespace profld;

namespace {

// The items of the lists in profld(1), as they stand in its source.
std::set<std::string> items_of_manual() {
  std::ifstream in("man/profld.1");
  std::set<std::string> items;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(".It ")) items.insert(line.substr(4));
  return items;
}

}  // namespace

TEST_CASE("profld(1) has the words of each reason and each refusal") {
  const std::set<std::string> items = items_of_manual();
  REQUIRE_MESSAGE(!items.empty(), "the unit tests are to be run in the folder of the sources");
  for (const ReasonWords& r : kReasons) CHECK_MESSAGE(items.contains(std::string(r.words)), r.words);
  for (const RefusalWords& r : kRefusals) CHECK_MESSAGE(items.contains(std::string(r.words)), r.words);
}

TEST_CASE("no two reasons have the same words") {
  std::set<std::string_view> words;
  for (const ReasonWords& r : kReasons) words.insert(r.words);
  for (const RefusalWords& r : kRefusals) words.insert(r.words);
  CHECK(words.size() == kReasons.size() + kRefusals.size());
}

TEST_CASE("an address stands where the words have dots, and nowhere else") {
  CHECK(text_of({ReasonCode::far_return, OldAddr(0x401abc)}) == "far return at 0x401abc");
  CHECK(text_of({ReasonCode::table_leads_out, OldAddr(0x10)}) == "jump table at 0x10 leads out of the function");
  CHECK(text_of(ReasonCode::signal_frame) == "signal frame");
  for (const ReasonWords& r : kReasons) CHECK(text_of({r.code, OldAddr(1)}).find("...") == std::string::npos);
  CHECK(std::string(refusal(Refusal::unknown_unwind_pointers, "(LSDA)").what()) ==
        "unwind tables with pointers of an unknown kind (LSDA)");
}

TEST_CASE("the report counts by reason, whatever the address") {
  Report report;
  report.functions_total = report.functions_selected = 4;
  report.functions_instrumented = 1;
  report.code = {.hooked = 100, .stays = 20, .stubs = 3, .padding = 4, .unknown = 5};
  report.skipped = {{"a", OldAddr(1), {ReasonCode::jump_not_understood, OldAddr(0x11)}},
                    {"b", OldAddr(2), {ReasonCode::jump_not_reached, OldAddr(0x22)}},
                    {"c", OldAddr(3), {ReasonCode::jump_not_understood, OldAddr(0x33)}}};
  std::ostringstream text, json;
  write_text(text, report);
  CHECK(text.str() ==
        "1 of 4 functions instrumented, 0 returns, 0 tail jumps, 0 jump tables\n"
        "code: 100 bytes in these functions, 20 in functions left in place, 7 in stubs and padding, 5 in no function "
        "that is "
        "known\n"
        "       1  left in place: indirect jump at ... is not reached\n"
        "       2  left in place: indirect jump at ... is not understood\n");
  write_json(json, report);
  CHECK(json.str().find("\"reason\": \"indirect jump at 0x33 is not understood\"") != std::string::npos);
}

TEST_CASE("how little of the code has hooks is told in whole percents, rounded down") {
  CHECK(low_coverage({.hooked = 94'990, .stays = 10, .padding = 1'000'000, .unknown = 5'000}) ==
        "only 94 % of the code is in functions with hooks: 5000 bytes are in no function that is known, 10 bytes are "
        "in functions that stay in place");
  CHECK(low_coverage({.hooked = 9, .stays = 10'000}) ==
        "less than 1 % of the code is in functions with hooks: 10000 bytes are in functions that stay in place");
}
