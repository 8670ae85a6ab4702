// The problem. A node is told from others by a program counter in the code that called the hook. A library may be
// unloaded, and another one be loaded in its place: calls of its functions would be counted in the nodes of the first.
//
// The way taken. A rewritten library tells the runtime when it is loaded, before any other code of it runs (its DT_INIT
// calls _profload). Modules of the profile that it overlaps are gone, if they are not the same file in the same place.
// They are RETIRED: their addresses in the profile, those of the module and the pc of each of its nodes, get a tag in
// bits that no address has. So they match nothing any more, and readers, which subtract the module's bias from a pc,
// need not know. If the same file comes back to the same place, the tag is taken away, and its nodes are used again: so
// two plugins that are loaded in turn do not fill up the profile.
//
// Nothing is done when a library is unloaded. Its code is not called any more, so its nodes may stay as they are until
// something else lies there; and nothing of the runtime's is in its memory: its hook slots always lead to _proflibin
// and _proflibout, which jump through our own words.
//
// Those words lead to hooks that do nothing until the constructor of libprof.so has run. The dynamic linker clears the
// thread-local words of all libraries when it has relocated them; code of libraries may run before that (IFUNC
// resolvers), and would be given a state that is lost again.
//
// Limit. Functions of a library that are called before its DT_INIT runs, while another one is initialized that needs
// it, are counted for what was in that place before, if anything was. So are those of a library that was compiled with
// hooks: it does not tell.

#include "libraries.h"

#include <link.h>

#include "libprof/data/heavy.h"
#include "libprof/data/objects.h"
#include "libprof/data/thread.h"
#include "libprof/file/block_counters.h"
#include "libprof/file/modules.h"
#include "libprof/file/tree.h"
#include "libprof/format/blocks.h"
#include "libprof/kernel/next_function.h"
#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"
#include "namespaces.h"
#include "threads.h"

