// The problem. Most blocks of a rewritten program write nothing (linker-rewrite/blocks/silent_blocks.cc): which of them ran is told
// by two words, one behind the other. Some of these blocks are the same whatever ran before, and the table names them (`before`).
// For the others, it has the ways on from each block: from one that writes, what can be reached by way of such as do not is a tree,
// and so the next word says which of its branches ran.
//
// Signals. A handler's words stand between two of the code that it came to. So if the next word is not in the tree, that code
// was interrupted, and is kept, as a program keeps it on its stack. A handler's first word is of a block that tells by itself
// what ran before it; so does the first one behind a call. They are marked: from outside. No tree has both such ones and some that
// depend on where it begins. So trees with such ones need not be kept, and when another one comes, a tree that it is in was
// interrupted, and goes on: if there are several, the one that was interrupted last. Code that a handler leaves by siglongjmp is
// kept in vain: some day it is the outermost of too many, and is forgotten.
//
// Limits. If such code was in a handler that came to the same function, the outer code may be taken for it when it goes on, and other
// blocks be told between two records. So may threads of the program's own making be, that a handler switches.
//
// What cannot be told: what ran before the first word of a ring. Elsewhere, it is a gap.

#include "block_ways.h"

#include <algorithm>

#include "varint.h"

namespace prof {

namespace {

constexpr uint64_t kMostReached = uint64_t(1) << 25;  // of all trees together; real ones have some dozens each
constexpr size_t kMostInterrupted = 256;

}  // namespace

const BlockWays::Tree& BlockWays::behind(uint32_t from) {
  const auto [at, is_new] = trees_.try_emplace(from);
  if (!is_new) return at->second;
  std::vector<Reached>& reached = at->second.reached;
  const auto add = [&](uint32_t before) {
    for (const uint32_t to : table_.next(before)) reached.push_back({to, before});
    if (size_ + reached.size() > kMostReached) throw DamagedTrace("the table of blocks has too many ways");
  };
  add(from);
  for (size_t i = 0; i < reached.size(); ++i) {
    const uint32_t block = reached[i].block;
    if (!table_.writes(block)) add(block);
    at->second.is_inside &= !table_.is_from_outside(block);
  }
  size_ += reached.size();
  std::ranges::sort(reached, {}, &Reached::block);
  if (std::ranges::adjacent_find(reached, {}, &Reached::block) != reached.end())
    throw DamagedTrace("the table of blocks has two ways to a block");
  return at->second;
}

bool BlockWays::find(uint32_t from, uint32_t to, std::vector<uint32_t>& way) {
  if (table_.next(from).empty()) return false;
  const std::vector<Reached>& tree = behind(from).reached;
  const auto place = [&](uint32_t block) { return std::ranges::lower_bound(tree, block, {}, &Reached::block); };
  auto at = place(to);
  if (at == tree.end() || at->block != to) return false;
  const size_t first = way.size();
  for (; at->before != from; at = place(at->before)) way.push_back(at->before);
  std::reverse(way.begin() + ptrdiff_t(first), way.end());
  return true;
}

// Whether the block is what comes behind something that was interrupted.
bool BlockSequence::resume(uint32_t block, std::vector<uint32_t>& ran) {
  for (size_t i = interrupted_.size(); i-- > 0;)
    if (ways_.find(interrupted_[i], block, ran)) {
      interrupted_.erase(interrupted_.begin() + ptrdiff_t(i));
      return true;
    }
  return false;
}

void BlockSequence::write(uint32_t block, std::vector<uint32_t>& ran) {
  const uint32_t last = last_;
  last_ = block;
  if (last != kNone) {
    if (ways_.find(last, block, ran)) return;
    if (ways_.is_inside(last)) {
      if (interrupted_.size() == kMostInterrupted) interrupted_.erase(interrupted_.begin());
      interrupted_.push_back(last);
    }
    if (!table_.is_from_outside(block) && resume(block, ran)) return;
    has_gaps_ |= table_.is_told_by_ways(block);
  }
  const size_t first = ran.size();
  for (uint32_t before = table_.before(block); before != 0; before = table_.before(before - 1))
    ran.push_back(before - 1);
  std::reverse(ran.begin() + ptrdiff_t(first), ran.end());
}

}  // namespace prof
