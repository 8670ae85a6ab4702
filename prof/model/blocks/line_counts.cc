#include "line_counts.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "prof/model/tree/tree.h"

namespace prof {

namespace {

using Line = LineCounts::Line;

// A stretch of instructions of one line.
struct Run {
  uint64_t start;  // address
  Line line;
};

// Finds the lines of the blocks of one function.
class Lines {
 public:
  Lines(const FlowGraph& graph, const LineTable& table, const std::function<uint32_t(uint32_t)>& file,
        const LineCounts::Declared& declared)
      : graph_(graph), table_(table), file_(file), declared_(declared) {}

  struct OfBlock {
    std::vector<Line> lines;  // in the order in which they first occur
    std::vector<Line> left;   // those that the block belongs to
    std::vector<Line> frame;  // of instructions that only begin or end the function
  };

  OfBlock of(const FlowBlock& block) const {
    OfBlock found;
    std::vector<Run> runs = runs_of(block, found.frame);
    if (!runs.empty() && declared_.has_result && block.last.transfer == Transfer::ret &&
        runs.back().start >= block.end_of_function) {
      found.frame.push_back(runs.back().line);
      runs.pop_back();
    }
    for (const Run& run : runs)
      if (std::find(found.lines.begin(), found.lines.end(), run.line) == found.lines.end())
        found.lines.push_back(run.line);
    // Of several files' lines, as macros and included text make them, it is left at the last of each.
    for (size_t i = 0; i < found.lines.size(); ++i)
      if (i + 1 == found.lines.size() || found.lines[i + 1].first != found.lines[i].first)
        found.left.push_back(found.lines[i]);
    return found;
  }

 private:
  std::vector<Run> runs_of(const FlowBlock& block, std::vector<Line>& frame) const {
    std::vector<Run> runs;
    bool is_shared = false;  // the start of the first
    auto range = std::upper_bound(table_.ranges.begin(), table_.ranges.end(), block.start,
                                  [](uint64_t a, const LineRange& r) { return a < r.end; });
    for (; range != table_.ranges.end() && range->start < block.end; ++range) {
      if (range->line == 0) continue;
      if (runs.empty()) is_shared = range->is_shared;
      runs.push_back({std::max(range->start, block.start), {file_(range->file), range->line}});
    }
    if (!runs.empty() && block.start == graph_.entry && declared_.at && runs[0].line.first == declared_.at->first) {
      if (is_shared)
        runs.insert(runs.begin(), {block.start, *declared_.at});
      else
        frame.push_back(std::exchange(runs[0].line, *declared_.at));
    }
    if (runs.size() > 1 && block.last.transfer == Transfer::jump && runs.back().start == block.last.address &&
        block.last.target && *block.last.target != block.start && first_line_at(*block.last.target) == runs.back().line)
      runs.pop_back();
    for (const auto& [address, line] : declared_.labels) {
      if (address < block.start || address >= block.end) continue;
      const auto after =
          std::find_if(runs.begin(), runs.end(), [a = address](const Run& run) { return run.start >= a; });
      runs.insert(after, {address, line});
    }
    return runs;
  }

  std::optional<Line> first_line_at(uint64_t address) const {
    const LineRange* range = table_.find(address);
    return range ? std::optional(Line(file_(range->file), range->line)) : std::nullopt;
  }

  const FlowGraph& graph_;
  const LineTable& table_;
  const std::function<uint32_t(uint32_t)>& file_;
  const LineCounts::Declared& declared_;
};

// Some blocks of a graph, and the arcs between them.
class Part {
 public:
  // `blocks`: by address.
  Part(const FlowGraph& graph, const std::vector<std::vector<uint32_t>>& arcs_out, const std::vector<uint64_t>& entered,
       const std::vector<uint32_t>& blocks)
      : blocks_(blocks), out_(blocks.size()) {
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      add_up(entered_, entered[blocks[b]]);
      for (const uint32_t a : arcs_out[blocks[b]]) {
        const FlowArc& arc = graph.arcs[a];
        const auto to = std::lower_bound(blocks.begin(), blocks.end(), arc.to);
        if (to == blocks.end() || *to != arc.to) continue;
        out_[b].push_back({uint32_t(to - blocks.begin()), arc.count});
        is_exact_ = is_exact_ && arc.is_exact;
        add_up(inside_, arc.count);
      }
    }
  }

  bool is_exact() const { return is_exact_; }

  // How often control came to the blocks from others.
  uint64_t entries() const { return entered_ - std::min(entered_, inside_); }

  // How often it went round: each round takes away from its arcs what the least of them has.
  uint64_t rounds() {
    uint64_t sum = 0;
    for (uint32_t b = 0; b < blocks_.size(); ++b)
      while (const uint64_t count = round_from(b)) add_up(sum, count);
    return sum;
  }

 private:
  struct Way {
    uint32_t to;
    uint64_t count;
  };

