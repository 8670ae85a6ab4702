#include <algorithm>
#include <cstdlib>
#include <vector>

#include "libprof/printable.h"
#include "numbers.h"
#include "prof/model/modules.h"
#include "views.h"

namespace prof {

namespace {

// Lines get longer with the depth. At deeper levels than this the level is written as a number; else a tree of a
// million levels would be a terabyte of dots.
constexpr uint32_t kDeepestIndent = 500;

// Plan 9's environment variable for editors and printers of trees.
int tab_stop() {
  const char* text = std::getenv("tabstop");
  const int columns = text ? std::atoi(text) : 0;
  return columns >= 1 && columns <= 64 ? columns : 4;
}

// Two columns per level: a dot and a tab for every full tab stop, a dot and spaces for the rest.
std::string indentation(uint32_t level, int tab) {
  std::string text;
  int columns = 2 * int(std::min(level, kDeepestIndent));
  for (; columns >= tab; columns -= tab) text += ".\t";
  if (columns > 0) text += "." + std::string(size_t(columns - 1), ' ');
  if (level > kDeepestIndent) text += "(level " + std::to_string(level) + ") ";
  return text;
}

Range total_range(const CallNode& node) { return with_chance(node.total_range, node.total_variance); }

}  // namespace

void print_tree(const Analysis& analysis, const TreeOptions& options, Output& out) {
  const std::vector<CallNode>& nodes = analysis.tree.nodes;
  const std::vector<Function>& functions = analysis.functions.functions();
  std::vector<std::string> names;
  for (const Function& f : functions) names.push_back(prof_text::printable(analysis.functions.name_with_module(f)));
  const std::vector<bool> selected = selected_nodes(analysis, Modules(analysis));
  const int tab = tab_stop();
  std::vector<std::string> indents;
  auto indent = [&](uint32_t level) {
    if (level > kDeepestIndent) return out.text(indentation(level, tab));
    while (indents.size() <= level) indents.push_back(indentation(uint32_t(indents.size()), tab));
    out.text(indents[level]);
  };

  // Nodes to print, the next one last. A node is seen a second time, marked, after its subtree.
  struct Step {
    uint32_t node;
    bool leaving;
  };
  std::vector<Step> steps;
  std::vector<uint32_t> open(functions.size());  // how many calls of the function the walk is inside of
  std::vector<uint32_t> children;
  uint32_t level = 0;
  auto push_children = [&](uint32_t parent) {
    children.clear();
    for (uint32_t c = nodes[parent].first_child; c != 0; c = nodes[c].next_sibling)
      if (selected[c]) children.push_back(c);
    if (options.by_time) {
      std::stable_sort(children.begin(), children.end(), [&](uint32_t a, uint32_t b) {
        return nodes[a].total != nodes[b].total ? nodes[a].total > nodes[b].total
                                                : !analysis.timed && nodes[a].calls > nodes[b].calls;
      });
    }
    for (size_t i = children.size(); i-- > 0;) steps.push_back({children[i], false});
  };

  auto has_selected_child = [&](uint32_t parent) {
    for (uint32_t c = nodes[parent].first_child; c != 0; c = nodes[c].next_sibling)
      if (selected[c]) return true;
    return false;
  };

  push_children(0);
  while (!steps.empty()) {
    const Step step = steps.back();
    steps.pop_back();
    const CallNode& node = nodes[step.node];
    if (step.leaving) {
      --open[node.function];
      --level;
      continue;
    }
    indent(level);
    out.text(names[node.function]);
    out.byte(':');
    if (analysis.timed) {
      out.text(shown_time(analysis, node.total, total_range(node), 1000, node.has_doubtful_total));
    } else {
      out.byte('-');
    }
    if (node.calls != 1 && functions[node.function].has_calls) {
      out.byte('/');
      out.text(shown_calls(node.calls, node.has_doubtful_calls));
    }
    if (analysis.has_waiting && analysis.seconds(node.total_waiting) >= 0.0000005)
      out.text(" waiting " + shown_time(analysis, node.total_waiting, {}, 1000, node.has_doubtful_total));
    if (analysis.cpu) {
      const CallNode& other = analysis.cpu->tree.nodes[step.node];
      out.text(" waiting " + shown_waiting(analysis, node.total, other.total, total_range(node), total_range(other),
                                           1000, node.has_doubtful_total || other.has_doubtful_total));
    }
    out.byte('\n');
    if (!has_selected_child(step.node)) continue;
    if (open[node.function] > 0 && !options.whole_recursion) {
      indent(level + 1);
      out.text("...\n");
      continue;
    }
    steps.push_back({step.node, true});
    ++open[node.function];
    ++level;
    push_children(step.node);
  }
}

}  // namespace prof
