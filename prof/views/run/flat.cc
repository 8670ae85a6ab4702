#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "libprof/printable.h"
#include "prof/model/analysis/analysis.h"
#include "prof/model/tree/modules.h"
#include "prof/read/file.h"
#include "prof/views/text/names.h"
#include "prof/views/text/numbers.h"
#include "prof/views/text/text_columns.h"
#include "table.h"
#include "views.h"

namespace prof {

namespace {

// What the table of functions says of inlined ones.

std::string place(const std::string& file, unsigned line) {
  if (file.empty()) return "";
  return base_name(file) + (line ? ":" + std::to_string(line) : "");
}

// What to say before the table, a line without its end; "" if inlined functions were not asked for.
std::string inlined_heading(const Analysis& analysis) {
  if (analysis.sources.empty()) return "";
  return "Below a function: what was inlined into it. Its time is of all together; parts are of its code only.";
}

// Lines below that of a function: where it stands in the source, and what was inlined into it. Printable.
std::vector<TextWithName> inlined_lines(const Analysis& analysis, uint32_t function) {
  using prof_text::printable;
  std::vector<TextWithName> lines;
  if (function >= analysis.sources.size()) return lines;
  const FunctionSource& source = analysis.sources[function];
  if (!source.file.empty()) lines.push_back({"  ", "", printable(place(source.file, source.line))});
  for (const InlinedFunction& f : source.inlined) {
    const double part = source.bytes ? 100 * double(f.bytes) / double(source.bytes) : 0;
    std::string share = decimal(part, 1);
    share.insert(0, 5 - std::min<size_t>(5, share.size()), ' ');
    std::string after;
    if (!f.file.empty()) after += "  " + printable(place(f.file, f.line));
    if (f.places > 1) after += ", " + std::to_string(f.places) + " places";
    lines.push_back({"  " + share + " % ", printable(simplified(f.name)), std::move(after)});
  }
  return lines;
}

}  // namespace

void print_flat(const Analysis& analysis, const TableOptions& options, Output& out) {
  const std::vector<bool> selected = selected_functions(analysis, Modules(analysis));
  std::vector<TableRow> rows;
  for (uint32_t f = 0; f < analysis.sums.size(); ++f) {
    if (!occurs(analysis, f)) continue;
    const Function& function = analysis.functions.functions()[f];
    TableRow row{analysis.functions.name_with_module(function), analysis.sums[f]};
    if (analysis.cpu) row.on_processor = analysis.cpu->sums[f];
    if (analysis.sampled) row.samples = analysis.sampled->samples[f];
    row.has_calls = analysis.sampled ? bool(analysis.sampled->is_counted[f]) : function.has_calls;
    row.is_selected = selected[f];
    row.address = function.address;
    row.below = inlined_lines(analysis, f);
    rows.push_back(std::move(row));
  }
  const std::string heading = inlined_heading(analysis);
  if (options.has_header && !heading.empty()) out.text(wrapped(heading, options.columns));
  print_table(analysis, std::move(rows), {}, options, out);
}

void print_modules(const Analysis& analysis, const TableOptions& options, Output& out) {
  const Modules modules(analysis);
  std::vector<TableRow> rows;
  for (size_t m = 0; m < modules.sums().size(); ++m) {
    const ModuleSum& module = modules.sums()[m];
    if (module.functions == 0) continue;
    TableRow row{analysis.functions.objects()[m].name(), module.sum, module.on_processor, module.samples,
                 module.has_calls};
    row.is_selected = modules.selected()[m];
    row.functions = module.functions;
    rows.push_back(std::move(row));
  }
  print_table(analysis, std::move(rows), {.has_totals = false, .has_functions = true}, options, out);
}

}  // namespace prof
