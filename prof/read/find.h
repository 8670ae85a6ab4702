// Finds profiles on disk: the newest one, or those of a process.

#ifndef PROF_READ_FIND_H
#define PROF_READ_FIND_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace prof {

// The profiles prof.* in `directory` (regular files with the magic only), or those of them that process `pid` wrote, in
// order of their processes' starts. Throws Error if the directory cannot be read.
std::vector<std::string> profiles_in(const std::string& directory, std::optional<uint32_t> pid = {});

// Of profiles of processes that had one number, one after the other, removes those that are not of the last one.
// Returns what to tell the user of that, if there were any. A process that ran several programs, by execve, is one.
std::vector<std::string> leave_out_earlier_processes(std::vector<std::string>& paths);

struct FoundProfile {
  std::string path;                  // "": there is none
  std::vector<std::string> remarks;  // what to tell the user: there are others, of earlier processes with its number
};

// The last of those in `directory`.
FoundProfile newest_profile(const std::string& directory, std::optional<uint32_t> pid = {});

// The profile that a user means by the number of a process or by its path. That of a process is the last one of it here,
// or in $PROFDIR, or, while it runs, the one that it has mapped, wherever that is. Throws Error if there is none.
FoundProfile find_profile(const std::string& subject);

}  // namespace prof

#endif
