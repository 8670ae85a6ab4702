#include "choose_symbols.h"

#include <utility>

#include "linker-rewrite/names/demangle.h"
#include "prof/gprof/graph/build.h"
#include "prof/read/error.h"
#include "symspec.h"

namespace prof::gprof {

namespace {

class Matcher {
 public:
  Matcher(const std::vector<Function>& functions, const Trace& trace, std::vector<std::string>& remarks)
      : functions_(functions), trace_(trace), remarks_(remarks) {
    for (const Function& f : functions) demangled_.push_back(prof_names::demangled(f.name));
    for (size_t i = 0; i < functions.size(); ++i)
      places_.push_back({functions[i].name, demangled_[i], functions[i].file, functions[i].line});
  }

  // The functions that a symspec means. If there are none, a remark says so.
  std::vector<uint32_t> matching(const std::string& text) {
    const Symspec spec(text);
    std::vector<uint32_t> found;
    for (uint32_t i = 0; i < places_.size(); ++i) {
      if (!spec.matches(places_[i])) continue;
      found.push_back(i);
      if (trace_.has(Trace::symspecs)) trace_.print("symspec " + text + ": " + functions_[i].name);
    }
    if (found.empty() && !spec.has_file(places_)) {
      remarks_.push_back(text + ": no function is known to be in a source file of this name");
    } else if (found.empty()) {
      remarks_.push_back(text + ": matches no function");
    }
    return found;
  }

  // Adds what the specs say of a subject.
  void choose(const SubjectSpecs& specs, Choice& choice) {
    for (const std::string& text : specs.only)
      for (const uint32_t f : matching(text)) choice.take(f);
    for (const std::string& text : specs.except)
      for (const uint32_t f : matching(text)) choice.leave_out(f);
  }

 private:
  const std::vector<Function>& functions_;
  const Trace& trace_;
  std::vector<std::string>& remarks_;
  std::vector<std::string> demangled_;
  std::vector<NamedPlace> places_;
};

// Arcs from any of some functions to any of some others.
struct ArcSet {
  std::vector<bool> from, to;

  bool has(uint32_t caller, uint32_t callee) const { return from[caller] && to[callee]; }
};

std::vector<ArcSet> arc_sets(const std::vector<std::string>& texts, size_t function_count, Matcher& matcher) {
  std::vector<ArcSet> sets;
  for (const std::string& text : texts) {
    const size_t slash = text.find('/');
    if (slash == std::string::npos) throw Error(text + ": is no arc: FROM/TO");
    ArcSet set = {std::vector<bool>(function_count), std::vector<bool>(function_count)};
    const std::vector<uint32_t> from = matcher.matching(text.substr(0, slash)),
                                to = matcher.matching(text.substr(slash + 1));
    for (const uint32_t f : from) set.from[f] = true;
    for (const uint32_t f : to) set.to[f] = true;
    if (!from.empty() && !to.empty()) sets.push_back(std::move(set));
  }
  return sets;
}

bool is_in_any(const std::vector<ArcSet>& sets, uint32_t caller, uint32_t callee) {
  for (const ArcSet& set : sets)
    if (set.has(caller, callee)) return true;
  return false;
}

}  // namespace

ChosenSymbols choose_symbols(const Specs& specs, const std::vector<Function>& functions, const Trace& trace,
                             std::vector<std::string>& remarks) {
  Matcher matcher(functions, trace, remarks);
  ChosenSymbols chosen;
  const auto choose = [&](Subject subject, Choice& choice) { matcher.choose(specs[size_t(subject)], choice); };
  choose(Subject::flat, chosen.report.flat);
  choose(Subject::graph, chosen.report.graph);
  choose(Subject::time, chosen.report.time);
  choose(Subject::counts, chosen.counts);
  choose(Subject::source, chosen.source);
  leave_out_runtime(functions, chosen.report);

  const SubjectSpecs& arcs = specs[size_t(Subject::arcs)];
  if (arcs.only.empty() && arcs.except.empty()) return chosen;
  auto only = arc_sets(arcs.only, functions.size(), matcher), except = arc_sets(arcs.except, functions.size(), matcher);
  chosen.report.keeps_arc = [only = std::move(only), except = std::move(except)](uint32_t caller, uint32_t callee) {
    return is_in_any(only, caller, callee) || (only.empty() && !is_in_any(except, caller, callee));
  };
  return chosen;
}

}  // namespace prof::gprof
