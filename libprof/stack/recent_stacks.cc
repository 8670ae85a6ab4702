// The problem. The index of stacks (stack_index.h) tells from some ten cache lines whose stack an address is on. With many
// coroutines none of these is in the processor's caches, nor is what is then needed of the stack itself: a change of stacks
// would cost several times what it costs with one coroutine. For most of it the processor waits for memory.
//
// The ways taken. A guess is tested with the stack's own head (find_stack_above), which a change needs in any case, so a right one
// costs no further line; and a wrong one costs no more than the time to look.
//   - Most schedulers go through their coroutines in an order that hardly changes. So each coroutine keeps which one the thread
//     went to next. When that one is due, it is looked at first. And when the thread goes to a coroutine, the two adjacent lines
//     of the one after it are read ahead: its head, and its first frames. That is more than one change, so they are there in time.
//     Nothing of the program's is read ahead, as its own waiting is what a profile is to show.
//   - Where the order was not as before the last time, it is not likely to be this time. Then a table by pages of addresses
//     tells. Its entries are in groups, each within one line, so that a stack is found also when others have the same place;
//     and they hold the page, so that no head of another stack is read.
//
// Handlers. Both are guesses, whatever a handler does to them. Each entry is written as a whole.

#include "recent_stacks.h"

#include "libprof/file/file.h"

namespace libprof {

namespace {

constexpr uint32_t kHash = 0x9E3779B1;
constexpr uint64_t kSmallestTable = kPage / sizeof(RecentStacks);  // groups

}  // namespace

// The first group holds how many there are.
RecentStacks* recent_stacks_of(State* s, uint64_t address) {
  const Block block = load(&s->recent_stacks);
  if (block == 0) return nullptr;
  auto* table = at<RecentStacks>(s->base, block);
  const uint32_t place = uint32_t(uint64_t(page_tag(address) * kHash) * uint32_t(table->entries[0]) >> 32);
  return place != 0 ? table + place : nullptr;
}

void note_recent_stack(RecentStacks* recent, uint64_t address, Block stack) {
  const uint64_t entry = uint64_t(page_tag(address)) << 32 | stack;
  for (const uint64_t& e : recent->entries) {
    if (load(&e) == entry) return;
  }
  for (uint32_t i = kRecentStacks - 1; i != 0; --i) store(&recent->entries[i], load(&recent->entries[i - 1]));
  store(&recent->entries[0], entry);
}

void fit_recent_stacks(State* s) {
  const uint64_t groups = s->recent_stacks != 0 ? at<RecentStacks>(s->base, s->recent_stacks)->entries[0] : 0;
  if (groups != 0 && s->stacks_listed <= groups * kRecentStacks / 2) return;
  const uint64_t wanted = groups != 0 ? 4 * groups : kSmallestTable;
  const Block block = take_blocks(wanted * sizeof(RecentStacks) / PROF_BLOCK_SIZE);
  if (block == 0) return;
  at<RecentStacks>(s->base, block)->entries[0] = wanted;
  store(&s->recent_stacks, block);
}

}  // namespace libprof
