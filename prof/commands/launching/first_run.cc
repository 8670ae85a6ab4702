#include "first_run.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "prof/commands/copies/program_copy.h"
#include "prof/commands/options/message.h"
#include "prof/read/profile.h"
#include "prof/sample/own_samples.h"
#include "prof/sample/perf_sampler.h"

namespace prof {

namespace {

// Samples in a second of a program. A sample takes 5 us or more, which the first of two runs may cost, and the only one
// may not.
constexpr unsigned kOfFirstRun = 5000, kOfOnlyRun = 1000;

class FromOutside : public FirstRun {
 public:
  FromOutside(std::string program, unsigned per_second, bool with_chains, KeepSamples keep)
      : program_(std::move(program)), keep_(std::move(keep)), sampler_(per_second, with_chains) {}
  const std::string& program() const override { return program_; }
  std::string remark() const override { return ""; }
  void begin(pid_t process) override { sampler_.attach(process); }
  void watch(pid_t process) override {
    if (!keep_) return sampler_.watch(process, nullptr);
    sampler_.watch(process, [&](Samples samples) { keep_(process, std::move(samples)); });
  }
  Samples finish(const Child&) override { return sampler_.finish(); }

 private:
  const std::string program_;
  const KeepSamples keep_;
  PerfSampler sampler_;
};

class FromInside : public FirstRun {
 public:
  FromInside(std::string program, std::string copy) : program_(std::move(program)), copy_(std::move(copy)) {}
  const std::string& program() const override { return copy_; }
  std::string remark() const override {
    return "perf events are not allowed, so its first run is one of a copy that samples itself, 250 times a second";
  }
  std::vector<std::string> not_in_environment() const override { return {"PROFTYPE"}; }  // auto, count: without samples
  void begin(pid_t) override {}

  void watch(pid_t process) override {
    siginfo_t ignored;
    while (waitid(P_PID, id_t(process), &ignored, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
  }

  Samples finish(const Child& child) override {
    std::vector<Profile> profiles;
    for (const std::string& path : profiles_of(child, profile_directory())) {
      profiles.push_back(Profile::read(path));
      unlink(path.c_str());  // nothing else can be done with it
    }
    if (profiles.empty()) throw Error(program_ + ": left no samples");
    std::error_code ignored;
    Samples samples = own_samples(profiles, std::filesystem::canonical(program_, ignored).string());
    tell_of_gaps(profiles);
    return samples;
  }

 private:
  void tell_of_gaps(const std::vector<Profile>& profiles) const {
    uint32_t flags = 0;
    for (const Profile& profile : profiles) flags |= profile.header().flags;
    if (flags & prof_format::kNoSampling)
      say(program_ + ": its C library leaves no signal for samples, so there are none; it takes glibc 2.34 or musl");
    if (flags & prof_format::kNotSampled) say(program_ + ": the kernel refused a timer; some threads have no samples");
    if (flags & prof_format::kSamplingEnded)
      say(program_ +
          ": took the signal that samples use, as pthread_cancel does, or forbade what its handler needs, so there are "
          "none after that; allow perf events (sysctl kernel.perf_event_paranoid=2)");
  }

  const std::string program_, copy_;
};

}  // namespace

std::unique_ptr<FirstRun> first_run(const std::string& program) {
  PerfSettings settings;
  const int error = may_sample(settings);
  if (!error) return std::make_unique<FromOutside>(program, kOfFirstRun, false, nullptr);
  if (!can_sample_itself(program))
    throw Error("--true of a static program needs perf events, which this system does not allow (" +
                system_error(error) + "); allow them by sysctl kernel.perf_event_paranoid=2, or run prof as root");
  std::string copy = sampling_copy(program);
  if (copy.empty()) return nullptr;
  return std::make_unique<FromInside>(program, std::move(copy));
}

std::unique_ptr<FirstRun> only_run(const std::string& copy, KeepSamples keep) {
  return std::make_unique<FromOutside>(copy, kOfOnlyRun, true, std::move(keep));
}

Samples samples_of(FirstRun& run, const Child& child, const std::string& program,
                   const std::vector<std::string>& arguments) {
  Samples samples = run.finish(child);
  std::error_code ignored;
  samples.program = std::filesystem::canonical(program, ignored).string();
  samples.arguments = arguments;
  samples.set_times(child.user_time, child.system_time);
  samples.status = child.status;
  return samples;
}

}  // namespace prof
