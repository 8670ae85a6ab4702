#include "snapshot.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "clock.h"
#include "error.h"
#include "header.h"

namespace prof {

namespace {

using prof_format::FrameChunk;

// Reads [offset, end) into the same offsets of `to`, which holds zeros: holes of a sparse file are not touched.
// Returns where the file ended, at most `end`.
uint64_t read_range(int fd, char* to, uint64_t offset, uint64_t end, const std::string& path) {
  while (offset < end) {
    off_t data = lseek(fd, off_t(offset), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return end;  // a hole up to the end of the file
    if (data < 0) data = off_t(offset);          // a file system without holes
    off_t hole = lseek(fd, data, SEEK_HOLE);
    uint64_t from = uint64_t(data);
    uint64_t upto = hole > data ? std::min(uint64_t(hole), end) : end;
    if (from >= end) return end;
    uint64_t n = read_at(fd, to + from, upto - from, from, path);
    if (n < upto - from) return from + n;
    offset = upto;
  }
  return end;
}

}  // namespace

Snapshot::Snapshot(const std::string& path) : path_(path), file_(open_to_read(path)) {
  uint64_t size = 0;
  header_ = read_header(file_.get(), path, size);
  is_live_ = process_is_running(header_);
  if (is_live_ || !(header_.flags & prof_format::kEnded)) {
    earlier_ = read_blocks(size);
    header_ = read_header(file_.get(), path, size);
    damage_.clear();  // found in a file that may have grown between header and blocks
  }
  header_blocks_ = Block((header_.header_size + PROF_BLOCK_SIZE - 1) / PROF_BLOCK_SIZE);
  now_ = read_blocks(size);
  taken_at_ = time_stamp();
}

void Snapshot::Unmap::operator()(const char* p) const { munmap(const_cast<char*>(p), size); }

Snapshot::Blocks Snapshot::read_blocks(uint64_t file_size) {
  const uint64_t in_file = std::min<uint64_t>(file_size / PROF_BLOCK_SIZE, UINT32_MAX);
  uint64_t wanted = header_.blocks_used;
  if (wanted < header_.header_size / PROF_BLOCK_SIZE) {
    damage_.emplace_back("the count of its blocks is damaged");
    wanted = in_file;
  }
  if (wanted > in_file) {
    damage_.push_back("it was cut off: " + std::to_string(file_size) + " of " +
                      std::to_string(wanted * PROF_BLOCK_SIZE) + " bytes are left");
    wanted = in_file;
  }
  if (wanted == 0) return {};
  const uint64_t size = wanted * PROF_BLOCK_SIZE;
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error(path_ + ": the profile does not fit into memory");
  // Large pages save most of the time that reading takes in the kernel. Without effect where there are none.
  madvise(memory, size, MADV_HUGEPAGE);
  char* const bytes = static_cast<char*>(memory);
  Blocks blocks{{bytes, Unmap{size}}};
  blocks.count = Block(read_range(file_.get(), bytes, 0, size, path_) / PROF_BLOCK_SIZE);
  return blocks;
}

const FrameChunk* Snapshot::frames(Block block) const {
  const auto* chunk = structure<FrameChunk>(block);
  if (!chunk) return nullptr;
  // Chunks do not overlap, but damaged ones might: no more is looked at of each than there can be.
  const uint64_t size = std::min((uint64_t(blocks()) - block) * PROF_BLOCK_SIZE, prof_format::kMaxChunk);
  return chunk->capacity <= (size - sizeof *chunk) / sizeof(prof_format::Frame) ? chunk : nullptr;
}

std::string_view Snapshot::bytes(Block block, uint64_t size) const {
  const uint64_t start = uint64_t(block) * PROF_BLOCK_SIZE, end = uint64_t(blocks()) * PROF_BLOCK_SIZE;
  if (block < header_blocks_ || start > end || size > end - start) return {};
  return {now_.bytes.get() + start, size};
}

uint64_t Snapshot::read_after_blocks(void* to, uint64_t size, uint64_t offset) const {
  return read_at(file_.get(), to, size, offset, path_);
}

Block Snapshot::link(Block from, size_t offset) const {
  const Blocks& blocks = earlier_.bytes ? earlier_ : now_;
  Block to = 0;
  if (from < blocks.count) std::memcpy(&to, blocks.bytes.get() + uint64_t(from) * PROF_BLOCK_SIZE + offset, sizeof to);
  return to;
}

Block Snapshot::child_of(Block node) const { return link(node, offsetof(prof_format::Node, child)); }
Block Snapshot::module_after(Block module) const { return link(module, offsetof(prof_format::Module, next)); }

uint64_t Snapshot::last_tsc(Block thread) const {
  uint64_t then = structure<prof_format::Thread>(thread)->last_tsc, now = 0;
  if (!is_live_) return then;
  const uint64_t offset = uint64_t(thread) * PROF_BLOCK_SIZE + offsetof(prof_format::Thread, last_tsc);
  return read_at(file_.get(), &now, sizeof now, offset, path_) == sizeof now ? std::max(then, now) : then;
}

}  // namespace prof
