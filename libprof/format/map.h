// The data that profld puts into a rewritten program for readers: the section .prof.map, which leads from addresses in
// the copies back to the original program, .prof.steps, .prof.loops, .prof.imports, and the note "prof", which marks a
// rewritten file.
//
// A profile's program counters lie in the copies. A reader subtracts Module::bias, finds the MapEntry that covers the
// address, and reports `function`, the original entry point, whose symbols are those of the original program.
//
// An import, a function of another file that the program calls, has an entry of the map as well: `copy` is the code
// that calls the hooks for it; `original` and `function` are the linker's stub that leads to it, or the word of the GOT
// that holds its address. The section .prof.imports, which is there if there are any, has their names.
//
// Instructions. A copy differs from its original at a few places only, where something stands before an instruction (a
// hook), or the instruction is longer. The section .prof.steps says where, for each entry of the map, in its order:
// numbers of variable length (DWARF's ULEB128): how many steps there are; and of each step, how many bytes of the
// original lie between the one before it (at first, the start) and itself, and how many the copy has more for these. So
// the instruction at the end of what a step closes, and no other, is the one that grew. Where an entry has no steps
// that can be read, its instructions are not known.
//
// Loops. A small loop may stand several times in a copy, one after the other (profld -b), which grows as a whole at the
// jump that ends the loop. The section .prof.loops, which is there if there are any, lists them.
//
// Little-endian. Not mapped at run time (no SHF_ALLOC); the note is.
//
// And for the runtime: the entry kHooksTag in the dynamic section, and kThreadMark.

#ifndef LIBPROF_FORMAT_MAP_H
#define LIBPROF_FORMAT_MAP_H

#include <stdint.h>

namespace prof_format {

inline constexpr char kMapSection[] = ".prof.map";
inline constexpr char kMapMagic[8] = {'P', 'R', 'O', 'F', 'M', 'A', 'P', '1'};

// Note with owner "prof" in .note.prof: the descriptor is the original's build-id (empty if it had none).
inline constexpr char kNoteSection[] = ".note.prof";
inline constexpr char kNoteOwner[] = "prof";
inline constexpr uint32_t kNoteOriginalBuildId = 1;

// Entry of the dynamic section, in the range left to operating systems: address of two words through which the program
// calls the hooks, _profin's and after it _profout's. The dynamic linker fills them with the addresses of these
// symbols, the runtime with those of the hooks that are in use, which saves each call a jump. (What lies after them,
// the words of _proftail and _profjump, is not the runtime's: older programs have something else there.)
inline constexpr int64_t kHooksTag = 0x6f50524f;

struct MapHeader {
  char magic[8];
  uint32_t entry_size;  // sizeof(MapEntry); a later version may make it longer
  uint32_t reserved;
  uint64_t entries;  // MapEntry structures that follow, sorted by `copy`, not overlapping
};

// One range of original code and its copy. Addresses are link-time virtual addresses of the file.
struct MapEntry {
  uint64_t copy;           // start of the copy
  uint64_t original;       // start of the original range
  uint64_t function;       // original entry of the function it belongs to (differs from `original` in fragments)
  uint32_t copy_size;      // bytes
  uint32_t original_size;  // bytes
};

inline constexpr char kStepsSection[] = ".prof.steps";
inline constexpr char kStepsMagic[8] = {'P', 'R', 'O', 'F', 'S', 'T', 'P', '1'};

struct StepsHeader {
  char magic[8];
  uint64_t entries;  // of the map, of which the steps follow
};

inline constexpr char kLoopsSection[] = ".prof.loops";
inline constexpr char kLoopsMagic[8] = {'P', 'R', 'O', 'F', 'L', 'O', 'P', '1'};

struct LoopsHeader {
  char magic[8];
  uint32_t entry_size;  // sizeof(LoopEntry); a later version may make it longer
  uint32_t reserved;
  uint64_t entries;  // LoopEntry structures that follow, sorted by `copy`, not overlapping
};

struct LoopEntry {
  uint64_t copy;   // where it stands for the first time
  uint32_t size;   // bytes, each time
  uint32_t times;  // at least 2
};

inline constexpr char kImportsSection[] = ".prof.imports";
inline constexpr char kImportsMagic[8] = {'P', 'R', 'O', 'F', 'I', 'M', 'P', '1'};

struct ImportsHeader {
  char magic[8];
  uint32_t entry_size;  // sizeof(ImportEntry); a later version may make it longer
  uint32_t reserved;
  uint64_t entries;  // ImportEntry structures that follow, sorted by `function`; after them the names
};

struct ImportEntry {
  uint64_t function;   // MapEntry::function of its entry in the map
  uint32_t name;       // offset among the names
  uint32_t name_size;  // bytes
};

// What a static program's initial image of thread-local storage holds directly in front of the runtime's own.
inline constexpr char kThreadMark[8] = "libprof";

}  // namespace prof_format

#endif
