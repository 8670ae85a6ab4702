#include <algorithm>
#include <cstdio>
#include <vector>

#include "libprof/printable.h"
#include "linker-rewrite/text/count.h"
#include "prof/model/tree/modules.h"
#include "prof/model/tree/pruning.h"
#include "prof/views/text/indentation.h"
#include "prof/views/text/names.h"
#include "prof/views/text/numbers.h"
#include "views.h"

namespace prof {

namespace {

// The names of functions each of which called the next one, or in trees of callers was called by it.
struct Chain {
  std::vector<const std::string*> names;
  std::string arrow;  // between two of them: " > " or " < "
};

std::string more(const Chain& chain, size_t functions) {
  return chain.arrow + "(" + std::to_string(functions) + " more)" + chain.arrow;
}

// The names of a chain of calls on one line; of a long one the two at either end.
std::string joined(const Chain& chain) {
  constexpr size_t kMaxNames = 4;
  std::string text;
  const size_t size = chain.names.size();
  for (size_t i = 0; i < size; ++i) {
    if (size > kMaxNames && i == kMaxNames / 2) {
      text += more(chain, size - kMaxNames);
      i = size - kMaxNames / 2;
    } else if (i != 0) {
      text += chain.arrow;
    }
    text += *chain.names[i];
  }
  return text;
}

// The same in so many columns: of a chain that is too long only the first and the last name, if need be shortened;
// where there is no room for these, a beginning and an end.
std::string joined_in(const Chain& chain, size_t columns) {
  std::string text = joined(chain);
  if (columns_of(text) <= columns) return text;
  const std::string &first = *chain.names.front(), &last = *chain.names.back();
  if (chain.names.size() == 1) return fitted(first, columns);
  const std::string between = more(chain, chain.names.size() - 2);
  const size_t room = columns > between.size() ? columns - between.size() : 0;
  const size_t part = std::max(room / 2, room - std::min(room, columns_of(last)));
  const std::string begin = fitted(first, part);
  const std::string ends = begin + between + fitted(last, room - std::min(room, columns_of(begin)));
  return columns_of(ends) <= columns ? ends : middle_cut(text, columns);
}

Range total_range(const CallNode& node) { return with_chance(node.total_range, node.total_variance); }
Range self_range(const CallNode& node) { return with_chance(node.self_range, node.self_variance); }

// Whether the sibling `a` stands before `b` for what they are sorted by.
class Before {
 public:
  Before(const Analysis& analysis, const std::vector<std::string>& names, std::optional<SortKey> key)
      : nodes_(analysis.tree.nodes),
        names_(names),
        key_(key),
        calls_matter_(!analysis.timed() || !analysis.contexts.callers.empty()) {}

  bool operator()(uint32_t a, uint32_t b) const {
    const CallNode &first = nodes_[a], &second = nodes_[b];
    if (!key_) return false;
    switch (*key_) {
      case SortKey::total:
        return first.total != second.total ? first.total > second.total : calls_matter_ && first.calls > second.calls;
      case SortKey::self:
        return first.self > second.self;
      case SortKey::calls:
        return first.calls > second.calls;
      case SortKey::per_call:
        return per_call(first) > per_call(second);
      case SortKey::name:
        return names_[first.function] < names_[second.function];
    }
    return false;
  }

 private:
  static double per_call(const CallNode& node) { return node.calls ? double(node.total) / double(node.calls) : 0; }

  const std::vector<CallNode>& nodes_;
  const std::vector<std::string>& names_;
  const std::optional<SortKey> key_;
  const bool calls_matter_;
};

class TreeWriter {
 public:
  TreeWriter(const Analysis& analysis, const TreeOptions& options, Output& out)
      : analysis_(analysis),
        options_(options),
        out_(out),
        nodes_(analysis.tree.nodes),
        names_(names_of(analysis.functions)),
        nodes_shown_(shown_nodes(analysis, Modules(analysis), options.pruning)),
        key_(options.sort || has_order(analysis) ? options.sort : SortKey::total),
        before_(analysis, names_, key_),
        indents_(options.columns),
        open_(names_.size()) {}

