// Tells readers which function a copy belongs to, and where its instructions come from: by symbols, and by the sections
// .prof.map, .prof.steps, .prof.loops and .prof.imports.

#ifndef LINKER_REWRITE_WRITE_SYMTAB_H
#define LINKER_REWRITE_WRITE_SYMTAB_H

#include "linker-rewrite/base/copy_map.h"
#include "runtime.h"
#include "sections.h"

namespace profld {

// The contents of .prof.map, .prof.steps, .prof.loops and .prof.imports (libprof/format/map.h).
Bytes encode_map(const CopyMap& copies, const std::vector<ImportCopy>& imports);
Bytes encode_steps(const CopyMap& copies, const std::vector<ImportCopy>& imports);
Bytes encode_loops(const CopyMap& copies);
Bytes encode_imports(const std::vector<ImportCopy>& imports);

// Writes .symtab anew: the original's symbols, one for each copy whose original has a name, one for the thunks of
// imports, and the runtime's functions (static programs). A program without .symtab gets symbols for the copies that
// its dynamic symbols name; if there are none, no table. `tls_room`: by how many bytes offsets of thread-local
// variables grow. `file` is the output so far; relocations kept in it for other tools (ld --emit-relocs), which refer
// to symbols by index, are changed.
void write_symbols(SectionTable& sections, Bytes& file, const Image& image, const CopyMap& copies, FramelessCode thunks,
                   const std::vector<Runtime::Function>& runtime, uint64_t tls_room);

}  // namespace profld

#endif
