// The trees of both sides as one.

#include <algorithm>
#include <cmath>
#include <vector>

#include "change_text.h"
#include "difference.h"
#include "prof/views/text/indentation.h"
#include "prof/views/text/names.h"
#include "prof/views/text/numbers.h"

namespace prof {

namespace {

class TreePrinter {
 public:
  TreePrinter(const Difference& d, const DifferenceOptions& options, Output& out)
      : d_(d),
        options_(options),
        out_(out),
        indents_(options.columns),
        is_shown_(d.contexts.size()),
        open_(d.functions.size()) {
    for (const ComparedFunction& f : d.functions) names_.push_back(name_text(f));
    for (size_t i = d.contexts.size(); i-- > 1;) {
      const ComparedContext& c = d.contexts[i];
      if (is_shown_[i] || options.all || !c.occurs[0] || !c.occurs[1] || has_changed(d, c.sides))
        is_shown_[i] = is_shown_[c.parent] = true;
    }
  }

  void print() {
    push_children(0);
    while (!steps_.empty()) {
      const Step step = steps_.back();
      steps_.pop_back();
      const ComparedContext& context = d_.contexts[step.context];
      if (step.is_leaving) {
        --open_[context.function];
        --level_;
        continue;
      }
      print_line(context);
      if (open_[context.function] > 0 && !options_.whole_recursion) {
        if (has_shown_child(step.context)) out_.text(" " + indent_at(level_ + 1, 1 + 3) + "...\n");
        continue;
      }
      steps_.push_back({step.context, true});
      ++open_[context.function];
      ++level_;
      push_children(step.context);
    }
  }

 private:
  // A context is met a second time, marked, after those below it.
  struct Step {
    uint32_t context;
    bool is_leaving;
  };

  void push_children(uint32_t parent) {
    children_.clear();
    for (uint32_t c = d_.contexts[parent].first_child; c != 0; c = d_.contexts[c].next_sibling)
      if (is_shown_[c]) children_.push_back({order_of(c), c});
    if (options_.by_change) {
      std::stable_sort(children_.begin(), children_.end(),
                       [](const Child& a, const Child& b) { return a.order > b.order; });
    }
    for (size_t i = children_.size(); i-- > 0;) steps_.push_back({children_[i].context, false});
  }

  bool has_shown_child(uint32_t parent) const {
    for (uint32_t c = d_.contexts[parent].first_child; c != 0; c = d_.contexts[c].next_sibling)
      if (is_shown_[c]) return true;
    return false;
  }

  double order_of(uint32_t context) const {
    if (!options_.by_change) return 0;
    const ComparedContext& c = d_.contexts[context];
    return std::abs((d_.timed ? d_.total(c.sides) : d_.calls(c.sides)).amount());
  }

  // The indentation of a line that has so many columns besides.
  std::string indent_at(uint32_t level, size_t others) {
    if (!options_.columns) return indents_.at(level);
    return indents_.at(level, *options_.columns - std::min(*options_.columns, others));
  }

  void print_line(const ComparedContext& c) {
    constexpr size_t kSign = 1, kLeastName = 8;
    const bool is_both = c.occurs[0] && c.occurs[1];
    const std::string figures = figures_of(c, is_both);
    out_.text(is_both ? " " : c.occurs[1] ? "+" : "-");
    out_.text(indent_at(level_, kSign + kLeastName + figures.size()));
    const std::string& name = names_[c.function];
    if (!options_.columns || options_.wide) {
      out_.text(name);
    } else {
      const size_t room = *options_.columns - std::min(*options_.columns, kSign + figures.size());
      const size_t indent = indents_.columns_at(level_, room - std::min(room, kLeastName));
      out_.text(fitted(name, room - std::min(room, indent)));
    }
    out_.text(figures + "\n");
  }

  std::string figures_of(const ComparedContext& c, bool is_both) const {
    std::string text = ":";
    if (d_.timed) {
      const Change total = d_.total(c.sides);
      if (is_both)
        text += marked(total, duration(total.first) + "->" + duration(total.second));
      else
        text += duration(c.occurs[1] ? total.second : total.first);
    } else {
      text += "-";
    }
    return d_.functions[c.function].has_calls ? text + calls_text(c, is_both) : text;
  }

  // As in the tree of one profile: nothing of a single call.
  std::string calls_text(const ComparedContext& c, bool is_both) const {
    const Change calls = d_.calls(c.sides);
    const double one = c.occurs[1] ? calls.second : calls.first;
    if (!is_both || calls.amount() == 0) return one == 1 ? "" : "/" + count_text(one);
    return "/" + marked(calls, count_text(calls.first) + "->" + count_text(calls.second));
  }

  struct Child {
    double order;
    uint32_t context;
  };

  const Difference& d_;
  const DifferenceOptions& options_;
  Output& out_;
  Indentation indents_;
  std::vector<std::string> names_;
  std::vector<bool> is_shown_;
  std::vector<uint32_t> open_;  // how many calls of a function the walk is inside of
  std::vector<Step> steps_;     // the next one last
  std::vector<Child> children_;
  uint32_t level_ = 0;
};

}  // namespace

void print_difference_tree(const Difference& difference, const DifferenceOptions& options, Output& out) {
  TreePrinter(difference, options, out).print();
}

}  // namespace prof
