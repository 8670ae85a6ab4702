#include "tree.h"

#include "file.h"
#include "libprof/data/heavy.h"
#include "libprof/data/state.h"
#include "libprof/data/thread.h"
#include "libprof/kernel/memory.h"
#include "libprof/kernel/syscall.h"
#include "modules.h"

namespace libprof {

namespace {

using prof_format::kKindOfCall;
using prof_format::kTailCall;

constexpr uint64_t kMaxTable = uint64_t(1) << 26;     // links
constexpr uint64_t kMinNodes = 64, kMaxNodes = 4096;  // blocks taken at a time
constexpr uint64_t kMostKept = 1024;                  // links, on the stack of heavy paths

uint64_t& mask_of(Link* table) { return reinterpret_cast<uint64_t*>(table)[-1]; }
uint64_t links_in(Link* table) { return mask_of(table) / sizeof(Link) + 1; }

Link* table_in(char* memory, uint64_t links) {
  auto* table = reinterpret_cast<Link*>(memory + kTableOffset);
  mask_of(table) = (links - 1) * sizeof(Link);
  return table;
}

// In the thread's area after the one that it has now, as long as there is room; null if there is no memory.
Link* make_larger_table(State* s, uint64_t links) {
  const uint64_t size = kTableOffset + links * sizeof(Link);
  char* room = reinterpret_cast<char*>(s) + kPage;
  char* after = reinterpret_cast<char*>(s->table + links_in(s->table));
  const uint64_t used = as_word(after) - as_word(room);  // larger than the room is if the table lies elsewhere
  if (used > kRoomForTables || size > kRoomForTables - used) {
    after = static_cast<char*>(map_guarded(size));
    return after ? table_in(after, links) : nullptr;
  }
  return open_memory(after, size) ? table_in(after, links) : nullptr;
}

uint64_t most_probes(Link* table) { return links_in(table) < kMaxTable ? links_in(table) : kMaxTable; }

// As in FIND_CHILD (hook_macros.h). In bytes. Links of a retired module (libraries.cc) stand where they did before: it
// may come back.
uint64_t first_place(Link* table, Block parent, uint64_t pc) {
  constexpr uint64_t kAddress = (uint64_t(1) << 48) - 1;
  return (((parent * uint64_t(HASH_PARENT) + (pc & kAddress)) * HASH_MIX) >> (HASH_SHIFT - 4)) & mask_of(table);
}

Link* link_at(Link* table, uint64_t place) { return reinterpret_cast<Link*>(reinterpret_cast<char*>(table) + place); }

bool is_power_of_two(uint64_t n) { return (n & (n - 1)) == 0; }

uint64_t children_word(Block parent, Block child) { return uint64_t(child) << 32 | parent; }

Block find(Link* table, Block parent, uint64_t pc) {
  const uint64_t most = most_probes(table);
  uint64_t place = first_place(table, parent, pc);
  for (uint64_t i = 0; i < most; ++i, place = (place + sizeof(Link)) & mask_of(table)) {
    Link* link = link_at(table, place);
    const uint64_t found = load(&link->pc);
    if (found == 0) return 0;
    if (found == pc && load(&link->parent) == parent) return load(&link->child);
  }
  return 0;
}

// Heavy. The old table stays mapped: the code that was interrupted by the signal in whose handler we are may be reading
// it. If that code inserts an entry there, the entry is lost. This costs a second node for the same call, but no count.
uint64_t grow_table(State* s, uint64_t) {
  Link* old = s->table;
  const uint64_t links = links_in(old);
  if (links >= kMaxTable) return 0;
  Link* table = make_larger_table(s, links * 2);
  if (!table) return 0;
  uint64_t used = 0;
  lock(&process->lock);  // see move_links
  for (uint64_t i = 0; i < links; ++i) {
    if (old[i].pc == 0) continue;
    insert(table, old[i].parent, old[i].pc, old[i].child);
    ++used;
  }
  s->table_used = used;
  store(&s->table, table);
  unlock(&process->lock);
  return 1;
}

// The table is never more than three quarters full, so a search in it ends. False if there is no memory for a larger
// one.
bool remember(State* s, Block parent, uint64_t pc, Block child) {
  if (s->table_used >= links_in(s->table) / 4 * 3 && !run_heavy(s, grow_table, 0)) {
    s->table_is_full = 1;
    return false;
  }
  add(&s->table_used, 1);
  insert(s->table, parent, pc, child);
  return true;
}

// Siblings and ancestors have no order that could be used to end a list, see frames.h.
uint64_t most_in_list(State* s) { return at<Header>(s->base, 0)->blocks_used; }

// The slow search, for children that could not be put into the table.
Block find_in_list(State* s, Block parent, uint64_t pc) {
  Block b = load(&node_at(s, parent)->child);
  for (uint64_t i = 0; i < most_in_list(s) && b != 0; ++i, b = node_at(s, b)->sibling) {
    if (node_at(s, b)->pc == pc) return b;
  }
  return 0;
}

uint64_t take_for_contexts(uint64_t wanted, Block* first) {
  return take_node_blocks(wanted, limit_of_contexts(at<Header>(process->base, 0)), first);
}

// Heavy. One word holds both ends of the range, so that code that is interrupted here never mixes two ranges.
uint64_t refill(NodeSupply* supply, uint64_t (*take)(uint64_t wanted, Block* first)) {
  if (blocks_in(supply->range) != 0) return 1;  // a handler has been here in between
  uint64_t wanted = supply->taken / 4 / kBlocksPerPage * kBlocksPerPage;
  if (wanted < kMinNodes) wanted = kMinNodes;
  if (wanted > kMaxNodes) wanted = kMaxNodes;
  Block first = 0;
  const uint64_t got = take(wanted, &first);
  if (got == 0) {
    // A child of vfork may be unable to open the file though its parent can.
    supply->is_empty = at<Header>(process->base, 0)->pid == uint32_t(process_id());
    return 0;
  }
  supply->is_empty = 0;
  supply->taken += got;
  store(&supply->range, block_range(first, first + got));
  return 1;
}

uint64_t refill_reserve(State* s, uint64_t) {
  const uint64_t result = refill(&s->reserve, take_some_blocks);
  set_aside(s);
  return result;
}

// The reserve comes first: it must be there when the disk is full.
uint64_t refill_nodes(State* s, uint64_t) {
  refill(&s->reserve, take_some_blocks);
  const uint64_t result = refill(&s->nodes, take_for_contexts);
  set_aside(s);
  return result;
}

// A block out of a range; 0 if that is empty.
Block take_from(uint64_t* range) {
  for (;;) {
    const uint64_t found = load(range);
    if (blocks_in(found) == 0) return 0;
    if (exchange_if(range, found, found + 1)) return Block(found);
  }
}

// A block for a node; 0 if there is none. `refill_supply` is the heavy path that fills the supply up.
Block new_block(State* s, NodeSupply* supply, uint64_t (*refill_supply)(State*, uint64_t)) {
  for (;;) {
    if (const Block block = take_from(&supply->range)) return block;
    if (!supply->is_empty && run_heavy(s, refill_supply, 0)) continue;
    return supply->is_empty ? 0 : take_from(&s->spare);
  }
}

// Makes the node in a new block a child of `parent`. It is complete before it is linked.
void link_child(State* s, Block parent, uint64_t pc, Block child) {
  Node* node = node_at(s, child);
  Node* above = node_at(s, parent);
  // A thread is often given its name after its first calls.
  if (is_power_of_two(++s->nodes_made) && s->tid != int32_t(at<Header>(s->base, 0)->pid)) note_name(s);
  node->pc = pc;
  node->parent = parent;
  Block head;
  do {
    head = load(&above->child);
    store(&node->sibling, head);
  } while (!exchange_if(&above->child, head, child));
  note_module_of(s, pc & ~kKindOfCall);
}

// The node that stands for all calls of a function that have no place elsewhere: a child of the root.
Block find_or_make_context_free(State* s, uint64_t pc) {
  if (Block child = find_child(s, s->root, pc)) return child;
  const Block child = new_block(s, &s->reserve, refill_reserve);
  if (child == 0) return 0;
  __atomic_fetch_add(&at<Header>(s->base, 0)->nodes, 1, __ATOMIC_RELAXED);
  link_child(s, s->root, pc, child);
  remember(s, s->root, pc, child);
  return child;
}

// The node that a tail call is folded onto, among those of the functions that jumped since the last call; 0 if there is
// none.
Block find_earlier_tail_call(State* s, Block parent, uint64_t pc) {
  Block b = parent;
  const uint64_t most = most_in_list(s);
  for (uint64_t i = 0; i < most && (node_at(s, b)->pc & kTailCall); ++i, b = node_at(s, b)->parent) {
    if (node_at(s, b)->pc == pc) return b;
  }
  return 0;
}

// The nearest of parent and its ancestors whose function is that of pc; 0 if there is none. `times`: how many there
// are, counted up to kLongestRecursion.
Block nearest_activation(State* s, Block parent, uint64_t pc, uint32_t* times) {
  Block nearest = 0;
  *times = 0;
  Block b = parent;
  const uint64_t most = most_in_list(s);
  for (uint64_t i = 0; i < most && b != 0 && *times < kLongestRecursion; ++i, b = node_at(s, b)->parent) {
    if (((node_at(s, b)->pc ^ pc) & ~kKindOfCall) != 0) continue;
    if (nearest == 0) nearest = b;
    ++*times;
  }
  return nearest;
}

}  // namespace

// Entries are claimed by their pc, so that a handler that inserts in between takes another one.
void insert(Link* table, Block parent, uint64_t pc, Block child) {
  const uint64_t most = most_probes(table);
  uint64_t place = first_place(table, parent, pc);
  for (uint64_t i = 0; i < most; ++i, place = (place + sizeof(Link)) & mask_of(table)) {
    Link* link = link_at(table, place);
    if (load(&link->pc) == 0 && exchange_if(&link->pc, uint64_t(0), pc)) {
      store(reinterpret_cast<uint64_t*>(&link->parent), children_word(parent, child));
      return;
    }
  }
}

Block find_child(State* s, Block parent, uint64_t pc) {
  const Block child = find(s->table, parent, pc);
  return child == 0 && s->table_is_full ? find_in_list(s, parent, pc) : child;
}

void set_aside(State* s) {
  if (blocks_in(s->spare) == kSpareNodes) return;
  NodeSupply* const supplies[] = {&s->nodes, &s->reserve};
  for (NodeSupply* supply : supplies) {
    if (blocks_in(supply->range) < 2 * kSpareNodes) continue;
    const uint64_t first = first_of(supply->range), end = end_of(supply->range);
    store(&s->spare, block_range(end - kSpareNodes, end));
    store(&supply->range, block_range(first, end - kSpareNodes));
    return;
  }
}

void begin_table(State* s) {
  s->table_used = s->table_is_full = 0;
  if (s->table) {
    // Blocks that are kept for all nodes of a pc are for those of the next thread as well.
    Link kept[kMostKept];
    for (uint64_t i = 0; i < links_in(s->table) && s->table_used < kMostKept; ++i)
      if (s->table[i].pc != 0 && s->table[i].parent == 0) kept[s->table_used++] = s->table[i];
    const uint64_t mask = mask_of(s->table);
    advise(reinterpret_cast<char*>(s->table) - kTableOffset, kTableOffset + mask + sizeof(Link), kAdviseDontNeed);
    mask_of(s->table) = mask;
    for (uint64_t i = 0; i < s->table_used; ++i) insert(s->table, 0, kept[i].pc, kept[i].child);
  } else {
    s->table = table_in(reinterpret_cast<char*>(s) + kPage, kFirstTable);
  }
}

void move_links(State* s, uint64_t start, uint64_t end, uint64_t distance) {
  Link* table = load(&s->table);
  for (uint64_t i = 0; table && i < links_in(table); ++i) {
    const uint64_t pc = load(&table[i].pc);
    // Not if the thread has ended meanwhile, and another one has cleared the table.
    const uint64_t address = pc & ~kKindOfCall;
    if (address >= start && address < end) exchange_if_shared(&table[i].pc, pc, pc + distance);
  }
}

Block find_or_make_child(State* s, Block parent, uint64_t pc) {
  if (Block child = find_child(s, parent, pc)) return child;
  if (pc & kTailCall) {
    if (Block earlier = find_earlier_tail_call(s, parent, pc)) {
      s->has_folded = 1;
      remember(s, parent, pc, earlier);
      return earlier;
    }
  }
  uint32_t times;
  const Block nearest = nearest_activation(s, parent, pc, &times);
  if (times < kLongestRecursion) {
    if (Block child = new_block(s, &s->nodes, refill_nodes)) {
      link_child(s, parent, pc, child);
      remember(s, parent, pc, child);
      return child;
    }
  }
  const Block target = nearest ? nearest : find_or_make_context_free(s, pc & ~kKindOfCall);
  if (target == 0) return 0;
  s->has_folded = 1;
  // If the table has no room for a child, its call is folded anew each time; count it only if no other call was folded
  // before.
  uint64_t* folded = &at<Header>(s->base, 0)->folded_nodes;
  if (parent != s->root && (remember(s, parent, pc, target) || load(folded) == 0)) {
    __atomic_fetch_add(folded, 1, __ATOMIC_RELAXED);
  }
  return target;
}

// What is left of a range is wasted if it is too small. A handler that interrupts the refilling gets none, and does not
// ask for it each time that it is called.
Block take_blocks_in_row(State* s, uint64_t count) {
  for (;;) {
    const uint64_t found = load(&s->nodes.range);
    if (blocks_in(found) >= count) {
      if (exchange_if(&s->nodes.range, found, found + count)) return Block(found);
    } else if (blocks_in(found) != 0) {
      exchange_if(&s->nodes.range, found, uint64_t(0));
    } else if (s->nodes.is_empty || as_word(__builtin_frame_address(0)) < load(&s->entering_at) ||
               !run_heavy(s, refill_nodes, 0)) {
      return 0;
    }
  }
}

// They are in the table of children, below no parent.
Block block_kept_for(State* s, uint64_t pc) { return find(s->table, 0, pc); }
void keep_block_for(State* s, uint64_t pc, Block block) { remember(s, 0, pc, block); }

// It takes no spare node: those are for calls.
Block find_or_make_address(State* s, uint64_t address) {
  const Block root = s->thread->addresses;
  if (Block found = find_child(s, root, address)) return found;
  Block made = take_from(&s->nodes.range);
  if (made == 0 && !s->nodes.is_empty && run_heavy(s, refill_nodes, 0)) made = take_from(&s->nodes.range);
  if (made == 0) return 0;
  link_child(s, root, address, made);
  remember(s, root, address, made);
  return made;
}

}  // namespace libprof
