// stack_index: adds and removes stacks by the hundred thousand, in several orders, and compares what is found with a set.
// Prints nothing when all is well.

#include "libprof/stack/stack_index.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "libprof/file/file.h"

using namespace libprof;

static constexpr uint64_t kBlocks = uint64_t(1) << 20;
static char* memory;

Block libprof::take_blocks(uint64_t count) {
  Block* used = &reinterpret_cast<Header*>(memory)->blocks_used;
  if (*used + count > kBlocks) return 0;
  return std::exchange(*used, Block(*used + count));
}

// In the order of the index: of two with the same end, the larger block is first.
using Key = std::pair<uint64_t, uint32_t>;
static Key key(uint64_t end, Block stack) { return {end, ~stack}; }
static std::set<Key> expected;
static State* state;

static void compare(const char* what, uint64_t end, Block stack) {
  const Neighbours found = neighbours_of(state, end, stack);
  const auto above = expected.upper_bound(key(end, stack)), below = expected.lower_bound(key(end, stack));
  const bool is_above_right =
      above == expected.end() ? found.above.stack == 0 : key(found.above.end, found.above.stack) == *above;
  const bool is_below_right =
      below == expected.begin() ? found.below.stack == 0 : key(found.below.end, found.below.stack) == *std::prev(below);
  if (is_above_right && is_below_right) return;
  printf("%s: wrong stacks beside %lx (%u of %zu)\n", what, end, stack, expected.size());
  exit(1);
}

int main() {
  memory = static_cast<char*>(
      mmap(nullptr, kBlocks * PROF_BLOCK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  reinterpret_cast<Header*>(memory)->blocks_used = Block(kBlocks / 2);  // numbers of stacks are below that
  state = static_cast<State*>(calloc(1, sizeof(State)));
  state->base = memory;
  std::mt19937_64 random(1);
  const char* const orders[] = {"ascending", "descending", "random", "equal"};
  for (int round = 0; round < 8; ++round) {
    const char* order = orders[round % 4];
    std::vector<std::pair<uint64_t, Block>> stacks;
    for (uint32_t i = 0; i < 100000; ++i) {
      const uint64_t ends[] = {i * 16ul + 16, (100000ul - i) * 16, (random() % (1 << 24)) * 16 + 16, 4096 + i / 1000};
      const Block stack = 1 + Block((i * 7919ul) % 100003);
      stacks.emplace_back(ends[round % 4], stack);
      if (!add_stack_end(state, ends[round % 4], stack)) return printf("%s: no room\n", order), 1;
      expected.insert(key(ends[round % 4], stack));
      if (i % 16 == 0) compare(order, random() % (1 << 28), Block(random() % 100003));
      if (i % 16 == 1) compare(order, stacks[random() % stacks.size()].first, stack);
    }
    for (uint32_t i = 0; i < stacks.size(); ++i) {
      if (round >= 4) std::swap(stacks[i], stacks[i + random() % (stacks.size() - i)]);
      const auto [end, stack] = stacks[i];
      remove_stack_end(state, end, stack);
      expected.erase(key(end, stack));
      if (i % 16 == 0) compare(order, end, stack);
    }
    compare(order, 1, 0);
  }
  // Pages are used again: half full, 100,000 need 785.
  const uint64_t pages = (reinterpret_cast<Header*>(memory)->blocks_used - kBlocks / 2) / kBlocksPerPage;
  if (pages > 1000) return printf("%lu pages\n", pages), 1;
}
