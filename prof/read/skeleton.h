// What a profile keeps of the files of its modules.
//
// The problem. The addresses in a profile are those of copies of functions, in a file that profld made. Only that file
// has the map of copies, and the names; and the files that prof run makes lie in a cache, which is emptied some day.
//
// Ways. Resolve all addresses when the program ends, and keep names with them: then whoever reads the profile gets the
// names of that day, although there may be a debug file by now; and each view would have to know two kinds of profiles.
// Or keep the file itself: it is as large as the program. Or keep it without what no reader asks for, code, data and
// debug information, so that all that reads programs can go on as if the file were there. We do this. So it is a file
// of its own, in the format of programs (ELF), which nobody can run: a skeleton. Packed by zlib, that of cc1, a program
// of 33 MB, has 2 MB, and those of ffmpeg and the 56 libraries that it loads have 3 MB. prof run appends them to a
// profile when nobody writes to it any more (commands/launching/keep_skeletons.h).
//
// A skeleton has
//   - sections with all that ElfFile reads: the map of copies and the names of imports, symbols with their names and
//     versions, notes, .gnu_debuglink and .gnu_debugdata. Of .debug_info it has the name alone
//   - segments: the interpreter, the dynamic section, notes and .eh_frame_hdr, elsewhere in the file than they were. Of
//     segments of code it has the headers alone, which tell addresses from offsets in the real file. After these, the
//     strings of the dynamic section are a segment: a reader takes the last one that has an address.
//
// A file that is there is preferred, if it still is the one that was profiled: it has more.

#ifndef PROF_READ_SKELETON_H
#define PROF_READ_SKELETON_H

#include <string>
#include <vector>

#include "elf_file.h"
#include "profile.h"
#include "snapshot.h"

namespace prof {

// The skeleton of a file, not packed.
std::string skeleton_of(const ElfFile& file);

// The same packed, and with its size before that.
struct PackedSkeleton {
  std::string bytes;
  uint64_t size = 0;
};
PackedSkeleton packed_skeleton_of(const ElfFile& file);

// Tells modules of a profile where in it their skeletons are. What is damaged is passed over.
void find_skeletons(const Snapshot& snapshot, std::vector<Module>& modules);

// The file of a module: the one that has its path, or its skeleton if that one is gone or is another. If there is no
// skeleton either, the other. Throws Error if there is none of these.
ElfFile file_of(const Module& module);

}  // namespace prof

#endif
