// The file and its growth.
//
// The problem. Nodes lie in a shared mapping of a file that grows while the program runs, and we need a file descriptor
// to make a file longer. But a program may close all its descriptors, rely on the number of the next one, pass them to
// its children, change its root directory, or drop the right to open the file again. And if the disk has no room for a
// page of a mapping, a store to the page is a SIGBUS.
//
// Ways. Keep a descriptor with a high number, checked by fstat before each use: it is seen by programs that look,
// inherited by every fork, gone after closefrom(3). Give the file its final length as a hole at once: then it looks
// huge (ls) however the program ended, and thirty processes of git leave thirty such files. Or open the file again by
// its name, for a moment, whenever it has to become longer. We do this. When the used part reaches the end of the file,
// its length is doubled, and what is new is mapped after what there is. If another file has the name by now, it is left
// alone. If the profile was renamed, it is found by its new name; if it has no name any more, it does not grow any
// more.
//
// Address space. Hooks know where the mapping is, so it does not move. To reserve room for the greatest length would be
// simple, but a program may limit its address space at any time, or lock all of its memory, and what is reserved
// counts. So nothing is reserved: the mapping begins far from all others, in the middle of nowhere (find_place). The
// kernel puts new mappings next to those that there are, and comes there when the program has mapped what lies between.
// Then the mapping does not grow any more. Where there is no such place, room for the greatest length is reserved.
//
// Of the file's length, the next pages are made accessible (mprotect) and backed with storage by the kernel
// (madvise(MADV_POPULATE_WRITE), Linux 5.14), which reports a full disk as an error. Older kernels are asked for
// storage with the length (fallocate), and the file has an upper bound. No page beyond the file's end is ever
// accessible.
//
// A program that changes its root or its user, or installs a filter for system calls, may not be able to open its file
// afterwards. So the file is made as long as it may ever have to be before that (sandbox.cc), and cut back
// afterwards if it can still be opened. In static programs we do not see such changes: calls for which the file has no
// room then are folded. They are folded, too, in a thread that once got no more room, because all descriptors were in
// use or the disk was full: it does not ask again, and folded calls stay folded.
//
// Limit. For a moment there is one descriptor more. Another thread that opens a file in that moment gets the next
// number, and a child that another thread forks has the descriptor until it calls exec.
//
// Some file systems cannot share a file as memory (ENODEV). Then the profile is private memory, and is written when the
// program ends by itself; before that, its header alone.
//
// We obey RLIMIT_FSIZE, because exceeding it is a signal. It is read and remembered before a filter is installed that
// may forbid to read it (keep_room). We look at RLIMIT_AS whenever the mapping has to grow, because the program relies
// on its address space: we take an eighth of it at most. What is mapped counts as locked memory if the program locks
// what it maps in the future (mlockall), so RLIMIT_MEMLOCK is obeyed by the kernel: the mapping does not grow any more.
//
// $PROFDIR may lead through directories in which others can make links, such as /tmp. O_NOFOLLOW and O_EXCL guard the
// last component of a name only, so we walk the path component by component, open each below the one before, and read
// links ourselves. We check what we have opened, so nobody can change it in between. What is not there is made, for the
// user alone, as mkdir -p does.

#include "file.h"

#include "libprof/clock/tsc.h"
#include "libprof/data/heavy.h"
#include "libprof/kernel/memory.h"
#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"

