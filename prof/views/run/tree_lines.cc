#include "tree_lines.h"

#include <algorithm>

#include "libprof/printable.h"
#include "prof/views/text/names.h"
#include "prof/views/text/numbers.h"

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

// Whether children stand in an order that says something, that of their first calls.
bool has_order(const Analysis& analysis, const ShownTree& shown) {
  return !shown.is_of_callers && !(analysis.sampled && analysis.sampled->has_chains());
}

double per_call(const CallNode& node) { return node.calls ? double(node.total) / double(node.calls) : 0; }

}  // namespace

ShownTree tree_of(const Analysis& analysis) {
  return {analysis.tree, analysis.cpu ? &analysis.cpu->tree : nullptr, !analysis.contexts.callers.empty()};
}

std::vector<std::string> names_of_functions(const FunctionTable& table) {
  std::vector<std::string> names;
  for (const Function& f : table.functions()) names.push_back(prof_text::printable(table.name_with_module(f)));
  return names;
}

TreeLines::TreeLines(const Analysis& analysis, const ShownTree& shown, const std::vector<std::string>& names,
                     std::optional<SortKey> key, std::optional<size_t> columns)
    : analysis_(analysis),
      shown_(shown),
      nodes_(shown.tree.nodes),
      names_(names),
      key_(key || has_order(analysis, shown) ? key : SortKey::total),
      columns_(columns),
      indents_(columns) {}

bool TreeLines::comes_before(uint32_t a, uint32_t b) const {
  const CallNode &first = nodes_[a], &second = nodes_[b];
  const bool calls_matter = !analysis_.timed() || shown_.is_of_callers;
  switch (*key_) {
    case SortKey::total:
      return first.total != second.total ? first.total > second.total : calls_matter && first.calls > second.calls;
    case SortKey::self:
      return first.self > second.self;
    case SortKey::calls:
      return first.calls > second.calls;
    case SortKey::per_call:
      return per_call(first) > per_call(second);
    case SortKey::name:
      return names_[first.function] < names_[second.function];
    case SortKey::p50:
    case SortKey::p90:
    case SortKey::p99:
    case SortKey::max:
      break;
  }
  return false;
}

void TreeLines::list_children(uint32_t parent, std::vector<uint32_t>& children) const {
  children.clear();
  for (uint32_t c = nodes_[parent].first_child; c != 0; c = nodes_[c].next_sibling) children.push_back(c);
  if (key_) std::ranges::stable_sort(children, [&](uint32_t a, uint32_t b) { return comes_before(a, b); });
}

// The functions from one node down to another, in so many columns of a terminal, if it is one.
std::string TreeLines::names_from(uint32_t first, uint32_t last, std::optional<size_t> columns) const {
  if (first == last && !columns) return names_[nodes_[first].function];
  Chain chain = {{}, shown_.is_of_callers ? " < " : " > "};
  for (uint32_t i = last;; i = nodes_[i].parent) {
    chain.names.push_back(&names_[nodes_[i].function]);
    if (i == first) break;
  }
  std::reverse(chain.names.begin(), chain.names.end());
  return columns ? joined_in(chain, *columns) : joined(chain);
}

TreeLines::Figures TreeLines::figures_of(uint32_t i) const {
  const CallNode& node = nodes_[i];
  // Seen from the other end, a line's calls are those of the function at the top.
  Figures figures;
  std::string& text = figures.time_and_calls;
  text = node.has_tail_calls && !shown_.is_of_callers ? " (tail call):" : ":";
  if (analysis_.timed()) {
    text += shown_time(analysis_, node.total, total_range(node), 1000, node.has_doubtful_total);
  } else {
    text += '-';
  }
  const bool says_something = node.calls != (node.has_estimated_calls ? 0 : 1);
  uint32_t called = i;
  while (shown_.is_of_callers && nodes_[called].parent != 0) called = nodes_[called].parent;
  if (says_something && analysis_.counts_calls_of(nodes_[called].function)) text += "/" + shown_calls(node);
  if (analysis_.timed() && shown_.is_of_callers)
    figures.others += " self " + shown_time(analysis_, node.self, self_range(node), 1000, node.has_doubtful_self);
  if (analysis_.has_waiting() && analysis_.seconds(node.total_waiting) >= 0.0000005)
    figures.others += " waiting " + shown_time(analysis_, node.total_waiting, {}, 1000, node.has_doubtful_total);
  if (shown_.processor) {
    const CallNode& other = shown_.processor->nodes[i];
    figures.others +=
        " waiting " + shown_waiting(analysis_, node.total, other.total, total_range(node), total_range(other), 1000,
                                    node.has_doubtful_total || other.has_doubtful_total);
  }
  return figures;
}

std::string TreeLines::line(uint32_t first, uint32_t last, uint32_t level) {
  Figures figures = figures_of(first);
  if (!columns_) {
    return indents_.at(level) + names_from(first, last, {}) + figures.time_and_calls + figures.others;
  }
  // What a narrow terminal has no room for beside a name: first the deeper indentation, then the other figures.
  constexpr size_t kMinName = 8;
  const size_t columns = *columns_;
  auto room = [&] {
    const size_t taken = kMinName + figures.time_and_calls.size() + figures.others.size();
    return columns - std::min(columns, taken);
  };
  if (indents_.columns_at(level, room()) > room()) figures.others.clear();
  const std::string indent = indents_.at(level, room());
  const size_t left = columns - std::min(columns, indents_.columns_at(level, room()));
  const size_t taken = figures.time_and_calls.size() + figures.others.size();
  return indent + names_from(first, last, left - std::min(left, taken)) + figures.time_and_calls + figures.others;
}

std::string TreeLines::cut_off(uint32_t level) {
  constexpr size_t kDots = 3;
  return (columns_ ? indents_.at(level, *columns_ - kDots) : indents_.at(level)) + "...";
}

}  // namespace prof
