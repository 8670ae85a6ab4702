// Other processes than that which was started: what a program starts while it runs, and what it leaves behind.

#ifndef PROF_COMMANDS_LAUNCHING_DESCENDANTS_H
#define PROF_COMMANDS_LAUNCHING_DESCENDANTS_H

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "launch.h"

namespace prof {

// What a program started while it ran, and how much of the time that took: to tell that the work is done by others.
//
// A program such as gcc -c only starts others. Its profile is true and of no use. The kernel's accounts tell at the end
// how much time its children took, but not which ones. So while it runs, /proc is looked at now and then, more and more
// seldom: what runs for long is found, and only that matters.

class Descendants : public Watcher {
 public:
  // `copy`: path of the program that is run. Processes of the same file have profiles of their own.
  explicit Descendants(std::string copy) : copy_(std::move(copy)) {}

  void begin(pid_t) override {}
  void watch(pid_t process) override;

  // If most of the time went to other programs: what to tell of that, with the command to profile in place of this one.
  // Else "". `name`: the program, for people.
  std::string remark(const std::string& name) const;

 private:
  struct Seen {
    uint64_t ticks = 0;  // of the processor, when it was looked at last
    std::vector<std::string> command;
  };
  void look_at_children(pid_t process);

  const std::string copy_;
  std::map<pid_t, Seen> seen_;
  uint64_t own_ticks_ = 0, children_ticks_ = 0;  // at the end
};

// Processes that a program left behind when it ended: a daemon, which is forked and does the work.
//
// Such a one may have no profile yet: that begins with its first hook. It is known all the same, because a forked
// process has a page of its parent's profile mapped until it has its own (libprof/life/threads.cc), and /proc tells who
// has mapped a file. Nothing of this can be seen by the program, as it could if its orphans became children of prof.

// The profiles of the run from the process of `profile` on (read/find.h), and in `living` the numbers of processes that
// have not ended: of these profiles, and forked by their processes.
std::vector<std::string> run_and_living(const std::string& profile, const std::string& directory,
                                        std::vector<uint32_t>& living);

// What to tell of processes that go on. "" if there are none. `name`: the program, for people. `is_sampled`: the run
// had its times from samples, which end with it.
std::string remark_on_living(const std::vector<uint32_t>& living, const std::string& name, const std::string& directory,
                             bool is_sampled);

}  // namespace prof

#endif