  // Takes away a round from a block through those after it in the list, if there is one, and returns how often it was
  // gone.
  uint64_t round_from(uint32_t first) {
    if (!is_entered_from_later(first)) return 0;
    std::vector<bool> seen(blocks_.size());
    struct Step {
      uint32_t block;
      size_t way = 0;
    };
    std::vector<Step> path = {{first}};
    while (!path.empty()) {
      Step& step = path.back();
      if (step.way == out_[step.block].size()) {
        path.pop_back();
        if (!path.empty()) ++path.back().way;
        continue;
      }
      const Way& way = out_[step.block][step.way];
      if (way.count != 0 && way.to == first) break;
      if (way.count == 0 || way.to < first || seen[way.to]) {
        ++step.way;
        continue;
      }
      seen[way.to] = true;
      path.push_back({way.to});
    }
    uint64_t least = path.empty() ? 0 : UINT64_MAX;
    for (const Step& step : path) least = std::min(least, out_[step.block][step.way].count);
    for (const Step& step : path) out_[step.block][step.way].count -= least;
    return least;
  }

  bool is_entered_from_later(uint32_t first) const {
    for (uint32_t b = first; b < blocks_.size(); ++b)
      for (const Way& way : out_[b])
        if (way.to == first && way.count != 0) return true;
    return false;
  }

  const std::vector<uint32_t>& blocks_;
  std::vector<std::vector<Way>> out_;  // by index in the list
  uint64_t entered_ = 0, inside_ = 0;
  bool is_exact_ = true;
};

}  // namespace

void LineCounts::add(const FlowGraph& graph, const LineTable& table, const std::function<uint32_t(uint32_t)>& file,
                     const Declared& declared) {
  std::vector<std::vector<uint32_t>> arcs_out(graph.blocks.size());
  std::vector<uint64_t> entered(graph.blocks.size());
  for (uint32_t a = 0; a < graph.arcs.size(); ++a) {
    arcs_out[graph.arcs[a].from].push_back(a);
    add_up(entered[graph.arcs[a].to], graph.arcs[a].count);
  }
  const Lines lines(graph, table, file, declared);
  std::map<Line, std::vector<uint32_t>> belonging;
  std::set<Line> begun;
  for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
    const FlowBlock& block = graph.blocks[b];
    entered[b] = block.is_after_call ? std::min(entered[b], block.count) : block.count;
    const Lines::OfBlock found = lines.of(block);
    for (const Line& line : found.lines) add_up(lines_[line].within, block.count);
    for (const Line& line : found.left) belonging[line].push_back(b);
    frames_.insert(found.frame.begin(), found.frame.end());
    if (found.lines.empty() || !begun.insert(found.lines[0]).second) continue;
    std::optional<uint64_t>& all = lines_[found.lines[0]].begun;
    if (!all) all = 0;
    add_up(*all, block.count);
  }
  for (const auto& [line, blocks] : belonging) {
    Part part(graph, arcs_out, entered, blocks);
    Parts& parts = lines_[line];
    parts.has_blocks = true;
    add_up(parts.arrived, part.entries());
    add_up(parts.arrived, part.rounds());
    parts.is_exact = parts.is_exact && part.is_exact();
  }
}

std::map<LineCounts::Line, LineCount> LineCounts::counts() const {
  std::map<Line, LineCount> counts;
  for (const auto& [line, parts] : lines_)
    counts[line] = parts.has_blocks ? LineCount{parts.arrived, parts.is_exact, parts.begun}
                                    : LineCount{parts.within, true, parts.begun};
  return counts;
}

namespace {

constexpr const char* kBlanks = " \t\f\v";

// Takes comments and blanks at its ends away from a line. `inside`: of a comment that goes on in the next.
std::string without_comments(std::string_view line, bool& inside) {
  std::string text;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const std::string_view two = line.substr(i, 2);
    if (inside) {
      if (two != "*/") continue;
      inside = false;
      ++i;
    } else if (quote == 0 && two == "/*") {
      inside = true;
      ++i;
    } else if (quote == 0 && two == "//") {
      break;
    } else {
      if (line[i] == '\\' && quote != 0 && i + 1 < line.size()) {
        text += line[i];
        ++i;
      } else if (line[i] == quote) {
        quote = 0;
      } else if (quote == 0 && (line[i] == '"' || line[i] == '\'')) {
        quote = line[i];
      }
      text += line[i];
    }
  }
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool is_label(std::string_view line) {
  for (const std::string_view word : {"case", "default"}) {
    if (!line.starts_with(word) || line.find(':') == std::string_view::npos) continue;
    const char next = line.size() > word.size() ? line[word.size()] : ' ';
    if (next == ' ' || next == '\t' || next == ':' || next == '(' || next == '\'' || next == '-') return true;
  }
  return false;
}

// "int n;": nothing is called or assigned.
bool is_declaration(std::string_view line) {
  return line.ends_with(";") && line.find_first_of("(=:+-/%&|^!~?\"'") == std::string_view::npos &&
         line.find(' ') != std::string_view::npos;
}

}  // namespace

std::map<uint32_t, uint32_t> case_labels(const std::vector<std::string>& text,
                                         const std::function<bool(uint32_t)>& has_code) {
  std::map<uint32_t, uint32_t> found;
  std::vector<uint32_t> open;  // labels whose code was not met
  bool is_comment = false;
  for (uint32_t number = 1; number <= text.size(); ++number) {
    const std::string line = without_comments(text[number - 1], is_comment);
    if (has_code(number)) {
      for (const uint32_t label : open) found[label] = number;
      open.clear();
    } else if (is_label(line)) {
      open.push_back(number);
    } else if (!line.empty() && line != "{" && line != "[[fallthrough]];" && !is_declaration(line)) {
      open.clear();
    }
  }
  return found;
}

}  // namespace prof
