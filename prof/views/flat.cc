#include <vector>

#include "inlined.h"
#include "names.h"
#include "prof/model/tree/modules.h"
#include "table.h"
#include "views.h"

namespace prof {

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
