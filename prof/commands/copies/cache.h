// The cache of rewritten programs, for prof run.
//
// Copies lie at $XDG_CACHE_HOME/prof/KEY/NAME (by default ~/.cache). KEY stands for all that the copy depends on: the
// program, the options, profld and its runtime. They appear there by a rename, so several prof run may be at it.
//
// The cache has a bound. Its folders are removed, those first that were not used for longest, until the rest is below
// the bound. A folder's time of modification is that of its last use. Removing a file does no harm to a program that
// runs: the file is there until the program ends. But a program may load libraries at any time, and is shown when it
// has ended; so each process that uses a folder holds a lock on it (flock(2)), and a folder that is locked stays.

#ifndef PROF_COMMANDS_COPIES_CACHE_H
#define PROF_COMMANDS_COPIES_CACHE_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace prof {

// profld, beside prof or in PATH. Throws Error if it is in neither place.
std::string find_profld();
// The same for another program that is installed with prof.
std::string find_beside_prof(const std::string& name);

// Where a library lies that is installed with profld.
std::string library_beside(const std::string& profld, const std::string& name);

// What tells a file from others: its build-id, or all of its bytes; size and time. Throws Error if it cannot be read.
std::string contents_of(const std::string& file);

// The folder that has all of the cache; another one if programs cannot be run from there, which is said once. Throws
// Error if the environment names no place for it.
std::string cache_directory();

// Whether this process has put something into the cache.
bool has_cache_grown();

// What tells the debug file of a program or library from others, if -F or -N are among profld's options and it decides
// what names they match; else "".
std::string contents_of_names(const std::string& file, const std::vector<std::string>& options);

// The folder in the cache for a copy that depends on all of these. It need not be there.
std::string cache_folder(const std::vector<std::string>& depends_on);

// What profld answered: its exit status.
enum class CopyResult { made, refused, nothing_to_rewrite };

// Makes the file `copy`, and the folders that it is in, by a command of profld's to which the output and `original` are
// added. Unless it is made, nothing is left. What profld says gets into `words`, or onto standard error. Any thread
// may, if it gives `words`.
CopyResult make_copy(std::vector<std::string> command, const std::string& original, const std::string& copy,
                     std::string* words = nullptr);

// What `make` gives, which depends on nothing but a rewritten file. If that lies in the cache, it is kept there from
// the first time on, as long as the copy is. It is not looked at: where that matters it has to tell by itself if it is
// damaged. Throws Error if the file cannot be read.
std::string kept_with_copy(const std::string& copy, const std::function<std::string()>& make);

// A name for a new file beside `path`, which it is to be renamed to. No other process or thread takes it.
std::string fresh_name(const std::string& path);

// Makes a folder and those that it is in, for this user only. Throws Error.
void make_directories(const std::string& path);

// Makes a folder of the cache if it is not there, and has it stay while this process lives. What is to be found in it
// is to be looked for after that. Any thread may. Throws Error if it cannot be made.
void use_cache_folder(const std::string& folder);

// Removes folders of the cache until it has at most so many bytes, as far as they are not in use. What cannot be
// removed stays.
void shrink_cache(const std::string& cache, uint64_t bytes);

}  // namespace prof

#endif
