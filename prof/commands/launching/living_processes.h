// Processes that a program left behind when it ended: a daemon, which is forked and does the work.
//
// Such a one may have no profile yet: that begins with its first hook. It is known all the same, because a forked process has
// a page of its parent's profile mapped until it has its own (libprof/life/threads.cc), and /proc tells who has mapped a file.
// Nothing of this can be seen by the program, as it could if its orphans became children of prof.

#ifndef PROF_COMMANDS_LAUNCHING_LIVING_PROCESSES_H
#define PROF_COMMANDS_LAUNCHING_LIVING_PROCESSES_H

#include <cstdint>
#include <string>
#include <vector>

namespace prof {

// The profiles of the run from the process of `profile` on (read/runs.h), and in `living` the numbers of processes that have
// not ended: of these profiles, and forked by their processes.
std::vector<std::string> run_and_living(const std::string& profile, const std::string& directory,
                                        std::vector<uint32_t>& living);

// What to tell of processes that go on. "" if there are none. `name`: the program, for people. `is_sampled`: the run had its
// times from samples, which end with it.
std::string remark_on_living(const std::vector<uint32_t>& living, const std::string& name, const std::string& directory,
                             bool is_sampled);

}  // namespace prof

#endif
