// The graph of functions, for Graphviz. What is small is left out, as pprof does it: functions with less than a half of
// a percent in their total, and calls with a fifth of that. What is left may still be more than dot can lay out in a
// moment, where thousands of functions call each other in a chain: then those with the greatest totals are kept.

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "contexts.h"
#include "exports.h"
#include "linker-rewrite/text/numbers.h"

namespace prof {

namespace {

constexpr size_t kMaxFunctions = 400;
// dot reads no string of more than 16,384 bytes, and nobody a name of so many. Bytes of a name at its beginning and at
// its end.
constexpr size_t kBeginning = 2000, kEnd = 2000;

// The first place at or after `at` where a character of UTF-8 begins.
size_t next_character(const std::string& text, size_t at) {
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  return at;
}

std::string dot_string(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

class Dot {
 public:
  Dot(const Analysis& analysis, double least_share, Output& out)
      : analysis_(analysis),
        out_(out),
        measure_(measures_of(analysis)[0]),
        least_share_(least_share),
        graph_(call_graph_of(analysis, {measure_})) {
    choose();
  }

  void write() {
    out_.text("digraph " + dot_string(analysis_.functions.program().name()) + " {\n");
    out_.text("node [shape=box fontname=\"sans-serif\" style=filled fillcolor=white];\n");
    out_.text("edge [fontname=\"sans-serif\" fontsize=10];\n");
    out_.text("label=" + dot_string(title()) + " labelloc=t labeljust=l fontname=\"sans-serif\";\n");
    for (const uint32_t f : chosen_) write_function(f);
    for (const Arc& arc : graph_.arcs)
      if (arc.caller != Arc::kOutside && is_chosen_[arc.caller] && is_chosen_[arc.callee]) write_arc(arc);
    out_.text("}\n");
  }

 private:
  // n as a part of the whole, 0 to 1; 1 if the whole is 0.
  double share(uint64_t n) const { return graph_.whole[0] == 0 ? 1 : double(n) / double(graph_.whole[0]); }

  void choose() {
    size_t all = 0;
    for (uint32_t f = 0; f < graph_.total.size(); ++f) {
      if (!occurs(analysis_, f)) continue;
      ++all;
      if (share(graph_.total[f][0]) >= least_share_) chosen_.push_back(f);
    }
    std::stable_sort(chosen_.begin(), chosen_.end(),
                     [&](uint32_t a, uint32_t b) { return graph_.total[a][0] > graph_.total[b][0]; });
    chosen_.resize(std::min(chosen_.size(), kMaxFunctions));
    left_out_ = all - chosen_.size();
    is_chosen_.resize(graph_.total.size());
    for (const uint32_t f : chosen_) is_chosen_[f] = true;
  }

  std::string title() const {
    std::string text = analysis_.functions.program().name() + ": " + amount(graph_.whole[0]);
    if (left_out_) text += ", without " + prof_text::count_of(left_out_, "small function");
    return text;
  }

  // Calls, or a time in a unit that fits.
  std::string amount(uint64_t n) const {
    if (measure_ == Measure::calls) return prof_text::count_of(n, "call");
    const double seconds = analysis_.seconds(n);
    char text[64];
    if (seconds >= 1)
      std::snprintf(text, sizeof text, "%.2f s", seconds);
    else if (seconds >= 1e-3)
      std::snprintf(text, sizeof text, "%.2f ms", seconds * 1e3);
    else
      std::snprintf(text, sizeof text, "%.2f us", seconds * 1e6);
    return text;
  }

  std::string with_share(uint64_t n) const {
    char text[32];
    std::snprintf(text, sizeof text, " (%.1f %%)", 100 * share(n));
    return amount(n) + (graph_.whole[0] == 0 ? "" : text);
  }

  // The letters grow with a function's own part, and the red with its total.
  void write_function(uint32_t f) {
    const uint64_t self = graph_.self[f][0], total = graph_.total[f][0];
    const double part = graph_.whole[0] == 0 ? 0 : share(total);
    char form[80];
    std::snprintf(form, sizeof form, " fontsize=%.0f fillcolor=\"0.02 %.3f 1.0\"",
                  10 + 30 * std::sqrt(graph_.whole[0] == 0 ? 0 : share(self)), 0.6 * part);
    std::string label = short_name(f) + "\n" + with_share(self);
    if (total != self) label += "\nof " + with_share(total);
    if (measure_ != Measure::calls && analysis_.counts_calls_of(f)) {
      const uint64_t calls = analysis_.sums[f].calls;
      label += "\n" + prof_text::count_of(calls, "call");
    }
    out_.text("f" + std::to_string(f) + " [label=" + lines(label) + form + "];\n");
  }

  // What is left out of long names may be what tells them apart; then a number does.
  std::string short_name(uint32_t f) {
    const std::string name = printed_name(analysis_, f);
    if (name.size() <= kBeginning + kEnd) return name;
    const std::string beginning = name.substr(0, next_character(name, kBeginning)),
                      end = name.substr(next_character(name, name.size() - kEnd));
    std::string text = beginning + "..." + end;
    for (size_t n = 2; !shortened_.insert(text).second; ++n)
      text = beginning + "...(" + std::to_string(n) + ")..." + end;
    return text;
  }

  // Escaped text whose lines stay lines.
  static std::string lines(const std::string& text) {
    std::string result = dot_string(text);
    for (size_t at; (at = result.find('\n')) != std::string::npos;) result.replace(at, 1, "\\n");
    return result;
  }

  void write_arc(const Arc& arc) {
    const bool is_recursion = arc.caller == arc.callee;
    if (!is_recursion && share(arc.inclusive[0]) < least_share_ / 5) return;
    const std::string calls = analysis_.counts_calls_of(arc.callee) ? prof_text::count_of(arc.calls, "call") : "";
    const bool has_amount = measure_ != Measure::calls && arc.inclusive[0] != 0;
    const std::string separator = calls.empty() ? "" : "\n";
    char form[40];
    std::snprintf(form, sizeof form, " penwidth=%.1f", 1 + (graph_.whole[0] == 0 ? 0 : 4 * share(arc.inclusive[0])));
    out_.text("f" + std::to_string(arc.caller) + " -> f" + std::to_string(arc.callee) +
              " [label=" + lines(has_amount ? amount(arc.inclusive[0]) + separator + calls : calls) + form + "];\n");
  }

  const Analysis& analysis_;
  Output& out_;
  const Measure measure_;
  const double least_share_;
  const CallGraph graph_;
  std::vector<uint32_t> chosen_;  // functions
  std::vector<bool> is_chosen_;   // by function
  size_t left_out_ = 0;           // functions
  std::set<std::string> shortened_;
};

}  // namespace

void print_dot(const Analysis& analysis, double least_share, Output& out) { Dot(analysis, least_share, out).write(); }

}  // namespace prof
