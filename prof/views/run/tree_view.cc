#include <algorithm>
#include <cstdio>
#include <vector>

#include "linker-rewrite/text/numbers.h"
#include "prof/model/tree/modules.h"
#include "prof/model/tree/pruning.h"
#include "prof/views/text/names.h"
#include "tree_lines.h"
#include "views.h"

namespace prof {

namespace {

class TreeWriter {
 public:
  TreeWriter(const Analysis& analysis, const TreeOptions& options, Output& out)
      : analysis_(analysis),
        options_(options),
        out_(out),
        nodes_(analysis.tree.nodes),
        names_(names_of_functions(analysis.functions)),
        nodes_shown_(shown_nodes(analysis, Modules(analysis), options.pruning)),
        lines_(analysis, tree_of(analysis), names_, options.sort, options.columns),
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
  // Nodes to print, the next one last. A line is seen a second time, marked, after what is below it. A line is of one
  // node, or of a chain of them.
  struct Step {
    uint32_t first, last;
    bool is_leaving;
  };

  // 0 if there is none.
  uint32_t first_shown(uint32_t sibling) const {
    while (sibling != 0 && !nodes_shown_.is_shown[sibling]) sibling = nodes_[sibling].next_sibling;
    return sibling;
  }

  bool has_shown_child(uint32_t parent) const { return first_shown(nodes_[parent].first_child) != 0; }

  void push_children(uint32_t parent) {
    lines_.list_children(parent, children_);
    std::erase_if(children_, [&](uint32_t child) { return !nodes_shown_.is_shown[child]; });
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
      out_.text(lines_.line(first, first, level_) + "\n");
      if (!has_shown_child(first)) return;
      return out_.text(lines_.cut_off(level_ + 1) + "\n");
    }
    const uint32_t last = open_chain(first);
    out_.text(lines_.line(first, last, level_) + "\n");
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
  TreeLines lines_;
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
