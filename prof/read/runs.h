// Which profiles in a folder are of one run: of a process and of those that it started, or that these started, of
// whichever programs.
//
// A profile has the number of its process and of that one's parent. Numbers of processes come again, so a parent is the
// last one with its number that began before the child and, as far as is known, had not ended then; a forked child says
// itself when that one began. A process that ran several programs one after the other, by execve, has a profile of each.

#ifndef PROF_READ_RUNS_H
#define PROF_READ_RUNS_H

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "libprof/format/format.h"

namespace prof {

class Runs {
 public:
  // Looks at the profiles prof.* in a folder. Throws Error if it cannot be read.
  explicit Runs(const std::string& directory);

  // The run of which a profile in the folder is: from the first of the process's ancestors on that left a profile. The
  // profiles of that first process come first, and the one of the last program that it ran before them; the others in order
  // of their starts. Empty if there is no such profile.
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
