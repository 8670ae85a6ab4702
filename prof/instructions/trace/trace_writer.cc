#include "trace_writer.h"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <ctime>

#include "prof/read/error.h"

namespace prof {

namespace {

using namespace prof_format;

constexpr int kCompression = 3;                  // of zstd
constexpr uint64_t kFlushEvery = 1'000'000'000;  // nanoseconds
constexpr unsigned kLookAtClockEvery = 256;      // steps
constexpr uint64_t kRoomForEnd = sizeof(TraceChunk) + sizeof(TraceEnd);

uint64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return uint64_t(time.tv_sec) * 1'000'000'000 + uint64_t(time.tv_nsec);
}

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Packed, if that is shorter.
bool pack(const std::string& bytes, std::string& packed) {
  packed.resize(ZSTD_compressBound(bytes.size()));
  const size_t size = ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kCompression);
  if (ZSTD_isError(size) || size >= bytes.size()) return false;
  packed.resize(size);
  return true;
}

}  // namespace

TraceWriter::TraceWriter(const std::string& path, const Settings& settings) : path_(path), settings_(settings) {
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) throw Error(path + ": " + system_error(errno));
  TraceHeader header{};
  std::copy(std::begin(kTraceMagic), std::end(kTraceMagic), header.magic);
  header.version = kTraceVersion;
  header.byte_order = kTraceByteOrder;
  header.header_size = sizeof header;
  header.origin = settings.origin;
  header.flags = settings.has_memory ? uint32_t(kTraceMemory) : 0;
  header.pid = settings.pid;
  header.start_time = now(CLOCK_REALTIME);
  append(bytes_of(header));
  next_flush_ = now(CLOCK_MONOTONIC) + kFlushEvery;
}

TraceWriter::~TraceWriter() {
  try {
    end_runs();
    flush();
  } catch (const std::exception&) {  // nobody is there to be told; the trace has no end
  }
  close(fd_);
}

// False, and the file is as before, if there is no room for it.
bool TraceWriter::append(std::string_view bytes) {
  uint64_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = pwrite(fd_, bytes.data() + written, bytes.size() - written, off_t(size_ + written));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != ENOSPC && errno != EDQUOT && errno != EFBIG) throw Error(path_ + ": " + system_error(errno));
    if (n <= 0) {
      if (ftruncate(fd_, off_t(size_)) != 0) throw Error(path_ + ": " + system_error(errno));
      return false;
    }
    written += uint64_t(n);
  }
  size_ += written;
  return true;
}

void TraceWriter::write_chunk(TraceChunk chunk, const std::string& bytes) {
  if (is_ended_) return;
  std::string packed;
  const bool is_packed = pack(bytes, packed);
  const std::string& stored = is_packed ? packed : bytes;
  chunk.magic = kChunkMagic;
  chunk.encoding = is_packed ? kTraceZstd : kTraceRaw;
  chunk.stored = stored.size();
  chunk.size = bytes.size();
  std::string all(bytes_of(chunk));
  all += stored;
  all.resize((all.size() + 7) / 8 * 8);
  if (size_ + all.size() + kRoomForEnd > settings_.limit) {
    write_end(kEndLimit, 0);
  } else if (!append(all)) {
    write_end(kEndDiskFull, ENOSPC);
  }
}

void TraceWriter::write_end(TraceEndReason reason, uint32_t status) {
  is_ended_ = true;
  is_disk_full_ = reason == kEndDiskFull;
  TraceChunk chunk{};
  chunk.magic = kChunkMagic;
  chunk.kind = kChunkEnd;
  chunk.stored = chunk.size = sizeof(TraceEnd);
  const bool is_all = reason != kEndLimit && reason != kEndDiskFull;
  const TraceEnd end{reason, status, is_all ? instructions_ : kUnknownTotal, is_all ? accesses_ : kUnknownTotal};
  append(std::string(bytes_of(chunk)).append(bytes_of(end)));  // without room for that much the trace has no end
}