  void write() {
    push_children(0);
    while (!steps_.empty()) {
      const Step step = steps_.back();
      steps_.pop_back();
      if (step.is_leaving)
        leave(step);
      else
        enter(step.last);
    }
    write_left_out();
  }

 private:
  // Whether children stand in an order that says something, that of their first calls.
  static bool has_order(const Analysis& analysis) {
    return analysis.contexts.callers.empty() && !(analysis.sampled && analysis.sampled->has_chains());
  }

  // Nodes to print, the next one last. A line is seen a second time, marked, after what is below it. A line is of one
  // node, or of a chain of them.
  struct Step {
    uint32_t first, last;
    bool is_leaving;
  };

  static std::vector<std::string> names_of(const FunctionTable& table) {
    std::vector<std::string> names;
    for (const Function& f : table.functions()) names.push_back(prof_text::printable(table.name_with_module(f)));
    return names;
  }

  // 0 if there is none.
  uint32_t first_shown(uint32_t sibling) const {
    while (sibling != 0 && !nodes_shown_.is_shown[sibling]) sibling = nodes_[sibling].next_sibling;
    return sibling;
  }

  bool has_shown_child(uint32_t parent) const { return first_shown(nodes_[parent].first_child) != 0; }

  void push_children(uint32_t parent) {
    children_.clear();
    for (uint32_t c = first_shown(nodes_[parent].first_child); c != 0; c = first_shown(nodes_[c].next_sibling))
      children_.push_back(c);
    if (key_) std::stable_sort(children_.begin(), children_.end(), before_);
    for (size_t i = children_.size(); i-- > 0;) steps_.push_back({children_[i], children_[i], false});
  }

  // Whether all that a node did was to call that child, each time, which then did nearly all that took time.
  bool is_link(const CallNode& node, uint32_t child) const {
    constexpr double kNearlyAll = 0.99;
    const CallNode& next = nodes_[child];
    const double time = double(node.total) + double(node.total_waiting);
    return next.calls == node.calls && first_shown(next.next_sibling) == 0 && open_[next.function] == 0 &&
           double(next.total) + double(next.total_waiting) >= kNearlyAll * time;
  }

  // The last node of the chain that begins with this one; itself if there is none, or none that is worth it. Functions
  // of the chain are open from here on.
  uint32_t open_chain(uint32_t first) {
    constexpr size_t kShortest = 3;
    ++open_[nodes_[first].function];
    if (!options_.chains) return first;
    uint32_t last = first;
    size_t length = 1;
    for (uint32_t c; (c = first_shown(nodes_[last].first_child)) != 0 && is_link(nodes_[last], c); last = c, ++length)
      ++open_[nodes_[c].function];
    if (length >= kShortest) return last;
    for (; last != first; last = nodes_[last].parent) --open_[nodes_[last].function];
    return first;
  }

  void enter(uint32_t first) {
    const bool is_recursive = open_[nodes_[first].function] > 0;
    if (is_recursive && !options_.whole_recursion) {
      write_line(first, first);
      if (!has_shown_child(first)) return;
      constexpr size_t kDots = 3;
      const std::string indent =
          options_.columns ? indents_.at(level_ + 1, *options_.columns - kDots) : indents_.at(level_ + 1);
      return out_.text(indent + "...\n");
    }
    const uint32_t last = open_chain(first);
    write_line(first, last);
    steps_.push_back({first, last, true});
    ++level_;
    push_children(last);
  }

  void leave(const Step& step) {
    for (uint32_t i = step.last;; i = nodes_[i].parent) {
      --open_[nodes_[i].function];
      if (i == step.first) break;
    }
    --level_;
  }

  // The functions from one node down to another, in so many columns of a terminal, if it is one.
  std::string names_from(uint32_t first, uint32_t last, std::optional<size_t> columns) const {
    if (first == last && !columns) return names_[nodes_[first].function];
    Chain chain = {{}, analysis_.contexts.callers.empty() ? " > " : " < "};
    for (uint32_t i = last;; i = nodes_[i].parent) {
      chain.names.push_back(&names_[nodes_[i].function]);
      if (i == first) break;
    }
    std::reverse(chain.names.begin(), chain.names.end());
    return columns ? joined_in(chain, *columns) : joined(chain);
  }

