// The problem. A program may have a hundred thousand coroutines and change between them a million times a second. Each
// change asks whose stack rsp is on: that with the nearest upper end above it. And it asks where the next stack below
// ends. What is asked must be told from a few cache lines. A signal handler may ask as well, and add stacks, while we
// look.
//
// The way taken. A B-tree, whose pages are pages of the profile: readers do not look at them, and what happens to the
// profile in a forked child happens to them. Leaves hold the stacks, other pages the pages below them, each with an
// entry that is not after any of that one's. Leaves are chained. A page is given up when its last entry goes; pages are
// not merged, as stacks come and go at the same places.
//
// Handlers. The tree is changed by heavy paths only, as a whole, which are counted (stack_changes). Who looks, looks
// again if it has changed meanwhile, but not for ever: then it finds nothing. No page is used for anything else later,
// the number of a page's entries is never believed to be more than there is room for, and numbers of blocks never to be
// more than there are: so looking at a page that changes ends well.

#include "stack_index.h"

#include "libprof/file/file.h"

namespace libprof {

namespace {

constexpr uint32_t kMaxLevels = 8;  // far more than fit
constexpr int kMaxTries = 4;        // of looking, when handlers change the tree meanwhile

struct IndexPage {
  uint32_t used;   // entries
  uint32_t level;  // 0: a leaf
  Block before, after;
  StackEnd entries[(kPage - 16) / sizeof(StackEnd)];
};
static_assert(sizeof(IndexPage) == kPage);
constexpr uint32_t kMaxEntries = sizeof IndexPage::entries / sizeof(StackEnd);

bool is_before(const StackEnd& a, const StackEnd& b) { return a.end < b.end || (a.end == b.end && a.stack > b.stack); }

bool is_known_block(State* s, Block block) { return block != 0 && block < at<Header>(s->base, 0)->blocks_used; }
IndexPage* page_at(State* s, Block block) { return is_known_block(s, block) ? at<IndexPage>(s->base, block) : nullptr; }

uint32_t used_of(const IndexPage* page) {
  const uint32_t used = load(&page->used);
  return used < kMaxEntries ? used : kMaxEntries;
}

// How many entries of the page come before that one.
uint32_t count_before(const IndexPage* page, const StackEnd& e) {
  uint32_t first = 0, size = used_of(page);
  while (size != 0) {
    const uint32_t half = size / 2;
    if (is_before(page->entries[first + half], e)) {
      first += half + 1;
      size -= half + 1;
    } else {
      size = half;
    }
  }
  return first;
}

// Where an entry of a page above the leaves leads on to that one.
uint32_t place_towards(const IndexPage* page, const StackEnd& e) {
  const uint32_t place = count_before(page, e);
  const bool is_equal = place < used_of(page) && !is_before(e, page->entries[place]);
  return place == 0 || is_equal ? place : place - 1;
}

// The leaf that the entry is in or belongs into. `way`: the pages that lead there, by level.
IndexPage* find_leaf(State* s, const StackEnd& e, IndexPage** way = nullptr) {
  IndexPage* page = page_at(s, load(&s->index));
  for (uint32_t i = 0; page && i < kMaxLevels; ++i) {
    const uint32_t level = load(&page->level);
    if (level >= kMaxLevels) return nullptr;
    if (way) way[level] = page;
    if (level == 0) return page;
    page = page_at(s, load(&page->entries[place_towards(page, e)].page));
  }
  return nullptr;
}

Neighbours find(State* s, const StackEnd& e) {
  Neighbours found = {};
  const IndexPage* leaf = find_leaf(s, e);
  if (!leaf) return found;
  const uint32_t used = used_of(leaf);
  uint32_t place = count_before(leaf, e);
  if (place != 0) {
    found.below = leaf->entries[place - 1];
  } else if (const IndexPage* before = page_at(s, leaf->before)) {
    if (used_of(before) != 0) found.below = before->entries[used_of(before) - 1];
  }
  if (place < used && !is_before(e, leaf->entries[place])) ++place;  // e itself
  if (place < used) {
    found.above = leaf->entries[place];
  } else if (const IndexPage* after = page_at(s, leaf->after)) {
    if (used_of(after) != 0) found.above = after->entries[0];
  }
  return found;
}

Block number_of(State* s, const IndexPage* page) { return block_of(s, page); }

void link_leaves(State* s, IndexPage* before, IndexPage* after) {
  if (before) before->after = after ? number_of(s, after) : 0;
  if (after) after->before = before ? number_of(s, before) : 0;
}

// An empty page; null if there is no room.
IndexPage* new_page(State* s, uint32_t level) {
  Block block = s->free_index_pages;
  if (block != 0)
    s->free_index_pages = at<IndexPage>(s->base, block)->after;
  else if ((block = take_page()) == 0)
    return nullptr;
  auto* page = at<IndexPage>(s->base, block);
  page->used = 0;
  page->level = level;
  page->before = page->after = 0;
  return page;
}

void free_page(State* s, IndexPage* page) {
  page->used = 0;
  page->after = s->free_index_pages;
  s->free_index_pages = number_of(s, page);
}

void insert_at(IndexPage* page, uint32_t place, const StackEnd& e) {
  for (uint32_t i = page->used; i > place; --i) page->entries[i] = page->entries[i - 1];
  page->entries[place] = e;
  ++page->used;
}

void erase_at(IndexPage* page, uint32_t place) {
  --page->used;
  for (uint32_t i = place; i < page->used; ++i) page->entries[i] = page->entries[i + 1];
}

// The upper part of a full page moves to a new one, for which `above` has room. Stacks are often made in order, so if
// the next one goes to an end of the page, that end gets the room. False if there is no page.
bool split(State* s, IndexPage* above, uint32_t place, IndexPage* full, const StackEnd& next) {
  IndexPage* upper = new_page(s, full->level);
  if (!upper) return false;
  const uint32_t before = count_before(full, next);
  const uint32_t kept = before == kMaxEntries ? kMaxEntries - 1 : before <= 1 ? 1 : kMaxEntries / 2;
  for (uint32_t i = kept; i < kMaxEntries; ++i) upper->entries[i - kept] = full->entries[i];
  upper->used = kMaxEntries - kept;
  full->used = kept;
  if (full->level == 0) {
    link_leaves(s, upper, page_at(s, full->after));
    link_leaves(s, full, upper);
  }
  insert_at(above, place + 1, {upper->entries[0].end, upper->entries[0].stack, number_of(s, upper)});
  return true;
}

// Puts a page above the one that is the first.
bool grow(State* s, IndexPage* first) {
  IndexPage* above = first->level + 1 < kMaxLevels ? new_page(s, first->level + 1) : nullptr;
  if (!above) return false;
  insert_at(above, 0, {first->entries[0].end, first->entries[0].stack, number_of(s, first)});
  s->index = number_of(s, above);
  return true;
}

}  // namespace

Neighbours neighbours_of(State* s, uint64_t end, Block stack) {
  for (int i = 0; i < kMaxTries; ++i) {
    const uint32_t changes = load(&s->stack_changes);
    Neighbours found = find(s, {end, stack, 0});
    if (load(&s->stack_changes) != changes) continue;
    if (!is_known_block(s, found.below.stack)) found.below.stack = 0;
    if (!is_known_block(s, found.above.stack)) found.above.stack = 0;
    return found;
  }
  return {};
}

// Full pages on the way are split before they are entered, so there is always room in the page above.
bool add_stack_end(State* s, uint64_t end, Block stack) {
  const StackEnd e = {end, stack, 0};
  ++s->stack_changes;
  IndexPage* page = page_at(s, s->index);
  if (!page) {
    if (!(page = new_page(s, 0))) return false;
    s->index = number_of(s, page);
  }
  if (page->used == kMaxEntries) {
    if (!grow(s, page)) return false;
    page = page_at(s, s->index);
  }
  while (page->level != 0) {
    uint32_t place = place_towards(page, e);
    IndexPage* below = page_at(s, page->entries[place].page);
    if (below->used == kMaxEntries && !split(s, page, place, below, e)) return false;
    place = place_towards(page, e);
    StackEnd* first = &page->entries[place];
    if (is_before(e, *first)) *first = {end, stack, first->page};
    page = page_at(s, first->page);
  }
  insert_at(page, count_before(page, e), e);
  return true;
}

void remove_stack_end(State* s, uint64_t end, Block stack) {
  const StackEnd e = {end, stack, 0};
  IndexPage* way[kMaxLevels];
  IndexPage* page = find_leaf(s, e, way);
  if (!page) return;
  uint32_t place = count_before(page, e);
  if (place == page->used || is_before(e, page->entries[place])) return;
  ++s->stack_changes;
  for (uint32_t level = 0;; ++level) {
    page = way[level];
    erase_at(page, place);
    if (page->used != 0 || number_of(s, page) == s->index) break;
    if (level == 0) link_leaves(s, page_at(s, page->before), page_at(s, page->after));
    place = place_towards(way[level + 1], e);
    free_page(s, page);
  }
  for (page = page_at(s, s->index); page->level != 0 && page->used == 1; page = page_at(s, s->index)) {
    s->index = page->entries[0].page;
    free_page(s, page);
  }
}

}  // namespace libprof
