// libprof.so as a part of a static program.

#ifndef LINKER_REWRITE_WRITE_RUNTIME_H
#define LINKER_REWRITE_WRITE_RUNTIME_H

#include "linker-rewrite/unwind/unwind.h"
#include "segment.h"

namespace profld {

// The runtime's file. Needed for dynamic programs too, to check that it exists and is the right one.
class Runtime {
 public:
  explicit Runtime(const std::string& path);  // Throws Error if it is not profld's runtime

  // Whether it has the threads that a program makes begin with itself, as libprof-sampler.so does, which needs no
  // hooks.
  bool begins_threads() const;

  const Elf64_Phdr& tls() const;  // its PT_TLS, which is zero at first

  size_t segment_count() const;

  // Appends its segments to a static program, the first at `start`.
  void place(NewAddr start);
  const std::vector<Segment>& segments() const { return segments_; }
  std::vector<Segment>& segments() { return segments_; }
  Segment& data() { return segments_.back(); }  // writable; more may be put after the runtime's own data
  // The hook slots: words through which the program calls the hooks.
  NewAddr hook_slots() const { return address("_profhooks"); }
  NewAddr tail() const { return address("_proftail"); }
  NewAddr start() const { return address("_profstart"); }
  AddedCode code() const;

  struct Function {
    std::string name;
    NewAddr address;
    uint64_t size;
    size_t segment;  // index in segments()
  };
  std::vector<Function> functions() const;

  // `program_entry`: where control goes when the runtime is ready. `tls_offset`: of its thread-local storage, from the
  // thread pointer. `is_thread_pointer_doubtful`: see decide/threads.h.
  void write(OldAddr program_entry, int64_t tls_offset, bool is_thread_pointer_doubtful, bool has_hooks,
             SectionEdits& edits);

 private:
  NewAddr address(const std::string& name) const;
  NewAddr placed(uint64_t runtime_address) const { return base_ + runtime_address; }
  void put_word(NewAddr at, uint64_t value);

  std::string path_;
  Image image_;
  NewAddr base_;  // address of the runtime's address 0
  std::vector<Segment> segments_;
};

}  // namespace profld

#endif
