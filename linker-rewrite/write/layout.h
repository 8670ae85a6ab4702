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

#include "linker-rewrite/base/copy_map.h"
#include "linker-rewrite/base/import_copy.h"
#include "linker-rewrite/base/patch.h"
#include "linker-rewrite/elf/image.h"
#include "linker-rewrite/move/library_start.h"
#include "linker-rewrite/unwind/unwind.h"
#include "output_file.h"

namespace profld {

// Everything that was emitted after `begin`, to be placed by `finish`.
struct Contents {
  Bytes text;           // the copies; starts at Layout::text()
  Bytes tables;         // cloned jump tables; starts at read_only_start(text.size())
  UnwindTables unwind;  // starts at align_up(tables' end, 8)
  CopyMap copies;
  std::vector<ImportCopy> imports;  // ascending
  FramelessCode thunks;             // all the code that they are in; a part of the text
  std::vector<Patch> patches;
  NewAddr library_start;  // of a library's new DT_INIT, which is a part of the text
};

class Layout {
 public:
  // Reads the runtime (libprof.so) at `runtime_path`; appends its image if the program is static, else only names it as
  // a needed library. A dynamic program names `audit` for DT_AUDIT too, if it is not empty. Throws Error if the program's
  // headers do not allow it (the message says why), so call it before anything that takes long.
  static std::unique_ptr<Layout> begin(const Image& image, const std::string& runtime_path,
                                       const std::string& audit = "");
  virtual ~Layout() = default;

  // The hook slots: words through which copies call the hooks: call *hook_slot(%rip).
  virtual NewAddr enter_hook_slot() const = 0;
  virtual NewAddr leave_hook_slot() const = 0;
  virtual NewAddr text() const = 0;  // page aligned; the text may have any size below 1 GiB
  virtual NewAddr read_only_start(uint64_t text_size) const = 0;  // for tables, then unwind tables
  // What a library starts with; nullopt for programs.
  virtual std::optional<LibraryStart> library_start() const = 0;
  // Of libprof.so's functions in the place of the C library's (program/replaced.h).
  virtual NewAddr replacement_slots() const = 0;
  // The appended runtime's (static programs).
  virtual std::optional<AddedCode> added_code() const = 0;

  // The output file. To be called once.
  virtual std::vector<FilePart> finish(Contents contents) = 0;
};

}  // namespace profld

#endif
