// How the first run of prof run --true, and the only one of prof run --type auto, is sampled: from outside by perf
// events, or, where these are not allowed, by the threads of a copy without hooks themselves.

#ifndef PROF_COMMANDS_LAUNCHING_FIRST_RUN_H
#define PROF_COMMANDS_LAUNCHING_FIRST_RUN_H

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launch.h"
#include "prof/sample/samples.h"

namespace prof {

class FirstRun : public Watcher {
 public:
  // What is to be started.
  virtual const std::string& program() const = 0;
  // What is to be said of it before.
  virtual std::string remark() const = 0;
  // What the program's environment must not have for it.
  virtual std::vector<std::string> not_in_environment() const { return {}; }
  // The samples, without program, arguments, times and status. To be called once, when it has ended. Throws Error.
  virtual Samples finish(const Child& child) = 0;
};

// Null if the program could not be rewritten, which profld has told. Throws Error if it cannot be sampled at all.
std::unique_ptr<FirstRun> first_run(const std::string& program);

// Takes what a process has so far, while it runs; called on another thread, and must throw nothing.
using KeepSamples = std::function<void(pid_t process, Samples)>;

// The same for a copy of a program that is run once and counts itself, where samples can be taken from outside
// (may_sample): it is as fast as it is, so there are fewer samples.
std::unique_ptr<FirstRun> only_run(const std::string& copy, KeepSamples keep);

// What finish() gives, with the program, its arguments and what its run took. Throws Error.
Samples samples_of(FirstRun& run, const Child& child, const std::string& program,
                   const std::vector<std::string>& arguments);

}  // namespace prof

#endif
