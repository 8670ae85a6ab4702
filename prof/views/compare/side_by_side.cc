#include "side_by_side.h"

#include <algorithm>

#include "difference.h"
#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/views/text/json_writer.h"
#include "prof/views/text/names.h"
#include "prof/views/text/numbers.h"
#include "prof/views/text/text_columns.h"

namespace prof {

namespace {

std::string ratio(double time, double of) { return of > 0 ? decimal(time / of, 2) + "x" : "-"; }

void print_times(const SideBySide& all, std::optional<size_t> columns, Output& out) {
  std::vector<TextColumn> table = {{"User+system", 0}, {"Ratio", 0}, {"Elapsed", 1}, {"Ratio", 2}};
  std::vector<NamedLine> lines;
  for (const RunsTaken& r : all.runs) {
    table[0].cells.push_back(duration(r.median_user()));
    table[1].cells.push_back(ratio(r.median_user(), all.runs[0].median_user()));
    table[2].cells.push_back(duration(r.median_elapsed()));
    table[3].cells.push_back(ratio(r.median_elapsed(), all.runs[0].median_elapsed()));
    lines.push_back({r.name, {}, false});
  }
  print_columns(std::move(table), lines, columns, out);
}

void print_functions(const SideBySide& all, size_t rows, std::optional<size_t> columns, Output& out) {
  std::vector<TextColumn> table;
  for (size_t p = 0; p < all.profilers.size(); ++p) {
    TextColumn& column = table.emplace_back(TextColumn{"% " + all.profilers[p], p == 0 ? 0 : 3});
    for (size_t i = 0; i < rows; ++i) {
      const Shown& shown = all.functions[i].by[p];
      column.cells.push_back(shown.occurs ? decimal(100 * shown.share, 1) : "-");
    }
  }
  for (size_t p = 0; p < all.profilers.size(); ++p) {
    if (!all.counts[p]) continue;
    TextColumn& column = table.emplace_back(TextColumn{"Calls " + all.profilers[p], p == 0 ? 0 : 2});
    for (size_t i = 0; i < rows; ++i) {
      const double calls = all.functions[i].by[p].calls.value_or(0);
      column.cells.push_back(calls > 0 ? count_text(calls) : "-");
    }
  }
  std::vector<NamedLine> lines;
  for (size_t i = 0; i < rows; ++i) lines.push_back({prof_text::printable(all.functions[i].name)});
  print_columns(std::move(table), lines, columns, out);
}

std::string agreement_text(const SideBySide& all) {
  std::vector<std::string> names;
  for (size_t p = 0; p < all.profilers.size(); ++p)
    if (all.counts[p]) names.push_back(all.profilers[p]);
  const SideBySide::Agreement& a = *all.agreement;
  std::string text = "calls of " + prof_text::count_of(a.same, "function") + " are the same by " + names[0] + " and " +
                     names[1] + ", of " + std::to_string(a.different) + " they differ";
  if (a.first_only) text += "; " + std::to_string(a.first_only) + " by " + names[0] + " alone";
  if (a.second_only) text += "; " + std::to_string(a.second_only) + " by " + names[1] + " alone";
  return text;
}

void write_numbers(JsonName name, const std::vector<double>& numbers, JsonWriter& json) {
  json.begin_array(name);
  for (const double number : numbers) json.value(number);
  json.end_array();
}

}  // namespace

void print_side_by_side(const SideBySide& all, const SideBySideOptions& options, Output& out) {
  const size_t runs = all.runs[0].user.size();
  out.text(wrapped(prof_text::printable(all.runs[0].program) +
                       (runs == 1 ? ", one run of each" : ", medians of " + std::to_string(runs) + " runs of each"),
                   options.columns));
  const std::optional<size_t> columns = options.wide ? std::nullopt : options.columns;
  print_times(all, columns, out);
  const size_t rows = std::min(all.functions.size(), options.rows);
  if (rows == 0) return;
  out.byte('\n');
  print_functions(all, rows, columns, out);
  if (rows < all.functions.size())
    out.text(wrapped("... " + std::to_string(all.functions.size() - rows) + " more; -n shows more", options.columns));
  if (all.agreement) out.text(wrapped(agreement_text(all), options.columns));
}

void print_side_by_side_json(const SideBySide& all, Output& out) {
  JsonWriter json(out);
  json.begin_object();
  json.member("program", all.runs[0].program);
  json.begin_array("runs");
  for (const RunsTaken& r : all.runs) {
    json.new_line();
    json.begin_object();
    json.member("name", r.name);
    json.member("program", r.program);
    json.member("median_user_system_seconds", r.median_user());
    json.member("median_elapsed_seconds", r.median_elapsed());
    write_numbers("user_system_seconds", r.user, json);
    write_numbers("elapsed_seconds", r.elapsed, json);
    json.end_object();
  }
  json.end_array();
  json.new_line();
  json.begin_array("functions");
  for (const ShownFunction& f : all.functions) {
    json.new_line();
    json.begin_object();
    json.member("name", f.name);
    for (size_t p = 0; p < f.by.size(); ++p) {
      if (!f.by[p].occurs) continue;
      json.any_name(all.profilers[p]);
      json.begin_object();
      json.member("share", f.by[p].share);
      if (f.by[p].calls) json.member("calls", *f.by[p].calls);
      json.end_object();
    }
    json.end_object();
  }
  json.end_array();
  if (all.agreement) {
    json.new_line();
    json.begin_object("calls");
    json.member("same", all.agreement->same);
    json.member("different", all.agreement->different);
    json.member("first_only", all.agreement->first_only);
    json.member("second_only", all.agreement->second_only);
    json.end_object();
  }
  json.end_object();
  out.byte('\n');
}

}  // namespace prof
