// Finds profiles on disk: the newest one, those of a process, and those of one run.

#ifndef PROF_READ_FIND_H
#define PROF_READ_FIND_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libprof/format/format.h"

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

// The profile that a user means by the number of a process or by its path. That of a process is the last one of it
// here, or in $PROFDIR, or, while it runs, the one that it has mapped, wherever that is. Throws Error if there is none.
FoundProfile find_profile(const std::string& subject);

// Which profiles in a folder are of one run: of a process and of those that it started, or that these started, of
// whichever programs.
//
// A profile has the number of its process and of that one's parent. Numbers of processes come again, so a parent is the
// last one with its number that began before the child and, as far as is known, had not ended then; a forked child says
// itself when that one began. A process that ran several programs one after the other, by execve, has a profile of
// each.
class Runs {
 public:
  // Looks at the profiles prof.* in a folder. Throws Error if it cannot be read.
  explicit Runs(const std::string& directory);

  // The run of which a profile in the folder is: from the first of the process's ancestors on that left a profile. The
  // profiles of that first process come first, and the one of the last program that it ran before them; the others in
  // order of their starts. Empty if there is no such profile.
  std::vector<std::string> run_of(const std::string& path) const;

  // The same from the process of this profile on.
  std::vector<std::string> run_from(const std::string& path) const;

  // The run of the last process for one of whose profiles `is_meant` is true; it begins with the first of its ancestors
  // for which that is true as well, and so are all that come between them. Empty if there is none.
  std::vector<std::string> newest(const std::function<bool(const std::string& path)>& is_meant) const;

 private:
  struct Entry {
    std::string path;
    prof_format::Header header;
    size_t process = 0;     // the first entry of the same process
    size_t parent = kNone;  // the first entry of its parent
  };
  static constexpr size_t kNone = size_t(-1);

  void find_parents();
  size_t index_of(const std::string& path) const;
  std::vector<std::string> from(size_t first) const;

  std::vector<Entry> entries_;  // in order of their starts
};

}  // namespace prof

#endif