namespace libprof {

namespace {

constexpr int kTagShift = 48;  // user space ends below, and PROF_SOUGHT_BIT is above
constexpr uint64_t kMaxTags = 0x3ffe;
constexpr uint32_t kAnyFlags = ~0u;

// What increments in libraries without hooks are.
enum Increments : uint32_t { kLocked = 0, kAlone = 1, kOwn = 2 };
Increments increments = kLocked;
uint32_t had_threads;
constexpr uint64_t kUnknown = (kMaxTags + 1) << kTagShift;  // of modules when there are no tags left

// A bit for each number of a tag, 1 and up, that a retired module has. With the lock of the process.
uint64_t tags_in_use[(kMaxTags + 64) / 64];

// A tag that no module has, or kUnknown.
uint64_t take_tag() {
  constexpr uint64_t kWords = sizeof tags_in_use / sizeof *tags_in_use;
  for (uint64_t i = 0; i < kWords; ++i) {
    uint64_t& word = tags_in_use[i];
    if (word == ~uint64_t(0)) continue;
    const uint64_t bit = uint64_t(__builtin_ctzll(~word));
    const uint64_t number = i * 64 + bit + 1;
    if (number > kMaxTags) break;
    word |= uint64_t(1) << bit;
    return number << kTagShift;
  }
  return kUnknown;
}

void give_back(uint64_t tag) {
  const uint64_t bit = (tag >> kTagShift) - 1;
  tags_in_use[bit / 64] &= ~(uint64_t(1) << bit % 64);
}

uint64_t tag_of(const Module* module) { return module->start >> kTagShift << kTagShift; }

void move_module(Module* module, uint64_t distance) {
  module->bias += distance;
  module->start += distance;
  module->end += distance;
}

// Two siblings may be exchanged for others while we are at them, but only at the head of their list.
void move_nodes(char* base, Block root, uint64_t start, uint64_t end, uint64_t distance) {
  uint64_t left = 3 * at<Header>(base, 0)->blocks_used;  // more than there are steps down, aside and up
  for (Block b = root; b != 0 && left != 0; --left) {
    Node* node = at<Node>(base, b);
    const uint64_t address = node->pc & ~prof_format::kKindOfCall;
    if (address >= start && address < end) store(&node->pc, node->pc + distance);
    Block next = load(&node->child);
    for (; next == 0 && b != root && b != 0 && left != 0; --left) {
      node = at<Node>(base, b);
      next = load(&node->sibling);
      b = node->parent;
    }
    b = next;
  }
}

// With the lock of the process: so no table grows meanwhile.
void move_all(const Module* module, uint64_t start, uint64_t end, uint64_t distance) {
  char* base = process->base;
  const uint64_t bit = module_bit(Block((as_word(module) - as_word(base)) >> PROF_BLOCK_SHIFT));
  const uint64_t most = at<Header>(base, 0)->blocks_used;
  Block b = at<Header>(base, 0)->first_thread;
  for (uint64_t i = 0; i < most && b != 0; ++i, b = at<Thread>(base, b)->next) {
    const auto* thread = at<Thread>(base, b);
    if (!(load(&thread->modules) & bit)) continue;
    move_nodes(base, thread->root, start, end, distance);
    move_nodes(base, thread->addresses, start, end, distance);
  }
  for (State* s = process->states; s; s = s->next) {
    if (load(&s->thread->modules) & bit) move_links(s, start, end, distance);
  }
}

void retire(Module* module) {
  const uint64_t start = module->start, end = module->end;
  const uint64_t tag = take_tag();
  if (tag != kUnknown)
    move_module(module, tag);
  else
    module->start = module->end = 0;
  move_all(module, start, end, tag);
}

void revive(Module* module) {
  const uint64_t tag = tag_of(module), start = module->start, end = module->end;
  move_module(module, -tag);
  move_all(module, start, end, -tag);
  give_back(tag);
}

bool is_retired_form_of(const Module* module, const Object& object) {
  const uint64_t tag = tag_of(module);
  if (tag == 0) return false;
  Module before = *module;
  move_module(&before, -tag);
  return is_same(before, object);
}

// Heavy.
uint64_t make_place(State*, uint64_t argument) {
  const Object& object = *reinterpret_cast<const Object*>(argument);
  char* base = process->base;
  const uint64_t most = at<Header>(base, 0)->blocks_used;
  Module* returning = nullptr;
  bool is_listed = false;
  lock(&process->lock);
  Block b = at<Header>(base, 0)->first_module;
  for (uint64_t i = 0; i < most && b != 0; ++i, b = at<Module>(base, b)->next) {
    auto* module = at<Module>(base, b);
    if (is_same(*module, object))
      is_listed = true;
    else if (is_retired_form_of(module, object))
      returning = module;
    else if (module->start < object.end && module->end > object.start)
      retire(module);
  }
  if (returning && !is_listed) revive(returning);
  // What threads remember of the module of their last node, and of pages, may be wrong now.
  for (State* s = process->states; s; s = s->next) {
    store(&s->module_start, uint64_t(0));
    store(&s->module_end, uint64_t(0));
    forget_pages(s);
  }
  unlock(&process->lock);
  if (!returning && !is_listed) list_if_called(object);
  count_shared(object);
  if (load(&increments) == kOwn) return make_place_of(object) && own_increments(object);
  return 1;
}

// Heavy.
uint64_t count_remembered(State*, uint64_t) {
  count_shared_remembered();
  return 1;
}

// Heavy.
uint64_t note_lock_heavily(State*, uint64_t object) {
  note_lock(*reinterpret_cast<const Object*>(object));
  return 1;
}

void lock_now(const Object& object) {
  if (!lock_increments(object)) return;
  State* s = get_state();
  if (s && load(&s->top) != 0) run_heavy(s, note_lock_heavily, as_word(&object));
}

uint32_t flags_of(const Object& object) {
  return object.increments ? reinterpret_cast<const prof_format::IncrementsHeader*>(object.increments)->flags : 0;
}

// Weak, which the C library's header does not say.
// NOLINTNEXTLINE(readability-redundant-declaration)
extern "C" [[gnu::weak, gnu::noplt, gnu::visibility("default")]] int dl_iterate_phdr(
    int (*visit)(dl_phdr_info* info, size_t size, void* argument), void* argument);
decltype(dl_iterate_phdr)* each_loaded;

bool lists_increments(const Elf64_Phdr* headers, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    if (headers[i].p_type == prof_format::kIncrementsSegment) return true;
  return false;
}

Object object_of(const Elf64_Phdr* headers, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    if (headers[i].p_type == PT_PHDR) return describe_object(headers, count, as_word(headers) - headers[i].p_vaddr);
  return {};
}

void lock_increments_at(const Elf64_Phdr* headers, uint64_t count) { lock_now(object_of(headers, count)); }

// Locks the increments of libraries with one of these flags.
void lock_loaded(uint32_t flags) {
  const auto visit = [](dl_phdr_info* info, size_t, void* wanted) {
    if (!lists_increments(info->dlpi_phdr, info->dlpi_phnum))
      return 0;  // nor is more known of what profld did not write
    const Object object = describe_object(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr);
    const uint32_t of_any = *static_cast<uint32_t*>(wanted);
    if (of_any == kAnyFlags || (flags_of(object) & of_any)) lock_now(object);
    return 0;
  };
  if (!each_loaded) find_loaded_libraries();
  if (each_loaded) each_loaded(visit, &flags);
}

}  // namespace

void find_loaded_libraries() { each_loaded = library_function("dl_iterate_phdr", dl_iterate_phdr); }

void set_told_of_threads() {
  if (distance_to_first == 0 && !load(&had_threads)) store(&increments, kAlone);
}

void expect_threads() {
  if (distance_to_first != 0) return in_first(expect_threads)();
  store(&had_threads, 1u);
  // A thread that another one makes meanwhile has to find them locked. (If a handler makes one here, it does it
  // itself.)
  Process* p = process;
  if (p) lock(&p->increments_lock);
  if (load(&increments) != kLocked) {
    store(&increments, kLocked);
    lock_loaded(kAnyFlags);
    end_own_library_counters();
  }
  if (p) unlock(&p->increments_lock);
}

namespace {

// Calls function(library) of all that list increments, on the thread's heavy path.
void each_library(State* s, uint64_t (*function)(State*, uint64_t)) {
  struct Call {
    State* s;
    uint64_t (*function)(State*, uint64_t);
  } call = {s, function};
  const auto visit = [](dl_phdr_info* info, size_t, void* argument) {
    if (!lists_increments(info->dlpi_phdr, info->dlpi_phnum)) return 0;
    const Object object = describe_object(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr);
    const Call& to = *static_cast<Call*>(argument);
    if (!run_heavy(to.s, to.function, as_word(&object))) lock_now(object);
    return 0;
  };
  each_loaded(visit, &call);
}

// False, and nothing has changed, if threads cannot have counters of their own of libraries, or if there is another
// thread already, of which nobody has told.
bool begin_own_increments() {
  if (!may_have_own_library_counters() || field_of_process(kThreadCount) != 1) return false;
  char here;
  State* s = begin_thread(as_word(&here));
  if (!each_loaded) find_loaded_libraries();
  if (!s || s->is_left || !each_loaded) return false;
  each_library(s, [](State*, uint64_t object) -> uint64_t {
    make_place_of(*reinterpret_cast<const Object*>(object));
    return 1;
  });
  const auto begin = [](State* state, uint64_t) -> uint64_t { return begin_own_library_counters(state); };
  if (!run_heavy(s, begin, 0)) return false;
  each_library(s, [](State*, uint64_t argument) -> uint64_t {
    const Object& object = *reinterpret_cast<const Object*>(argument);
    return make_place_of(object) && own_increments(object);
  });
  return true;
}

}  // namespace

Birth begin_birth() {
  if (distance_to_first != 0) {
    expect_threads();
    return {};
  }
  store(&had_threads, 1u);
  if (load(&increments) == kAlone && begin_own_increments()) store(&increments, kOwn);
  if (load(&increments) != kOwn) {
    expect_threads();
    return {};
  }
  char here;
  State* s = begin_thread(as_word(&here));
  Birth birth;
  birth.process = process_id();
  birth.counters = s ? run_heavy(s, claim_birth, 0) : 0;
  if (process_id() != birth.process) return {};  // a child that a handler has forked; it has a window
  if (birth.counters != 0 && get_gs_base(&birth.base) && take_birth(birth.counters)) return birth;
  expect_threads();
  return {};
}

// A handler's child has windows of its own.
void end_birth(const Birth& birth, bool is_made) {
  if (birth.counters == 0 || process_id() != birth.process) return;
  set_gs_base(birth.base);
  leave_birth(birth.counters);
  if (!is_made) leave_birth(birth.counters);
}

void end_birth_of_new(const State* s, const Birth& birth) {
  if (birth.counters != 0 && s && s->counters != 0 && process_id() == birth.process) leave_birth(birth.counters);
}

void expect_threads_of(const Object& program) {
  if (flags_of(program) & prof_format::kMakesThreads) expect_threads();
}

void expect_fork() {
  if (load(&increments) != kLocked && field_of_process(kThreadCount) == 0) return expect_threads();
  static uint32_t is_locked;
  if (__atomic_exchange_n(&is_locked, 1u, __ATOMIC_ACQ_REL) == 0) lock_loaded(prof_format::kHasFork);
}

void count_libraries_loaded_before() {
  State* s = get_state();
  if (process && process->phase == kRecording && s && load(&s->top) != 0) run_heavy(s, count_remembered, 0);
}

// `headers`: the program header table of a library that has just been loaded, in memory.
extern "C" [[gnu::visibility("hidden")]] void note_loaded_library(const Elf64_Phdr* headers, uint64_t count) {
  if (distance_to_first != 0) {
    // The libraries here cannot be listed there, so they are locked as they come.
    expect_threads();
    in_first(lock_increments_at)(headers, count);
    return in_first(note_loaded_library)(headers, count);
  }
  const Object object = object_of(headers, count);
  if (object.start == object.end) return;
  remember_object(object);
  expect_threads_of(object);
  if (load(&increments) == kLocked) lock_now(object);
  char here;
  State* s = get_state();
  const bool is_in_child = process && process->phase == kNotBegun;  // which has called no hook yet
  if (is_in_child && object.counters_size != 0) s = begin_thread(as_word(&here));
  if (process && process->phase == kRecording) {
    if (!s || load(&s->top) == 0 || s->is_left) s = begin_thread(as_word(&here));
    if (s && run_heavy(s, make_place, as_word(&object))) return;
  }
  if (load(&increments) == kOwn) lock_now(object);
}

}  // namespace libprof
