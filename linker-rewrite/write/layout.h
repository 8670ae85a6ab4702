// Places the new parts of the output and writes it: segments, program headers, dynamic section, thread-local word,
// notes, symbols, section headers.
//
// The work is in two steps, because code refers to addresses that layout decides: `begin` places everything whose size
// is known from the image alone; then the caller emits code, tables and unwind information at the addresses that Layout
// gives; `finish` puts all together.

#ifndef LINKER_REWRITE_WRITE_LAYOUT_H
#define LINKER_REWRITE_WRITE_LAYOUT_H

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dynamic.h"
#include "linker-rewrite/base/bytes.h"
#include "linker-rewrite/base/copy_map.h"
#include "linker-rewrite/blocks/block_counters.h"
#include "linker-rewrite/elf/image.h"
#include "linker-rewrite/move/coverage.h"
#include "linker-rewrite/move/library_start.h"
#include "linker-rewrite/move/relocate.h"
#include "linker-rewrite/program/program.h"
#include "linker-rewrite/unwind/unwind.h"
#include "linker-rewrite/x86/encoding.h"
#include "output_file.h"
#include "segment.h"

namespace profld {

// Everything that was emitted after `begin`, to be placed by `finish`.
struct Contents {
  Bytes text;           // the copies; starts at Layout::text()
  Bytes tables;         // cloned jump tables; starts at read_only_start(text.size(), counters)
  UnwindTables unwind;  // starts at align_up(tables' end, 8)
  CopyMap copies;
  std::vector<ImportCopy> imports;  // ascending
  FramelessCode thunks;             // all the code that they are in; a part of the text
  std::vector<Patch> patches;
  NewAddr library_start;                    // of a library's new DT_INIT, which is a part of the text
  std::vector<CountedFunction> counted;     // profld -b
  uint32_t counters = 0;                    // of their blocks; profld --trace: words of the trace segment
  bool counters_are_of_process = false;     // all threads increment the same
  bool increments_are_locked = false;       // since several threads may make them at once
  std::vector<NewAddr> increments;          // by counter, if the runtime is to be told where they are
  uint32_t increments_flags = 0;            // the same; libprof/format/blocks.h
  Bytes trace;                              // what that holds after its first page
  bool is_thread_pointer_doubtful = false;  // decide/threads.h
  bool has_hooks = true;                    // false: profld --no-hooks
  std::optional<Coverage> coverage;         // of the code, if readers are to tell
  std::optional<HookSites> hook_sites;      // profld --latency
};

// The runtime, libprof.so: the file at `path` is read; a copy with a dynamic linker names it by `name`, or by its
// absolute path if that is empty.
struct RuntimeFile {
  RuntimeFile(std::string file, std::string written = "") : path(std::move(file)), name(std::move(written)) {}
  std::string path, name;
};

class Layout {
 public:
  // Reads the runtime; appends its image if the program is static, else only names it as a needed library. `wishes` are
  // a dynamic program's. `counts_blocks`: there may be counters, or a trace segment. Throws Error if the program's
  // headers do not allow it (the message says why), so call it before anything that takes long. `place`: of the new
  // segments; there may turn out to be no room in front of a program.
  static std::unique_ptr<Layout> begin(const Image& image, const RuntimeFile& runtime, const LinkerWishes& wishes = {},
                                       bool counts_blocks = false, Place place = Place::after);
  virtual ~Layout() = default;

  // Makes room for dynamic symbols of the copies of all that moves. The addresses below are right from then on, as they
  // are if it is not called: then dladdr does not find names of copies.
  virtual void name_copies(const Program& program) = 0;

  // The hook slots: words through which copies call the hooks: call *hook_slot(%rip). See HookSlots in move/plan.h.
  virtual NewAddr hook_slots() const = 0;
  // Where the runtime's code is, by the address of its _proftail.
  virtual AnchoredRange runtime_code() const = 0;
  virtual NewAddr text() const = 0;  // page aligned; the text may have any size below 1 GiB
  // profld --trace: a word that holds the address of the runtime's function for full windows.
  NewAddr trace_slot() const { return hook_slots() + 32; }
  // For so many counters of blocks, after the text; also for the trace segment.
  NewAddr counters_start(uint64_t text_size) const;
  NewAddr read_only_start(uint64_t text_size, uint32_t counters = 0) const;  // for tables, then unwind tables
  // What a library starts with; nullopt for programs.
  virtual std::optional<LibraryStart> library_start() const = 0;
  // Of libprof.so's functions in the place of the C library's (program/replaced.h).
  virtual NewAddr replacement_slots() const = 0;
  // Whether the runtime has the threads that the program makes begin with itself, without a hook.
  virtual bool begins_threads() const = 0;
  // The appended runtime's (static programs).
  virtual std::optional<AddedCode> added_code() const = 0;

  // The output file. To be called once.
  virtual std::vector<FilePart> finish(Contents contents) = 0;
};

}  // namespace profld

#endif
