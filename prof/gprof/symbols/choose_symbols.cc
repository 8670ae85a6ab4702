#include "choose_symbols.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "linker-rewrite/names/demangle.h"
#include "prof/gprof/graph/call_graph.h"
#include "prof/read/error.h"
#include "prof/read/file.h"

namespace prof::gprof {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The name without its parameters: std::sort<int*> of std::sort<int*>(int*, int*).
std::string_view without_parameters(std::string_view name) {
  if (!name.ends_with(')')) return name;
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return name.substr(0, i);
  }
  return name;
}

}  // namespace

Symspec::Symspec(std::string text) : text_(std::move(text)) {
  // The last colon that stands alone: those of C++'s names come in pairs.
  size_t colon = text_.rfind(':');
  while (colon != std::string::npos && colon > 0 && text_[colon - 1] == ':')
    colon = colon < 2 ? std::string::npos : text_.rfind(':', colon - 2);
  std::string rest = text_;
  if (colon != std::string::npos) {
    file_ = text_.substr(0, colon);
    rest = text_.substr(colon + 1);
  } else if (text_.find('.') != std::string::npos) {
    file_ = text_;
    rest.clear();
  }
  if (!rest.empty() && is_digit(rest[0])) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), line_);
    if (error != std::errc() || end != rest.data() + rest.size())
      throw Error(text_ + ": invalid line number; write FILE:LINE");
  } else {
    name_ = rest;
  }
}

bool Symspec::matches_file(std::string_view path) const {
  if (file_.empty() || file_ == path) return true;
  return path.substr(path.rfind('/') + 1) == file_;
}

bool Symspec::matches_name(const NamedPlace& place) const {
  return name_.empty() || name_ == place.symbol || name_ == place.name || name_ == without_parameters(place.name);
}

bool Symspec::matches(const NamedPlace& place) const {
  return matches_name(place) && matches_file(place.file) && (line_ == 0 || line_ == place.line);
}

bool Symspec::has_file(const std::vector<NamedPlace>& places) const {
  return std::any_of(places.begin(), places.end(), [&](const NamedPlace& place) { return matches_file(place.file); });
}

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
      remarks_.push_back(text +
                         ": no function is known to be in a source file of this name; check it, or build with -g");
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
    if (slash == std::string::npos) throw Error(text + ": is not an arc; write FROM/TO");
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