namespace libprof {

namespace {

constexpr uint64_t kFirstReady = 16 * kBlocksPerPage;
constexpr uint64_t kMaxGrowth = (uint64_t(4) << 20) / PROF_BLOCK_SIZE;
constexpr uint64_t kSmallestBound = 64 * kBlocksPerPage;
// Blocks for what node_limit does not bound: frames, modules, and the threads with a node for each of their functions
// (tree.h). Two pages each, as 32768 threads take at least.
constexpr uint64_t kOtherBlocks = (uint64_t(256) << 20) / PROF_BLOCK_SIZE;
// Most that there is without MADV_POPULATE_WRITE, and without a way to the file.
constexpr uint64_t kFixedBound = (uint64_t(16) << 20) / PROF_BLOCK_SIZE;
constexpr uint64_t kMaxWritten = uint64_t(1) << 30;  // bytes, at a time
constexpr uint64_t kFarthest = uint64_t(1) << 38, kNearest = uint64_t(1)
                                                             << 30;  // bytes, of a place from other mappings
constexpr uint64_t kMaxNames = 1000000;                              // prof.<pid>.1 and so on

uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
uint64_t greatest(uint64_t a, uint64_t b) { return a > b ? a : b; }
uint64_t whole_pages(uint64_t blocks) { return (blocks + kBlocksPerPage - 1) / kBlocksPerPage * kBlocksPerPage; }

// How long a file may become, in bytes; if we may not ask any more, the last answer.
uint64_t largest_file() {
  static uint64_t known = kInfinity;  // children inherit it
  return known = limit_of(kLimitFileSize, known);
}
uint64_t largest_file_in_blocks() { return largest_file() / PROF_BLOCK_SIZE / kBlocksPerPage * kBlocksPerPage; }

uint64_t most_address_space() {
  const uint64_t limit = limit_of(kLimitAddressSpace);
  return limit == kInfinity ? kInfinity : limit / 8;
}

// In blocks, as limits are now.
uint64_t greatest_length(const Process* p) {
  const uint64_t space = most_address_space() / PROF_BLOCK_SIZE / kBlocksPerPage * kBlocksPerPage;
  return least(least(p->bound, largest_file_in_blocks()), space);
}

// How many nodes a mapping of `bound` blocks has room for besides everything else.
uint64_t nodes_in(uint64_t bound) { return bound - bound / 8 - kFirstReady; }

// Makes [p->ready, end) usable. False, with nothing changed, if there is no storage for it.
bool make_usable(Process* p, uint64_t end) {
  char* from = p->base + p->ready * PROF_BLOCK_SIZE;
  const uint64_t size = (end - p->ready) * PROF_BLOCK_SIZE;
  if (syscall4(__NR_mprotect, as_word(from), size, kProtectReadWrite) != 0) return false;
  if (p->can_populate && back_with_storage(from, size) != 0) return false;
  p->ready = end;
  bequeath(p->base, end * PROF_BLOCK_SIZE);
  return true;
}

int64_t open_again(Process* p, const char* path) { return open_same_file(path, p->device, p->inode); }

// The same with the new name of a file that was renamed. The kernel tells it with the mapping. Needs much stack.
int64_t open_moved(Process* p) {
  LineReader maps("/proc/self/maps");
  while (const char* line = maps.next()) {
    if (parse_hex(&line) != as_word(p->base)) continue;
    while (*line != 0 && *line != '/') ++line;
    const int64_t fd = open_again(p, line);
    if (fd >= 0) Line(p->path, sizeof p->path) << line;
    return fd;
  }
  return -1;
}

// The mapping's bytes, with the guard page in front of it, and what lies after the blocks that are mapped: a guard page
// that belongs to the same mapping, or what was reserved.
uint64_t size_of_mapping(const Process* p) {
  return kPage + p->mapped * PROF_BLOCK_SIZE + (p->is_reserved ? kRoomAfterMapping : kPage);
}

// Maps blocks up to `end`, inaccessible. It is the last page, a guard, that grows, so that all flags of the mapping
// hold from the first instant. False if there is something in the way, or no room.
bool map_more(Process* p, uint64_t end) {
  if (end <= p->mapped) return true;
  const uint64_t guard = as_word(p->base + p->mapped * PROF_BLOCK_SIZE);
  const uint64_t size = kPage + (end - p->mapped) * PROF_BLOCK_SIZE;
  if (p->is_reserved || is_error(syscall4(__NR_mremap, guard, kPage, size, 0))) return false;
  p->mapped = end;
  return true;
}

// Makes the open file longer: `length` blocks. Returns 0 or -errno.
int64_t lengthen(Process* p, int64_t fd, uint64_t length) {
  const uint64_t size = length * PROF_BLOCK_SIZE, size_now = p->length * PROF_BLOCK_SIZE;
  if (!map_more(p, length)) return kErrorNoMemory;
  const int64_t result = p->can_populate ? syscall4(__NR_ftruncate, uint64_t(fd), size)
                                         : syscall4(__NR_fallocate, uint64_t(fd), 0, size_now, size - size_now);
  if (result == 0) p->length = length;
  return result;
}

// With the lock held: the file, if it can still be opened, becomes `length` blocks long, at least those that are ready.
void cut_off(Process* p, uint64_t length) {
  const int64_t fd = open_again(p, p->path);
  if (fd < 0) return;
  if (syscall4(__NR_ftruncate, uint64_t(fd), length * PROF_BLOCK_SIZE) == 0) p->length = length;
  close_file(fd);
}

// With the lock held: the file has at least `end` blocks. It gets twice what is in use.
bool make_longer(Process* p, uint64_t end) {
  const uint64_t limit = greatest_length(p);
  if (end > limit) return false;
  const uint64_t wanted = greatest(least(2 * p->ready, limit), end);
  if (p->is_private) {
    if (!map_more(p, wanted) && !map_more(p, end)) return false;
    p->length = p->mapped;
    return true;
  }
  int64_t fd = open_again(p, p->path);
  if (fd < 0) fd = open_moved(p);
  if (fd < 0) return false;
  const bool is_done = lengthen(p, fd, wanted) == 0 || (wanted != end && lengthen(p, fd, end) == 0);
  close_file(fd);
  return is_done;
}

// With the lock held: blocks up to `end` are usable. In whole pages.
bool make_ready(Process* p, uint64_t end) {
  if (end <= p->ready) return true;
  end = whole_pages(end);
  if (end > p->bound || (end > p->length && !make_longer(p, end))) return false;
  uint64_t growth = greatest(kFirstReady, least(p->ready / 4, kMaxGrowth)) / kBlocksPerPage * kBlocksPerPage;
  for (;;) {
    uint64_t target = least(whole_pages(p->ready + growth), p->length);
    if (target < end) target = end;
    if (make_usable(p, target)) return true;
    if (target == end) return false;
    growth /= 2;
  }
}

// Begins a heavy path (state.h), but on the current stack, and locks the process. Null if the process has no file, in a
// thread that is not recorded, in a handler that interrupted a heavy path, and in a child that shares its parent's
// memory.
Process* begin_change(uint64_t* mask) {
  Process* p = process;
  State* s = get_state();
  if (!p || p->phase != kRecording || p->is_private || !s || s->top == 0 || s->is_left || s->is_busy) return nullptr;
  if (at<Header>(p->base, 0)->pid != uint32_t(process_id()) || !block_signals(mask)) return nullptr;
  store(&s->is_busy, 1u);
  lock(&p->lock);
  return p;
}

void end_change(Process* p, uint64_t mask) {
  unlock(&p->lock);
  store(&get_state()->is_busy, 0u);
  restore_signals(mask);
}

constexpr uint64_t kPathOnly = 010000000, kDirectory = 0200000;
constexpr uint32_t kTypeMask = 0170000, kLink = 0120000;
constexpr int kMaxLinks = 40;  // as in the kernel

// The rest of the path. A link puts its target in front of it.
class Way {
 public:
  explicit Way(const char* path) { is_too_long_ = (Line(text_, sizeof text_) << path).is_full(); }
  bool is_too_long() const { return is_too_long_; }
  bool is_absolute() const { return *rest_ == '/'; }

