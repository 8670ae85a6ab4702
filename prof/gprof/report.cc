#include "report.h"

#include <algorithm>

#include "explanations.h"
#include "libprof/printable.h"
#include "linker-rewrite/names/demangle.h"
#include "text.h"

namespace prof::gprof {

namespace {

std::string source(const Function& function, bool full_paths) {
  const size_t slash = function.file.rfind('/');
  return prof_text::printable(full_paths || slash == std::string::npos ? function.file
                                                                       : function.file.substr(slash + 1));
}

}  // namespace

void Report::begin_table() {
  if (!is_first_) out_.text("\f\n");
  is_first_ = false;
}

long Report::bytes_by_bin() const { return long(std::min(graph_.scale, 1e18)) * 2; }

Report::Unit Report::unit() const {
  const double seconds = graph_.total_ticks / graph_.rate;
  if (!graph_.is_measured || seconds >= 10 || seconds <= 0) return {graph_.rate, graph_.dimension};
  return seconds >= 0.01 ? Unit{graph_.rate / 1e3, "ms"} : Unit{graph_.rate / 1e6, "us"};
}

std::string Report::name(uint32_t function) const {
  const Function& f = graph_.functions[function];
  if (graph_.is_cycle(function)) return formatted("<cycle %u>", f.cycle);
  std::string name = f.printed;
  if (name.empty()) name = options_.demangled && !options_.bsd ? prof_names::demangled_by_binutils(f.name) : f.name;
  name = prof_text::printable(name);
  if (!f.file.empty() && (options_.lines || options_.file_names)) {
    name += " (" + source(f, options_.full_paths) + formatted(":%u", f.line);
    if (options_.lines) name += formatted(" @ %llx", static_cast<unsigned long long>(f.address));
    name += ")";
  }
  return name;
}

std::string Report::source_name(uint32_t function) const {
  return source(graph_.functions[function], options_.full_paths);
}

const std::string& Report::name_with_index(uint32_t function) {
  names_with_index_.resize(graph_.functions.size());
  std::string& text = names_with_index_[function];
  if (!text.empty()) return text;
  const Function& f = graph_.functions[function];
  text = name(function);
  if (f.cycle != 0 && !graph_.is_cycle(function)) text += formatted(" <cycle %u>", f.cycle);
  if (f.index != 0 && !f.is_outside) text += formatted(f.is_printed ? " [%u]" : " (%u)", f.index);
  return text;
}

void Report::print() {
  const bool has_graph = graph_.has_arcs;
  if (has_graph && options_.bsd) print_call_graph();
  if (graph_.has_histogram) print_flat_profile();
  if (has_graph && !options_.bsd) print_call_graph();
  if (has_graph) print_index();
}

}  // namespace prof::gprof
