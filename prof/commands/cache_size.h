// The bound of the cache of rewritten programs.
//
// Its folders are removed, those first that were not used for longest, until the rest is below the bound. A folder's time of
// modification is that of its last use. Removing a file does no harm to a program that runs: the file is there until the
// program ends. But a program may load libraries at any time, and is shown when it has ended; so each process that uses
// a folder holds a lock on it (flock(2)), and a folder that is locked stays.

#ifndef PROF_COMMANDS_CACHE_SIZE_H
#define PROF_COMMANDS_CACHE_SIZE_H

#include <cstdint>
#include <string>

namespace prof {

// Makes a folder of the cache if it is not there, and has it stay while this process lives. What is to be found in it is to
// be looked for after that. Any thread may. Throws Error if it cannot be made.
void use_cache_folder(const std::string& folder);

// Removes folders of the cache until it has at most so many bytes, as far as they are not in use. What cannot be removed
// stays.
void shrink_cache(const std::string& cache, uint64_t bytes);

}  // namespace prof

#endif
