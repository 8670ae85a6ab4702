// Makes profiles readable without the files that prof run made: see prof/read/skeleton.h.
//
// A profile belongs to its process, which may still be there: a child that prof run did not wait for, in a namespace
// whose numbers of processes mean nothing here, or one that has the memory of its parent (vfork). Whoever writes has
// the file mapped, and the kernel knows that. It grants a lease to read a file (fcntl(2)) only if nobody has it open or
// mapped to write; this is asked first, and if the answer is no, nothing is appended. A file system without leases
// leaves the number of the process.
//
// Skeletons are appended after the file's end, and the header gets their place as the last thing: whoever reads the
// profile meanwhile finds all of them or none.

#ifndef PROF_COMMANDS_LAUNCHING_KEEP_SKELETONS_H
#define PROF_COMMANDS_LAUNCHING_KEEP_SKELETONS_H

#include <string>
#include <vector>

namespace prof {

// Appends to each of these profiles the skeletons of its rewritten modules, unless it has some, somebody may still
// write to it, or it cannot be read. Returns what to tell the user: what cannot be appended, and why.
std::vector<std::string> keep_skeletons(const std::vector<std::string>& profiles);

}  // namespace prof

#endif