  // What stands after a name; and what goes with it where there is room.
  struct Figures {
    std::string time_and_calls, others;
  };

  Figures figures_of(uint32_t i) const {
    const CallNode& node = nodes_[i];
    // Seen from the other end, a line's calls are those of the function at the top.
    Figures figures;
    std::string& text = figures.time_and_calls;
    text = node.has_tail_calls && analysis_.contexts.callers.empty() ? " (tail call):" : ":";
    if (analysis_.timed()) {
      text += shown_time(analysis_, node.total, total_range(node), 1000, node.has_doubtful_total);
    } else {
      text += '-';
    }
    const bool says_something = node.calls != (node.has_estimated_calls ? 0 : 1);
    if (says_something && analysis_.counts_calls_of(node.function)) text += "/" + shown_calls(node);
    if (analysis_.timed() && !analysis_.contexts.callers.empty())
      figures.others += " self " + shown_time(analysis_, node.self, self_range(node), 1000, node.has_doubtful_self);
    if (analysis_.has_waiting() && analysis_.seconds(node.total_waiting) >= 0.0000005)
      figures.others += " waiting " + shown_time(analysis_, node.total_waiting, {}, 1000, node.has_doubtful_total);
    if (analysis_.cpu) {
      const CallNode& other = analysis_.cpu->tree.nodes[i];
      figures.others +=
          " waiting " + shown_waiting(analysis_, node.total, other.total, total_range(node), total_range(other), 1000,
                                      node.has_doubtful_total || other.has_doubtful_total);
    }
    return figures;
  }

  void write_line(uint32_t first, uint32_t last) {
    Figures figures = figures_of(first);
    if (!options_.columns) {
      out_.text(indents_.at(level_));
      out_.text(names_from(first, last, {}));
      out_.text(figures.time_and_calls + figures.others + "\n");
      return;
    }
    // What a narrow terminal has no room for beside a name: first the deeper indentation, then the other figures.
    constexpr size_t kMinName = 8;
    const size_t columns = *options_.columns;
    auto room = [&] {
      const size_t taken = kMinName + figures.time_and_calls.size() + figures.others.size();
      return columns - std::min(columns, taken);
    };
    if (indents_.columns_at(level_, room()) > room()) figures.others.clear();
    const std::string indent = indents_.at(level_, room());
    const size_t left = columns - std::min(columns, indents_.columns_at(level_, room()));
    const size_t taken = figures.time_and_calls.size() + figures.others.size();
    out_.text(indent + names_from(first, last, left - std::min(left, taken)));
    out_.text(figures.time_and_calls + figures.others + "\n");
  }

  void write_left_out() {
    char text[120];
    if (nodes_shown_.small != 0) {
      std::snprintf(text, sizeof text, ", %.1f %% of the %s, each below %g %%; --percent 0 shows them",
                    nodes_shown_.small_percent, analysis_.timed() ? "time" : "calls", options_.pruning.percent);
      out_.text(wrapped("... " + prof_text::count_of(nodes_shown_.small, "more context") + text, options_.columns));
    }
    if (nodes_shown_.deep != 0) {
      const std::string line =
          "... " + prof_text::count_of(nodes_shown_.deep, "more context") + " deeper than --depth ";
      out_.text(wrapped(line + std::to_string(options_.pruning.depth), options_.columns));
    }
  }

  const Analysis& analysis_;
  const TreeOptions& options_;
  Output& out_;
  const std::vector<CallNode>& nodes_;
  const std::vector<std::string> names_;  // by function
  const ShownNodes nodes_shown_;
  const std::optional<SortKey> key_;
  const Before before_;
  Indentation indents_;
  std::vector<Step> steps_;
  std::vector<uint32_t> open_;  // by function, how many calls of it the walk is inside of
  std::vector<uint32_t> children_;
  uint32_t level_ = 0;
};

}  // namespace

void print_tree(const Analysis& analysis, const TreeOptions& options, Output& out) {
  TreeWriter(analysis, options, out).write();
}

}  // namespace prof
