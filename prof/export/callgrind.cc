// Files for KCachegrind and callgrind_annotate, as Valgrind's manual describes them ("Callgrind Format Specification").
//
// A file has what each function took itself, and for each of its calls what that took with all that was called. Both
// readers find a function's total in the calls that lead to it. So what is called from outside is called by a function
// [outside] here.
//
// Cycles are the time-stamp counter's. There are neither source files nor lines, so all are "???" and 0.
//
// A call with the count 0 cannot be written: callgrind_annotate would take what it cost for the caller's own. It is
// what ran on while recording was off, or [kernel], and is written with the count 1. The cost "Calls" has the true
// numbers.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "contexts.h"
#include "exports.h"
#include "libprof/printable.h"

namespace prof {

namespace {

std::string event_of(Measure measure, const Analysis& analysis) {
  switch (measure) {
    case Measure::calls:
      return "Calls";
    case Measure::waiting:
      return "Waiting";
    case Measure::processor:
      return "Processor";
    case Measure::time:
      break;
  }
  return analysis.by_two_runs() ? "Elapsed" : "Cycles";
}

// Writes one file.
class CallgrindWriter {
 public:
  CallgrindWriter(const Analysis& analysis, Output& out)
      : analysis_(analysis),
        out_(out),
        measures_(measures_of(analysis)),
        graph_(call_graph_of(analysis, measures_)),
        has_name_(analysis.functions.functions().size()),
        has_object_(analysis.functions.objects().size()) {}

  void write(size_t part) {
    write_head(part);
    const std::vector<Arc>& arcs = graph_.arcs;
    size_t arc = 0;
    for (uint32_t f = 0; f < graph_.self.size(); ++f) {
      const size_t first = arc;
      while (arc < arcs.size() && arcs[arc].caller == f) ++arc;
      if (first == arc && graph_.self[f] == Values{}) continue;
      const uint32_t object = analysis_.functions.functions()[f].object;
      out_.text("\nob=" + object_name(object) + "\nfn=" + function_name(f) + "\n");
      write_costs(graph_.self[f]);
      for (size_t i = first; i < arc; ++i) write_call(arcs[i], object);
    }
    if (arc == arcs.size()) return;
    out_.text("\nob=(1)\nfn=(1) [outside]\n");
    for (; arc < arcs.size(); ++arc) write_call(arcs[arc], kNoObject);
  }

 private:
  static constexpr uint32_t kNoObject = UINT32_MAX;

  void write_head(size_t part) {
    using prof_text::printable;
    out_.text("# callgrind format\nversion: 1\ncreator: prof\n");
    out_.text("pid: " + std::to_string(analysis_.process) + "\n");
    out_.text("cmd: " + printable(analysis_.command.empty() ? analysis_.program : analysis_.command) + "\n");
    out_.text("part: " + std::to_string(part) + "\n");
    if (analysis_.thread) out_.text("thread: " + std::to_string(analysis_.thread) + "\n");
    if (analysis_.process) out_.text("desc: Part: " + part_name(analysis_) + "\n");
    out_.text("positions: line\n");
    std::string events;
    for (const Measure m : measures_) events += " " + event_of(m, analysis_);
    out_.text("events:" + events + "\nsummary:");
    for (size_t m = 0; m < measures_.size(); ++m) out_.text(" " + std::to_string(graph_.whole[m]));
    out_.text("\n\nob=(1) [outside]\nfl=(1) ???\n");
  }

  void write_costs(const Values& values) {
    out_.byte('0');
    for (size_t m = 0; m < measures_.size(); ++m) {
      out_.byte(' ');
      out_.number(values[m]);
    }
    out_.byte('\n');
  }

  void write_call(const Arc& arc, uint32_t object_of_caller) {
    if (arc.calls == 0 && arc.inclusive == Values{}) return;
    const uint32_t object = analysis_.functions.functions()[arc.callee].object;
    if (object != object_of_caller) out_.text("cob=" + object_name(object) + "\n");
    out_.text("cfn=" + function_name(arc.callee) + "\ncalls=");
    out_.number(std::max(arc.calls, uint64_t(1)));
    out_.text(" 0\n");
    write_costs(arc.inclusive);
  }

  // A name is written the first time, and then its number only. 1 is outside.
  std::string object_name(uint32_t object) {
    std::string text = "(" + std::to_string(object + 2) + ")";
    if (has_object_[object]) return text;
    has_object_[object] = true;
    const Object& o = analysis_.functions.objects()[object];
    return text + " " + prof_text::printable(o.path().empty() ? o.name() : o.path());
  }
  std::string function_name(uint32_t function) {
    std::string text = "(" + std::to_string(function + 2) + ")";
    if (has_name_[function]) return text;
    has_name_[function] = true;
    return text + " " + printed_name(analysis_, function);
  }

  const Analysis& analysis_;
  Output& out_;
  const std::vector<Measure> measures_;
  const CallGraph graph_;
  std::vector<bool> has_name_, has_object_;  // by function and object: the name was written
};

class Callgrind : public Export {
 public:
  explicit Callgrind(std::string path) : path_(std::move(path)) {}

  void add(const Analysis& part) override {
    ++parts_;
    std::string path = path_;
    if (part.process != 0) path += (parts_ < 10 ? "-0" : "-") + std::to_string(parts_);
    write_file(path, [&](Output& out) { CallgrindWriter(part, out).write(parts_); });
  }

 private:
  const std::string path_;
  size_t parts_ = 0;
};

}  // namespace

std::unique_ptr<Export> callgrind_export(std::string path) { return std::make_unique<Callgrind>(std::move(path)); }

}  // namespace prof
