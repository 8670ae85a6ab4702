#include "report.h"

#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>

#include "linker-rewrite/text/numbers.h"

namespace profld {

namespace {

std::string_view words_of(LeftOut why) {
  switch (why) {
    case LeftOut::too_small:
      return "too small to time";
    case LeftOut::chosen_by_resolver:
      return "an IFUNC resolver, or a function that one chooses";
    case LeftOut::replaced:
      return "libprof.so has it in its place";
  }
  return "";
}

}  // namespace

std::string low_coverage(const Coverage& code) {
  const uint64_t percent = code.hooked * 100 / (code.hooked + code.missing());
  std::string line = percent == 0 ? "less than 1 %" : "only " + std::to_string(percent) + " %";
  line += " of the code is in functions with hooks: ";
  if (code.unknown != 0) line += std::to_string(code.unknown) + " bytes are in no function that is known";
  if (code.unknown != 0 && code.stays != 0) line += ", ";
  if (code.stays != 0) line += std::to_string(code.stays) + " bytes are in functions that stay in place";
  return line;
}

void write_json(std::ostream& out, const Report& report) {
  nlohmann::ordered_json j;
  j["functions_total"] = report.functions_total;
  j["functions_selected"] = report.functions_selected;
  j["functions_instrumented"] = report.functions_instrumented;
  j["code"] = {{"hooked", report.code.hooked}, {"stays", report.code.stays},     {"not_chosen", report.code.not_chosen},
               {"stubs", report.code.stubs},   {"padding", report.code.padding}, {"unknown", report.code.unknown}};
  j["returns"] = report.returns;
  j["tail_jumps"] = report.tail_jumps;
  j["jump_tables"] = report.jump_tables;
  j["imports"] = report.imports;
  j["import_calls"] = report.import_calls;
  j["import_tail_jumps"] = report.import_tail_jumps;
  j["import_calls_left"] = {
      {"of a function that returns twice, or that compilers call in their own way", report.import_calls_to_special},
      {"from a function that stays", report.import_calls_from_unhooked}};
  if (report.blocks_counted) {
    j["blocks"] = report.blocks;
    j["block_counters"] = report.block_counters;
    j["counters_locked"] = report.counters_locked;
    j["functions_uncounted"] = report.functions_uncounted;
  }
  if (report.blocks_traced) {
    j["blocks"] = report.blocks;
    j["functions_untraced"] = report.functions_uncounted;
    if (report.memory_traced) j["accesses_without_address"] = report.unknown_accesses;
  }
  j["left_out"] = nlohmann::ordered_json::array();
  for (const Report::LeftOutFunction& f : report.left_out)
    j["left_out"].push_back(
        {{"name", f.name}, {"address", prof_text::hexadecimal(f.address.value)}, {"why", words_of(f.why)}});
  j["skipped"] = nlohmann::ordered_json::array();
  for (const Report::Skipped& s : report.skipped)
    j["skipped"].push_back(
        {{"name", s.name}, {"address", prof_text::hexadecimal(s.address.value)}, {"reason", text_of(s.reason)}});
  if (!report.unmatched_patterns.empty()) j["unmatched_patterns"] = report.unmatched_patterns;
  // Names are bytes, not always UTF-8. Bytes that are not ASCII are escaped, and control characters too.
  out << j.dump(1, '\t', true, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

void write_text(std::ostream& out, const Report& report) {
  out << report.functions_instrumented << " of " << report.functions_total << " functions instrumented, "
      << report.returns << " returns, " << report.tail_jumps << " tail jumps, " << report.jump_tables
      << " jump tables\n"
      << "code: " << report.code.hooked << " bytes in these functions, " << report.code.stays
      << " in functions left in place, ";
  if (report.code.not_chosen != 0) out << report.code.not_chosen << " in functions that were not chosen, ";
  out << report.code.stubs + report.code.padding << " in stubs and padding, " << report.code.unknown
      << " in no function that is known\n";
  if (report.imports != 0)
    out << report.imports << " imported functions, " << report.import_calls << " calls of them, "
        << report.import_tail_jumps << " tail jumps to them, "
        << report.import_calls_to_special + report.import_calls_from_unhooked << " left alone\n";
  if (report.blocks_counted)
    out << report.blocks << " blocks, " << report.block_counters << " counters, " << report.functions_uncounted
        << " functions without counts of blocks\n";
  if (report.blocks_traced)
    out << report.blocks << " blocks traced, " << report.functions_uncounted << " functions without a trace\n";
  if (report.memory_traced) out << report.unknown_accesses << " accesses to memory without an address in the trace\n";
  std::map<std::string_view, uint64_t> counts;
  for (const Report::LeftOutFunction& f : report.left_out) ++counts[words_of(f.why)];
  for (const auto& [words, count] : counts) out << std::setw(8) << count << "  left out: " << words << '\n';
  counts.clear();
  for (const Report::Skipped& s : report.skipped) ++counts[words_of(s.reason.code)];
  for (const auto& [words, count] : counts) out << std::setw(8) << count << "  left in place: " << words << '\n';
}

}  // namespace profld