  // The next component, or null. Valid until the next call.
  const char* next() {
    while (*rest_ == '/') ++rest_;
    if (*rest_ == 0) return nullptr;
    char* p = component_;
    while (*rest_ != 0 && *rest_ != '/' && p != component_ + sizeof component_ - 1) *p++ = *rest_++;
    *p = 0;
    return component_;
  }

  void go_by_way_of(const char* target) {
    char joined[sizeof text_];
    Line line(joined, sizeof joined);
    line << target << "/" << rest_;
    is_too_long_ = line.is_full();
    memcpy(text_, joined, sizeof text_);
    rest_ = text_;
  }

 private:
  char text_[4096];
  char component_[256];
  const char* rest_ = text_;
  bool is_too_long_ = false;
};

int64_t open_at(int64_t fd, const char* name, uint64_t flags) {
  return syscall4(__NR_openat, uint64_t(fd), as_word(name), kPathOnly | kCloseOnExec | flags);
}

// Closes `old` and returns `fd`.
int64_t replace(int64_t old, int64_t fd) {
  if (old >= 0) close_file(old);
  return fd;
}

// Opens a directory (O_PATH), which is made if it is not there, without following links of others on the way: a link is
// followed if it belongs to root or to the user that the process runs as. Returns a descriptor or -errno;
// kErrorForeignLink for such a link.
int64_t open_directory(const char* path) {
  Way way(path);
  const uint32_t user = uint32_t(syscall4(__NR_geteuid, 0));
  int64_t at = open_at(kCurrentDirectory, way.is_absolute() ? "/" : ".", kDirectory);
  int links = 0;
  while (at >= 0) {
    if (way.is_too_long()) return replace(at, kErrorNameTooLong);
    const char* name = way.next();
    if (!name) return at;
    int64_t found = open_at(at, name, kNoFollow);
    if (found == kErrorNoFile && syscall4(__NR_mkdirat, uint64_t(at), as_word(name), 0700) == 0)
      found = open_at(at, name, kNoFollow);
    FileStatus status;
    if (found < 0 || syscall4(__NR_fstat, uint64_t(found), as_word(&status)) != 0) return replace(at, found);
    if ((status.mode & kTypeMask) != kLink) {
      at = replace(at, found);
      continue;
    }
    char target[4096];
    const int64_t n = syscall4(__NR_readlinkat, uint64_t(found), as_word(""), as_word(target), sizeof target - 1);
    close_file(found);
    if (n < 0) return replace(at, n);
    if (status.user != 0 && status.user != user) return replace(at, kErrorForeignLink);
    if (++links > kMaxLinks) return replace(at, kErrorForeignLink);
    target[n] = 0;
    way.go_by_way_of(target);
    if (target[0] == '/') at = replace(at, open_at(kCurrentDirectory, "/", kDirectory));
  }
  return at;
}

// Returns a descriptor or -errno, and sets the path of the process.
int64_t create_file(Process* p, const char* directory, uint64_t pid) {
  Line(p->path, sizeof p->path) << directory << "/prof." << pid;
  const int64_t below = open_directory(directory);
  if (below < 0) return below;
  const size_t prefix = length_of(directory) + 1;
  int64_t fd = kErrorExists;
  for (uint64_t n = 0; n < kMaxNames; ++n) {
    Line path(p->path, sizeof p->path);
    path << directory << "/prof." << pid;
    if (n != 0) path << "." << n;
    fd = path.is_full() ? kErrorNameTooLong
                        : syscall4(__NR_openat, uint64_t(below), as_word(p->path + prefix),
                                   kReadWrite | kCreate | kExclusive | kNoFollow | kCloseOnExec, 0600);
    if (fd != kErrorExists) break;
  }
  close_file(below);
  return fd;
}

void unmap_profile(Process* p) {
  unmap_memory(p->base - kPage, size_of_mapping(p));
  p->base = nullptr;
}

// Maps inaccessible memory where nothing is. Returns 0, or -errno: kErrorExists if something is there.
int64_t take_free_place(char* start, uint64_t size) {
  const int64_t at = syscall6(__NR_mmap, as_word(start), size, kProtectNone,
                              kMapPrivate | kMapAnonymous | kMapNoReserve | kMapFixedNoReplace, uint64_t(-1), 0);
  if (is_error(at)) return at;
  if (at == int64_t(as_word(start))) return 0;
  unmap_memory(reinterpret_cast<void*>(at), size);  // a kernel that does not know the flag
  return kErrorExists;
}

// The same, where nothing is in `room` bytes from the start on either. If so much may not be mapped, for a limit,
// nothing is asked of what follows.
int64_t take_place_with_room(char* start, uint64_t size, uint64_t room) {
  const int64_t result = take_free_place(start, room);
  if (result == kErrorExists) return result;
  if (result != 0) return take_free_place(start, size);
  unmap_memory(start + size, room - size);
  return 0;
}

// Reserves the memory of the first mapping, where there is room after it of which it can be hoped that nobody else
// takes it; or if there is no such place, for `bound` blocks. (In a child, what was its parent's profile may lie right
// after where its own would be: threads.cc.) Sets base, mapped and is_reserved. False if there is no memory.
bool find_place(Process* p, uint64_t bound) {
  p->mapped = kFirstReady;
  p->is_reserved = 0;
  char* beside = reserve_memory(kPage);  // where the kernel puts the next mapping
  if (!beside) return false;
  unmap_memory(beside, kPage);
  for (uint64_t distance = kFarthest; distance >= kNearest && distance < as_word(beside); distance /= 4) {
    char* start = beside - distance;
    const uint64_t size = size_of_mapping(p), room = least(bound * PROF_BLOCK_SIZE, distance / 2);
    if (take_place_with_room(start, size, room) != 0) continue;
    p->base = start + kPage;
    return true;
  }
  p->mapped = bound;
  p->is_reserved = 1;
  char* start = reserve_memory(size_of_mapping(p));
  if (start) p->base = start + kPage;
  return start != nullptr;
}

// Maps the beginning of the open file, inaccessible; if it cannot be mapped shared, memory is left there. Sets base,
// bound and is_private. Returns 0 or -errno.
int64_t map_at_its_place(Process* p, int64_t fd, uint64_t bound) {
  if (!find_place(p, bound)) return kErrorNoMemory;
  p->bound = bound;
  int64_t result = syscall6(__NR_mmap, as_word(p->base), size_of_mapping(p) - kPage, kProtectNone,
                            kMapShared | kMapFixed, uint64_t(fd), 0);
  p->is_private = result == kErrorNoDevice;
  if (!is_error(result) || p->is_private)
    result = advise(p->base - kPage, size_of_mapping(p), kAdviseDontFork) == 0 ? 0 : kErrorNotSupported;
  if (result != 0) unmap_profile(p);
  return result;
}

// Gives the open file its length and maps it. Returns 0 or -errno.
int64_t map_file(Process* p, int64_t fd, uint64_t node_limit) {
  uint64_t bound = node_limit + node_limit / 8 + kOtherBlocks;
  bound = least(bound, UINT32_MAX) / kBlocksPerPage * kBlocksPerPage;
  const uint64_t size_limit = largest_file();
  bound = least(bound, most_address_space() / PROF_BLOCK_SIZE);
  bound = least(bound, size_limit / PROF_BLOCK_SIZE);
  int64_t result = kErrorFileTooLarge;
  for (;; bound /= 2) {
    bound = bound / kBlocksPerPage * kBlocksPerPage;
    if (bound < kSmallestBound) return result;
    result = map_at_its_place(p, fd, bound);
    if (result == 0) break;
  }
  if (p->is_private) {
    p->length = kFirstReady;
    return make_usable(p, kFirstReady) ? 0 : kErrorNoMemory;
  }
  advise(p->base, size_of_mapping(p) - kPage, kAdviseRandom);
  p->can_populate = 1;
  result = lengthen(p, fd, kFirstReady);
  if (result != 0) return result;
  if (make_usable(p, kFirstReady)) return 0;
  if (advise(p->base, kPage, kAdvisePopulateWrite) != kErrorInvalid) return kErrorNoSpace;
  p->can_populate = 0;
  p->length = 0;
  result = lengthen(p, fd, kFirstReady);
  if (result != 0) return result;
  p->bound = least(bound, kFixedBound);
  return make_usable(p, kFirstReady) ? 0 : kErrorNoMemory;
}

}  // namespace

int64_t create_profile(Process* p, const char* directory, uint64_t node_limit) {
  const int64_t fd = create_file(p, directory, uint64_t(process_id()));
  if (fd < 0) return fd;
  int64_t result = map_file(p, fd, node_limit);
  FileStatus status;
  if (result == 0) result = syscall4(__NR_fstat, uint64_t(fd), as_word(&status));
  if (result == 0) {
    p->device = status.device;
    p->inode = status.inode;
    auto* header = at<Header>(p->base, 0);
    header->node_limit = least(node_limit, nodes_in(p->bound));
    if (p->is_private) header->flags |= prof_format::kPrivate;
    bequeath_header(fd);
  } else {
    if (p->base) unmap_profile(p);
    syscall4(__NR_unlink, as_word(p->path));
  }
  close_file(fd);
  return result;
}

Block take_blocks(uint64_t count) {
  Process* p = process;
  Header* header = at<Header>(p->base, 0);
  Block result = 0;
  lock(&p->lock);
  uint64_t first = header->blocks_used;
  if (count % kBlocksPerPage == 0) first = whole_pages(first);
  if (make_ready(p, first + count)) {
    result = Block(first);
    header->blocks_used = Block(first + count);
  } else {
    header->flags |= prof_format::kTruncated;
  }
  stamp_last(header);
  unlock(&p->lock);
  return result;
}

uint64_t take_some_blocks(uint64_t wanted, Block* first) {
  while (wanted != 0 && (*first = take_blocks(wanted)) == 0) wanted /= 2;
  return wanted;
}

uint64_t take_node_blocks(uint64_t wanted, uint64_t limit, Block* first) {
  Header* header = at<Header>(process->base, 0);
  lock(&process->lock);
  const uint64_t left = header->nodes < limit ? limit - header->nodes : 0;
  wanted = least(wanted, left);
  header->nodes += wanted;
  unlock(&process->lock);
  const uint64_t got = take_some_blocks(wanted, first);
  lock(&process->lock);
  header->nodes -= wanted - got;
  if (got == 0) header->flags |= prof_format::kTruncated;
  unlock(&process->lock);
  return got;
}

void keep_room() {
  uint64_t mask;
  Process* p = begin_change(&mask);
  if (!p) return;
  const uint64_t length = least(greatest_length(p), kFixedBound);
  const int64_t fd = length > p->length ? open_again(p, p->path) : -1;
  if (fd >= 0) {
    lengthen(p, fd, length);
    close_file(fd);
  }
  end_change(p, mask);
}

void give_room_back() {
  uint64_t mask;
  Process* p = begin_change(&mask);
  if (!p) return;
  cut_off(p, p->ready);
  end_change(p, mask);
}

void write_profile(Process* p) {
  const int64_t fd = open_again(p, p->path);
  if (fd < 0) return;
  const uint64_t used = uint64_t(at<Header>(p->base, 0)->blocks_used) * PROF_BLOCK_SIZE;
  const uint64_t size = least(used, largest_file());
  for (uint64_t done = 0; done < size;) {
    const int64_t n =
        syscall4(__NR_pwrite64, uint64_t(fd), as_word(p->base + done), least(size - done, kMaxWritten), done);
    if (n == kErrorInterrupted) continue;
    if (n <= 0) break;
    done += uint64_t(n);
  }
  close_file(fd);
}

namespace {

Bequest bequest;

// The first page of the profile once more, to be read only: this mapping is the one that children inherit.
const Header* header_page;
const Header* parents_page;

void unmap_page(const Header* page) {
  if (page) unmap_memory(const_cast<Header*>(page), kPage);
}

}  // namespace

void bequeath(char* base, uint64_t size) { bequest = {base, size}; }

Bequest bequeathed() { return bequest; }

void forget_bequest() { bequest = {nullptr, 0}; }

void bequeath_header(int64_t fd) {
  unmap_page(parents_page);
  parents_page = header_page;
  const int64_t at = syscall6(__NR_mmap, 0, kPage, kProtectRead, kMapShared, uint64_t(fd), 0);
  header_page = is_error(at) ? nullptr : reinterpret_cast<const Header*>(at);
}

void leave_header_of_parent() {
  unmap_page(parents_page);
  parents_page = nullptr;
}

bool parent_records(bool otherwise) {
  if (!header_page) return otherwise;
  // The parent may have ended, and its profile may have been truncated: ask the kernel before touching the page.
  const int64_t result = advise(const_cast<Header*>(header_page), kPage, kAdvisePopulateRead);
  if (result != 0 && result != kErrorInvalid) return otherwise;
  return load(&header_page->control) & prof_format::kRecording;
}

}  // namespace libprof
