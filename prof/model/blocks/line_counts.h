// How often the lines of a source ran, from the counts of basic blocks; and the labels of switch statements, which the
// line table does not have.
//
// A line is not a block: it may be part of one, or be made of several (x = a ? b : c), between which control may go
// round (while (f());). gcov has an answer that people know, and this gives the same, from the code instead of from the
// compiler's flow graph:
//
//     A block has the lines of its instructions. It belongs to the last of them, where it is left.
//     A line that no block belongs to ran as often as the blocks it is in, all together.
//     Another ran as often as control came to its blocks from blocks that do not belong to it, and as often as control
//     went round among its blocks.
//
// Code that was compiled without optimization (-O0) has the compiler's flow graph still, and then the counts are
// gcov's. What the machine's code has besides is left out for that:
//
//     Where a function begins is the line of its name, and not that of the brace after its parameters. (In optimized
//     code the line table names several lines for one address. Then the last of them ran as well.)
//     A jump back to a line may have that line. It is no part of it.
//     The instructions by which a function with a result ends, at its closing brace, are of no line.
//     Where setjmp returns a second time, control does not come to the line again.
//
// In optimized code the instructions of a line are mixed with others or gone, and the counts are as good as the line
// table is.

#ifndef PROF_MODEL_BLOCKS_LINE_COUNTS_H
#define PROF_MODEL_BLOCKS_LINE_COUNTS_H

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "flow_graph.h"
#include "prof/read/debug_info.h"

namespace prof {

struct LineCount {
  uint64_t count = 0;
  bool is_exact = true;  // false: the counts of the blocks allow others as well
  // Executions of the block, the first of each function, that begins with it, if there is one.
  std::optional<uint64_t> begun = {};
};

// Of the files of one line table, or of several that have the same.
class LineCounts {
 public:
  using Line = std::pair<uint32_t, uint32_t>;  // index of the file, number of the line

  // What debug information says of a function.
  struct Declared {
    std::optional<Line> at;   // where its name stands; its first instructions may be of another line
    bool has_result = false;  // it returns a value
    std::vector<std::pair<uint64_t, Line>> labels = {};  // of goto, with their addresses
  };

  // Adds what the blocks of a function did. `file`: the index, among those of this object, of a file of the table.
  void add(const FlowGraph& graph, const LineTable& table, const std::function<uint32_t(uint32_t)>& file,
           const Declared& declared);

  std::map<Line, LineCount> counts() const;

  // Code of it there may be, but that only begins a function, or ends one that has a result.
  bool only_frames_function(const Line& line) const { return frames_.contains(line) && !lines_.contains(line); }

 private:
  struct Parts {
    uint64_t within = 0;      // executions of blocks that it is in
    uint64_t arrived = 0;     // at blocks that belong to it
    bool has_blocks = false;  // there are such
    bool is_exact = true;
    std::optional<uint64_t> begun;
  };
  std::map<Line, Parts> lines_;
  std::set<Line> frames_;
};

// The labels of switch statements in a source.
//
// A compiler makes code of what stands after `case 3:`, and none of the label, so the line table does not have it where
// it stands in a line of its own. gcov shows how often control came there, which is how often the code after it was
// begun. Only the text tells where these labels are. So that no label is taken for one that the compiler never saw
// (#ifdef), nothing may stand between it and the code but other labels, declarations and comments.

// By number, the lines that have labels and no code, and the lines of the code after them. `has_code`: of a line.
std::map<uint32_t, uint32_t> case_labels(const std::vector<std::string>& text,
                                         const std::function<bool(uint32_t)>& has_code);

}  // namespace prof

#endif
