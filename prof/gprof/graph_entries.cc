// gprof's call graph: for each function its callers, a line of its own, and what it called; then a rule. A cycle has an
// entry as well, with its members.

#include "explanations.h"
#include "order.h"
#include "report.h"
#include "text.h"

namespace prof::gprof {

namespace {

unsigned long plain(uint64_t number) { return number; }

}  // namespace

void Report::print_graph_header(double total) {
  begin_table();
  if (!options_.bsd)
    out_.text(options_.explains ? "\t\t     Call graph (explanation follows)\n\n" : "\t\t\tCall graph\n\n");
  if (graph_.is_measured)
    out_.text("\ntimes of calls are measured");
  else
    out_.text(formatted("\ngranularity: each sample hit covers %ld byte(s)", bytes_by_bin()));
  if (total <= 0)
    out_.text(" no time propagated\n\n");
  else if (graph_.is_measured)
    out_.text(formatted(", 100%% are %.2f %.15s\n\n", total / unit().rate, unit().name.c_str()));
  else
    out_.text(formatted(" for %.2f%% of %.2f seconds\n\n", 100.0 / total, total / graph_.rate));
  if (!options_.bsd) {
    out_.text("index % time    self  children    called     name\n");
    return;
  }
  const char* const callers = "%6.6s %5.5s %7.7s %11.11s %7.7s/%-7.7s     %-8.8s\n";
  out_.text(formatted(callers, "", "", "", "", "called", "total", "parents"));
  out_.text(formatted("%-6.6s %5.5s %7.7s %11.11s %7.7s+%-7.7s %-8.8s\t%5.5s\n", "index", "%time", "self",
                      "descendants", "called", "self", "name", "index"));
  out_.text(formatted(callers, "", "", "", "", "called", "total", "children"));
  out_.text("\n");
}

// The line of a caller, or of a function called: the one that the entry is not of.
void Report::print_arc(const Arc& arc, uint32_t other) {
  const bool is_within = graph_.is_within_cycle(arc);
  const double rate = unit().rate;
  const size_t wide = options_.bsd ? 11 : 7;  // the column of the children's time
  line_.blanks(6 + 1 + 5 + 1);
  // gprof knows no times of calls within a cycle.
  if (is_within && (!graph_.is_measured || arc.caller == arc.callee)) {
    line_.blanks(7 + 1 + wide + 1).right(arc.calls, 7).blanks(1 + 7);
  } else {
    line_.right(arc.ticks / rate, 7).blanks(1).right(arc.child_ticks / rate, wide).blanks(1).right(arc.calls, 7);
    const uint32_t head = graph_.functions[arc.callee].head;
    if (is_within)
      line_.blanks(1 + 7);
    else
      line_.text("/").left(graph_.functions[head].calls, 7);
  }
  out_.text(line_.blanks(5).text(name_with_index(other)).text("\n").take());
}

void Report::print_callers(uint32_t function) {
  const std::vector<uint32_t> callers = callers_in_order(graph_, function, trace_);
  bool is_known = false;
  for (const uint32_t a : callers) is_known = is_known || !graph_.functions[graph_.arcs[a].caller].is_outside;
  if (!is_known) {
    out_.text(formatted(options_.bsd ? "%6.6s %5.5s %7.7s %11.11s %7.7s %7.7s     <spontaneous>\n"
                                     : "%6.6s %5.5s %7.7s %7.7s %7.7s %7.7s     <spontaneous>\n",
                        "", "", "", "", "", ""));
    return;
  }
  for (const uint32_t a : callers) print_arc(graph_.arcs[a], graph_.arcs[a].caller);
}

void Report::print_entry(uint32_t function, double total) {
  print_callers(function);
  const double rate = unit().rate;
  const Function& f = graph_.functions[function];
  out_.text(formatted(options_.bsd ? "%-6.6s %5.1f %7.2f %11.2f" : "%-6.6s %5.1f %7.2f %7.2f",
                      formatted("[%u]", f.index).c_str(), 100 * (f.self_shown + f.children_shown) / total,
                      f.self_shown / rate, f.children_shown / rate));
  if (f.calls + f.self_calls == 0)
    out_.text(formatted(" %7.7s %7.7s ", "", ""));
  else if (f.self_calls != 0)
    out_.text(formatted(" %7lu+%-7lu ", plain(f.calls), plain(f.self_calls)));
  else
    out_.text(formatted(" %7lu %7.7s ", plain(f.calls), ""));
  out_.text(name_with_index(function) + "\n");
  for (const uint32_t a : callees_in_order(graph_, function, trace_)) print_arc(graph_.arcs[a], graph_.arcs[a].callee);
}

void Report::print_cycle(uint32_t cycle, double total) {
  const double rate = unit().rate;
  const auto times = [&](const std::string& index, const std::string& percent, const Function& f) {
    out_.text(formatted(options_.bsd ? "%-6.6s %5.5s %7.2f %11.2f %7lu" : "%-6.6s %5.5s %7.2f %7.2f %7lu",
                        index.c_str(), percent.c_str(), f.self_shown / rate, f.children_shown / rate, plain(f.calls)));
    out_.text(f.self_calls != 0 ? formatted("+%-7lu", plain(f.self_calls)) : formatted(" %7.7s", ""));
  };
  const Function& whole = graph_.functions[cycle];
  times(formatted("[%u]", whole.index), formatted("%5.1f", 100 * (whole.self_shown + whole.children_shown) / total),
        whole);
  out_.text(formatted(" <cycle %u as a whole> [%u]\n", whole.cycle, whole.index));
  for (const uint32_t member : members_in_order(graph_, cycle)) {
    times("", "", graph_.functions[member]);
    out_.text("     " + name_with_index(member) + "\n");
  }
}

void Report::print_call_graph() {
  if (options_.explains && options_.bsd) out_.text(kGraphExplanation);
  print_graph_header(graph_.shown_ticks);
  const double total = graph_.shown_ticks > 0 ? graph_.shown_ticks : 1;
  for (const uint32_t entry : graph_.entries) {
    const Function& f = graph_.functions[entry];
    const bool is_used = f.calls != 0 || f.self_calls != 0 || f.self_shown != 0 || f.children_shown != 0;
    if ((!is_used && !options_.unused) || !f.is_printed || (options_.lines && !f.is_function)) continue;
    if (graph_.is_cycle(entry))
      print_cycle(entry, total);
    else
      print_entry(entry, total);
    out_.text(options_.bsd ? "\n-----------------------------------------------\n\n"
                           : "-----------------------------------------------\n");
  }
  if (options_.explains && !options_.bsd) out_.text(kGraphExplanation);
}

}  // namespace prof::gprof
