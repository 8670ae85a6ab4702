// The memory of a stopped process: what may be done with it, and how instructions that are run for the process use it.

#ifndef PROF_INSTRUCTIONS_TARGET_MEMORY_H
#define PROF_INSTRUCTIONS_TARGET_MEMORY_H

#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace prof::target {

// What may be done with which memory of a stopped process, by the kernel's account (/proc/PID/maps).
//
// Memory that others see has to be read and written as the processor does it: a word at once, and at that moment.
// proftarget cannot do so for the program. Shared are mappings that the kernel says are, and all memory of a process
// whose other threads run.
//
// Code may be run only where the kernel lets it be run; memory that can be read is not enough. A program may count on
// the fault.
//
// Mappings change only with system calls, and are looked at anew after those that may have changed what is asked for
// here.
class Mappings {
 public:
  // Whether no other process can see a page, as the kernel told last.
  bool is_private(uint64_t address) const;
  // Whether code there may be run. What has become code since may be missing.
  bool is_code(uint64_t address) const;
  // Is to be called before those, when a thread of the process is stopped.
  void look(pid_t thread);
  // A system call has returned.
  void on_call(const user_regs_struct& before);
  // All memory is another.
  void forget() { is_stale_ = true; }

 private:
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  void read_maps(std::string_view text);
  bool leaves(const user_regs_struct& before) const;
  bool has_code(uint64_t begin, uint64_t size) const;

  std::vector<Range> shared_, code_;
  bool is_stale_ = true;
};

// The memory of a stopped thread while proftarget runs instructions of it: page by page, read when it is first needed.
//
// Reading or writing the memory of another process takes a system call, some ten times as long as an instruction takes
// here. So a page is read as a whole, and what is written to it reaches the program at the end of the batch. But for
// the first write, which goes to the program at once: so it is known whether the page may be written.
//
// This is right where nobody else uses the memory meanwhile (Mappings); other memory is not had for data. Only bytes
// that were written are handed back, since the kernel may have put others beside them.
//
// Both ways heed what the thread may do, unlike those of ptrace(2): it has a fault where this fails.
class BatchMemory {
 public:
  BatchMemory() : pages_(kPages) {}

  // A batch begins. `has_data`: the process has no other thread, so that data may be had.
  void begin(pid_t thread, const Mappings& mappings, bool has_data);
  // It ends: what was written is the program's.
  void finish();

  // All of it, or false.
  bool read(uint64_t address, void* to, size_t size);
  bool write(uint64_t address, const void* from, size_t size);
  // Code that can be read, and may be run; returns how many bytes of it there are.
  size_t read_code(uint64_t address, void* to, size_t size);

 private:
  static constexpr size_t kPage = 4096, kPages = 64;
  struct Page {
    uint64_t number = 0, batch = 0;  // what it holds, if this is the batch
    bool is_private = false, is_code = false, is_writable = false, has_news = false;
    std::array<uint64_t, kPage / 64> news;  // a bit for each byte that the program does not have yet
    std::array<uint8_t, kPage> bytes;
  };
  Page* find(uint64_t number);
  void hand_back(Page& page);

  std::vector<Page> pages_;
  std::vector<size_t> with_news_;
  uint64_t batch_ = 0;
  pid_t thread_ = 0;
  const Mappings* mappings_ = nullptr;
  bool has_data_ = false;
};

}  // namespace prof::target

#endif