void TraceWriter::command(const std::string& program, const std::vector<std::string>& arguments) {
  std::string bytes = program + '\0';
  for (const std::string& argument : arguments) bytes += argument + '\0';
  TraceChunk chunk{};
  chunk.kind = kChunkCommand;
  chunk.process = settings_.pid;
  write_chunk(chunk, bytes);
}

void TraceWriter::module(uint32_t process, const TracedModule& module) {
  end_runs();
  flush();
  const TraceModule head{.start = module.start,
                         .end = module.end,
                         .offset = module.offset,
                         .bias = kUnknownBias,
                         .number = 0,
                         .path_size = uint32_t(module.path.size()),
                         .build_id_size = uint32_t(module.build_id.size()),
                         .reserved = 0};
  TraceChunk chunk{};
  chunk.kind = kChunkModule;
  chunk.process = process;
  write_chunk(chunk, std::string(bytes_of(head)) + module.path + module.build_id);
}

StepsEncoder& TraceWriter::steps_of(TracedThread thread) {
  if (last_ && last_->first == thread) return *last_->second;
  auto at = threads_.find(thread);
  if (at == threads_.end()) at = threads_.emplace(thread, std::make_unique<StepsEncoder>()).first;
  last_ = &*at;
  return *at->second;
}

void TraceWriter::step(TracedThread thread, uint64_t address, std::string_view bytes,
                       std::span<const TraceAccess> accesses) {
  if (is_ended_) return;
  const CodeMemory::Change change = code_.set(thread.process, address, bytes);
  if (change == CodeMemory::Change::replaced) {
    end_runs();
    flush();
  }
  if (change != CodeMemory::Change::none) {
    std::string& code = new_code_[thread.process];
    code += bytes_of(TraceCode{address, bytes.size()});
    code += bytes;
    if (code.size() >= kMaxChunkBytes / 2) flush();
  }
  StepsEncoder& steps = steps_of(thread);
  if (steps.step(address, uint8_t(bytes.size()), accesses)) ++instructions_;
  for (const TraceAccess& access : accesses) accesses_ += access.count;
  if (steps.is_full()) flush();
  if (++steps_ < kLookAtClockEvery) return;
  steps_ = 0;
  if (now(CLOCK_MONOTONIC) >= next_flush_) flush();
}

void TraceWriter::event(TracedThread thread, TraceEventKind kind, std::span<const uint64_t> values) {
  if (is_ended_) return;
  if (kind == kEventExec) {
    end_runs();
    flush();
    code_.forget(thread.process);
  }
  if (kind == kEventFork && !values.empty()) code_.fork(uint32_t(values[0]), thread.process);
  StepsEncoder& steps = steps_of(thread);
  steps.event(kind, values);
  // What comes next of the process, or the child, may be in another thread's chunk.
  if (kind == kEventExec || kind == kEventFork) flush();
  if (kind != kEventThreadEnd) return;
  write_code();
  write_steps(thread, steps);
  threads_.erase(thread);
  last_ = nullptr;
}

void TraceWriter::end_runs() {
  for (const auto& [thread, steps] : threads_) steps->end_run();
}

void TraceWriter::write_steps(TracedThread thread, StepsEncoder& steps) {
  if (steps.is_empty()) return;
  TraceChunk chunk{};
  chunk.kind = kChunkSteps;
  chunk.process = thread.process;
  chunk.thread = thread.thread;
  write_chunk(chunk, steps.take());
}

void TraceWriter::write_code() {
  for (const auto& [process, bytes] : new_code_) {
    TraceChunk chunk{};
    chunk.kind = kChunkCode;
    chunk.process = process;
    write_chunk(chunk, bytes);
  }
  new_code_.clear();
}

void TraceWriter::flush() {
  next_flush_ = now(CLOCK_MONOTONIC) + kFlushEvery;
  write_code();
  for (const auto& [thread, steps] : threads_) write_steps(thread, *steps);
}

void TraceWriter::end(TraceEndReason reason, uint32_t status) {
  end_runs();
  flush();
  if (!is_ended_) write_end(reason, status);
}

}  // namespace prof
