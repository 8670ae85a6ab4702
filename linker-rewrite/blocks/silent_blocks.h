// Which basic blocks of a function write no record (profld --trace), because the records before and after them tell
// that they ran: see silent_blocks.cc.

#ifndef LINKER_REWRITE_BLOCKS_SILENT_BLOCKS_H
#define LINKER_REWRITE_BLOCKS_SILENT_BLOCKS_H

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace profld {

// Where a record may stand: a block, or one of the ways on from a conditional jump.
struct RecordNode {
  std::vector<uint32_t> next{};  // where control goes on; none twice
  bool is_way = false;           // it has no code, a block before it, and one after it
  bool is_entered = false;       // control may come from outside of the function
  bool leaves = false;           // control may leave the function at its end
  double cost = 0;               // of its record
  static constexpr double kNoPlace = std::numeric_limits<double>::infinity();  // there can be none
};

// Of what can be reached from a node without a record.
struct TreeLimits {
  size_t leaves = 512;  // if it is to grow
  size_t silent = 128;  // blocks before one that becomes silent, and as many after it
};

// What else is asked of a node before it becomes silent.
class SilenceJudge {
 public:
  virtual ~SilenceJudge() = default;
  // A silent node, or the one that is to become so; a record that may come next after it then; and what is silent in
  // between.
  struct Told {
    uint32_t silent, record;
    std::vector<uint32_t> way;
  };
  // `told`: what is new. True: it is silent from now on.
  virtual bool accepts(uint32_t node, std::span<const Told> told) = 0;
};

struct SilentNodes {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // By node:
  std::vector<bool> silent;
  std::vector<uint32_t> before;                 // the silent block that always ran before it; kNone: there is none
  std::vector<bool> by_ways;                    // what ran before it depends on the record before
  std::vector<bool> from_outside;               // what is before it begins where control comes from outside
  std::vector<std::vector<uint32_t>> leaves{};  // the records that may come next after it, ascending
};

// Nullopt if a block has no place for the record that it needs.
std::optional<SilentNodes> choose_silent(const std::vector<RecordNode>& nodes, TreeLimits limits = {},
                                         SilenceJudge* judge = nullptr);

// What is silent between a node and a record that may come next after it.
std::vector<uint32_t> silent_way(const std::vector<RecordNode>& nodes, const SilentNodes& told, uint32_t from,
                                 uint32_t to);

}  // namespace profld

#endif
