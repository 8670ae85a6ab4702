// The bytes of a profile as they were at one moment: a bounds-checked view of prof.<pid>, never changed.
//
// The program that wrote the file may have been killed in the middle of a store, may still be running, or may have
// been somebody with a hex editor; and the disk may have lost half of it. So nothing in it is believed: every block
// number is checked against the part of the file that was read.
//
// The file is read, not mapped. If somebody truncates a file that is mapped, its reader gets SIGBUS; and the nodes of a
// running program would change between two looks at them.
//
// A running program links what it makes once that is complete. Of what is linked, only counters change, and links to
// what is newer still. But reading takes time, and copies blocks in whatever order the kernel likes: it may find a link
// that was stored a moment ago, and its target as it was before. So the file of a program that may be running is read
// twice, one reading after the other. What the links of the first reading lead to was complete before the second
// began. So the links to children and to the next module are taken from the first reading, and all else from the
// second. The tree is that of a moment in between; what was linked later is left out. (A node's link to its sibling is
// stored before the node is linked itself, and leads to what was linked before.)

#ifndef PROF_READ_SNAPSHOT_H
#define PROF_READ_SNAPSHOT_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "file.h"
#include "libprof/format/format.h"

namespace prof {

using prof_format::Block;

class Snapshot {
 public:
  // Reads the file. Throws Error if it cannot be read or is no profile that this program understands.
  explicit Snapshot(const std::string& path);

  const prof_format::Header& header() const { return header_; }
  bool is_live() const { return is_live_; }        // the process that writes it still runs, on this machine
  uint64_t taken_at() const { return taken_at_; }  // time stamp
  Block blocks() const { return now_.count; }      // that were read; numbers below it are valid

  // What could not be read, one phrase each.
  const std::vector<std::string>& damage() const { return damage_; }

  // The structure T that starts at a block, or null unless all of it was read and it lies after the header. It lives
  // as long as the snapshot.
  template <class T>
  const T* structure(Block block) const {
    if (block < header_blocks_ || uint64_t(block) + sizeof(T) / PROF_BLOCK_SIZE > now_.count) return nullptr;
    return reinterpret_cast<const T*>(now_.bytes.get() + uint64_t(block) * PROF_BLOCK_SIZE);
  }

  // The frames in a block, with all that lie after the structure, or null if no frames can be there.
  const prof_format::FrameChunk* frames(Block block) const;

  // `size` bytes from the start of a block on; empty if not all were read, or they lie in the header.
  std::string_view bytes(Block block, uint64_t size) const;

  // Reads what the process did not write: bytes after the blocks that it used, as they are in the file now. Returns how
  // many there were.
  uint64_t read_after_blocks(void* to, uint64_t size, uint64_t offset) const;

  const std::string& path() const { return path_; }

  // Links of a node and of a module that is there, of the first reading if there were two.
  Block child_of(Block node) const;
  Block module_after(Block module) const;

  // The last_tsc of a thread that is there. The nodes of a running thread were read after its record and may have later
  // stamps in them, so that of a running program is read once more.
  uint64_t last_tsc(Block thread) const;

 private:
  struct Unmap {
    uint64_t size;  // bytes
    void operator()(const char* p) const;
  };
  // So many blocks from the start of the file, as they were read.
  struct Blocks {
    std::unique_ptr<const char, Unmap> bytes;
    Block count = 0;
  };
  Blocks read_blocks(uint64_t file_size);
  Block link(Block from, size_t offset) const;

  std::string path_;
  Descriptor file_;
  prof_format::Header header_{};
  bool is_live_ = false;
  uint64_t taken_at_ = 0;
  Blocks now_;
  Blocks earlier_;  // the first of two readings
  Block header_blocks_ = 0;
  std::vector<std::string> damage_;
};

}  // namespace prof

#endif
