// The file grows by a window at a time, or by what was in one, and is opened for that moment only: see file.cc, which
// says why. A full disk shows when the window's pages are given storage (madvise(MADV_POPULATE_WRITE), or fallocate
// with older kernels), before anything is written to them.

#include "trace_file.h"

#include "libprof/data/heavy.h"
#include "libprof/data/settings.h"
#include "libprof/format/trace.h"
#include "libprof/kernel/memory.h"
#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"

namespace libprof {

namespace {

using prof_format::TraceChunk;
using prof_format::TraceEnd;
using prof_format::TraceHeader;
using prof_format::TraceModule;

constexpr uint64_t kSmallestWindow = uint64_t(64) << 10;  // bytes
constexpr uint64_t kMaxNames = 1000000;                   // trace.<pid>.1 and so on
constexpr uint32_t kDiskIsFull = 28;                      // ENOSPC

// Of this process. Copied by fork; begun anew by create_trace.
struct TraceFile {
  uint32_t lock;
  bool is_open;     // windows can be taken
  bool is_partial;  // some thread went on without a window
  uint64_t size;    // bytes
  uint64_t limit;   // most bytes
  uint64_t device, inode;
  char path[sizeof Process::path];
} file;

bool write_all(int64_t fd, const void* bytes, uint64_t size) {
  for (auto* from = static_cast<const char*>(bytes); size != 0;) {
    const int64_t n = syscall4(__NR_write, uint64_t(fd), as_word(from), size);
    if (n == kErrorInterrupted) continue;
    if (n <= 0) return false;
    from += n;
    size -= uint64_t(n);
    file.size += uint64_t(n);
  }
  return true;
}

// A part of a chunk's bytes.
struct Part {
  const void* bytes;
  uint64_t size;
};

TraceChunk chunk_of(prof_format::TraceChunkKind kind, uint64_t size) {
  TraceChunk chunk = {};
  chunk.magic = prof_format::kChunkMagic;
  chunk.kind = kind;
  chunk.process = uint32_t(process_id());
  chunk.stored = chunk.size = size;
  if (kind == prof_format::kChunkBlockTable) chunk.module = kTracedModule;
  return chunk;
}

template <int kParts>
bool write_chunk(int64_t fd, prof_format::TraceChunkKind kind, const Part (&parts)[kParts]) {
  constexpr char kZeros[8] = {};
  uint64_t size = 0;
  for (const Part& p : parts) size += p.size;
  const TraceChunk chunk = chunk_of(kind, size);
  if (!write_all(fd, &chunk, sizeof chunk)) return false;
  for (const Part& p : parts)
    if (!write_all(fd, p.bytes, p.size)) return false;
  return size % 8 == 0 || write_all(fd, kZeros, 8 - size % 8);
}

// What fills the page, so that windows begin at the start of one.
bool write_padding(int64_t fd) {
  static const char zeros[kPage] = {};
  uint64_t left = kPage - (file.size + sizeof(TraceChunk)) % kPage;
  return write_chunk(fd, prof_format::kChunkPadding, {{zeros, left % kPage}});
}

bool write_command(int64_t fd, const char* path, uint64_t path_size) {
  char text[8192];
  uint64_t size = read_text("/proc/self/cmdline", text, sizeof text), name = 0;
  while (name < size && text[name] != 0) ++name;
  name += name < size;
  return write_chunk(fd, prof_format::kChunkCommand, {{path, path_size}, {"", 1}, {text + name, size - name}});
}

bool write_module(int64_t fd, const Module* module, const char* path) {
  TraceModule m = {};
  m.start = module->start;
  m.end = module->end;
  m.bias = module->bias;
  m.number = kTracedModule;
  m.path_size = module->path_size;
  m.build_id_size = module->build_id_size;
  return write_chunk(fd, prof_format::kChunkModule,
                     {{&m, sizeof m}, {path, m.path_size}, {module->build_id, m.build_id_size}});
}

bool write_start(int64_t fd, const prof_format::TraceProgram& program) {
  TraceHeader header = {};
  memcpy(header.magic, prof_format::kTraceMagic, sizeof header.magic);
  header.version = prof_format::kTraceVersion;
  header.byte_order = prof_format::kTraceByteOrder;
  header.header_size = sizeof header;
  header.origin = prof_format::kTraceInlined;
  if (program.has_memory) header.flags |= prof_format::kTraceMemory;
  if (settings.trace_last != 0) header.flags |= prof_format::kTraceRing;
  header.pid = uint32_t(process_id());
  header.start_time = clock(kClockRealtime);
  if (!write_all(fd, &header, sizeof header)) return false;
  const auto* profile = at<Header>(process->base, 0);
  const auto* module = at<Module>(process->base, profile->first_module);
  const auto* path = reinterpret_cast<const char*>(module + 1);
  return write_command(fd, path, module->path_size) && write_module(fd, module, path) &&
         write_chunk(fd, prof_format::kChunkBlockTable, {{&program + 1, program.table_size}}) && write_padding(fd);
}

// As prof.<pid>, whose name it gets with another beginning. Returns a descriptor or -errno, and sets the path.
int64_t create_file() {
  size_t name = 0;
  for (size_t i = 0; process->path[i] != 0; ++i)
    if (process->path[i] == '/') name = i + 1;
  char directory[sizeof file.path];
  memcpy(directory, process->path, name);
  directory[name] = 0;
  for (uint64_t n = 0; n < kMaxNames; ++n) {
    Line path(file.path, sizeof file.path);
    path << directory << "trace." << uint64_t(process_id());
    if (n != 0) path << "." << n;
    if (path.is_full()) return kErrorNameTooLong;
    const int64_t fd = open_file(file.path, kReadWrite | kCreate | kExclusive | kNoFollow | kCloseOnExec, 0600);
    if (fd != kErrorExists) return fd;
  }
  return kErrorExists;
}

// -1 if no windows can be taken, or it is not the same file any more.
int64_t open_again() { return file.is_open ? open_same_file(file.path, file.device, file.inode) : -1; }

// Pages of the file from its end on; null if there is no storage for them.
char* map_window(int64_t fd, uint64_t size) {
  if (syscall4(__NR_ftruncate, uint64_t(fd), file.size + size) != 0) return nullptr;
  const int64_t at = syscall6(__NR_mmap, 0, size, kProtectReadWrite, kMapShared, uint64_t(fd), file.size);
  if (!is_error(at)) {
    auto* start = reinterpret_cast<char*>(at);
    int64_t result = back_with_storage(start, size);
    if (result == kErrorInvalid) result = syscall4(__NR_fallocate, uint64_t(fd), 0, file.size, size);
    if (result == 0) return start;
    unmap_memory(start, size);
  }
  syscall4(__NR_ftruncate, uint64_t(fd), file.size);
  return nullptr;
}

bool go_to_end(int64_t fd) {
  constexpr uint64_t kFromStart = 0;
  return syscall4(__NR_lseek, uint64_t(fd), file.size, kFromStart) >= 0;
}

// With the lock.
void close(int64_t fd, prof_format::TraceEndReason reason, uint32_t status) {
  file.is_open = false;
  const TraceEnd end = {reason, status, prof_format::kUnknownTotal, prof_format::kUnknownTotal};
  if (go_to_end(fd)) write_chunk(fd, prof_format::kChunkEnd, {{&end, sizeof end}});
}

uint64_t most_bytes() {
  const uint64_t largest = limit_of(kLimitFileSize, kInfinity);
  return file.limit < largest ? file.limit : largest;
}

// So that a window can follow. What was not written as a whole is cut off.
bool pad(int64_t fd, uint64_t limit) {
  if (file.size % kPage == 0) return true;
  const uint64_t before = file.size;
  if (file.size + 2 * kPage > limit) return false;
  if (go_to_end(fd) && write_padding(fd)) return true;
  file.size = before;
  syscall4(__NR_ftruncate, uint64_t(fd), before);
  return false;
}

// With the lock.
TraceWindow take(int64_t fd, uint64_t size, TraceChunk chunk) {
  const uint64_t limit = most_bytes();
  const bool is_whole_page = pad(fd, limit);
  for (; is_whole_page && size >= kSmallestWindow; size = size / 2 / kPage * kPage) {
    if (file.size + size + kPage > limit) continue;  // a page for the end
    char* start = map_window(fd, size);
    if (!start) continue;
    const TraceWindow window = {start, size, file.size};
    file.size += size;
    // Now, because others may write after it: a reader would not find that.
    auto* to = reinterpret_cast<TraceChunk*>(start);
    chunk.stored = chunk.size = size - sizeof chunk;
    chunk.magic = 0;
    *to = chunk;
    ordered();
    to->magic = prof_format::kChunkMagic;
    return window;
  }
  const bool is_limit = file.size + kSmallestWindow + kPage > limit;
  close(fd, is_limit ? prof_format::kEndLimit : prof_format::kEndDiskFull, is_limit ? 0 : kDiskIsFull);
  return {};
}

}  // namespace

void create_trace(const prof_format::TraceProgram& program) {
  file.lock = 0;
  file.is_open = file.is_partial = false;
  file.size = 0;
  file.limit = settings.trace_limit;
  if (process->is_private)
    return say(
        process->path,
        ": the file system cannot share a file as memory, so there is no trace; set PROFDIR to a folder on a disk");
  if (file.limit < kSmallestWindow || program.table_size > file.limit - kSmallestWindow)
    return say("PROFLIMIT is too little for the table of the program's blocks; there is no trace");
  const int64_t fd = create_file();
  FileStatus status;
  if (fd < 0) return say("cannot create ", file.path, ": ", error_text(-fd));
  if (write_start(fd, program) && syscall4(__NR_fstat, uint64_t(fd), as_word(&status)) == 0) {
    file.device = status.device;
    file.inode = status.inode;
    file.is_open = true;
  } else {
    say(file.path, ": cannot be written; there is no trace");
  }
  close_file(fd);
}

TraceWindow take_trace_window_again(uint64_t offset, uint64_t size) {
  lock(&file.lock);
  const int64_t fd = open_again();
  int64_t at = -1;
  if (fd >= 0) {
    at = syscall6(__NR_mmap, 0, size, kProtectReadWrite, kMapShared, uint64_t(fd), offset);
    close_file(fd);
  }
  unlock(&file.lock);
  if (is_error(at)) return {};
  return {reinterpret_cast<char*>(at), size, offset};
}

bool append_trace_chunk(const TraceChunk& chunk, const void* bytes) {
  bool is_written = false;
  lock(&file.lock);
  const int64_t fd = open_again();
  if (fd >= 0) {
    const uint64_t before = file.size;
    if (before + sizeof chunk + chunk.stored + kPage <= most_bytes() && go_to_end(fd)) {  // a page for the end
      is_written = write_all(fd, &chunk, sizeof chunk) && write_all(fd, bytes, chunk.stored);
      if (!is_written) {
        file.size = before;
        syscall4(__NR_ftruncate, uint64_t(fd), before);
      }
    }
    close_file(fd);
  }
  unlock(&file.lock);
  return is_written;
}

TraceWindow take_trace_window(uint64_t size, TraceChunk chunk) {
  TraceWindow window = {};
  lock(&file.lock);
  const int64_t fd = open_again();
  if (fd >= 0) {
    window = take(fd, size, chunk);
    close_file(fd);
  }
  unlock(&file.lock);
  return window;
}

void note_untraced() { store(&file.is_partial, true); }

void end_trace_file() {
  lock(&file.lock);
  const int64_t fd = open_again();
  if (fd >= 0) {
    close(fd, file.is_partial ? prof_format::kEndDetached : prof_format::kEndExit, 0);
    close_file(fd);
  }
  unlock(&file.lock);
}

}  // namespace libprof
