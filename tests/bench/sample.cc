// sample NUMBER FILE PROGRAM ARGUMENT...: samples a program as the first run of prof run --true is, from outside or, where perf
// events are not allowed, by itself; again and again, until there are so many samples. Leaves them in FILE, which must not
// be there, as the samples of one run. Prints how many runs they were. Output of the program goes nowhere; it has to end
// with status 0.

#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "prof/commands/launching/first_run.h"
#include "prof/commands/launching/launch.h"
#include "prof/read/error.h"
#include "prof/read/file.h"
#include "prof/sample/samples.h"

namespace {

using namespace prof;

Samples sample_once(Launch launch) {
  const std::string program = launch.program;
  const std::unique_ptr<FirstRun> run = first_run(program);
  if (!run) throw Error(program + " could not be rewritten");
  launch.program = run->program();
  const Child child = run_to_the_end(launch, run.get());
  return samples_of(*run, child, program, launch.arguments);
}

SampledModule& module_of(Samples& samples, const SampledModule& like) {
  for (SampledModule& m : samples.modules) {
    if (m.path == like.path) return m;
  }
  return samples.modules.emplace_back(SampledModule{like.path, like.build_id});
}

void add(Samples& all, const Samples& run) {
  const double before = double(all.user + all.kernel), more = double(run.user + run.kernel);
  if (before + more > 0) all.weight = (all.weight * before + run.weight * more) / (before + more);
  if (all.user + run.user > 0)
    all.period = (all.period * all.user + run.period * run.user) / (all.user + run.user);  // measured anew in each run
  all.user += run.user;
  all.kernel += run.kernel;
  all.lost += run.lost;
  all.user_time += run.user_time;
  all.system_time += run.system_time;
  for (const SampledModule& m : run.modules) {
    SampledModule& sum = module_of(all, m);
    for (const auto& [offset, count] : m.counts) sum.counts[offset] += count;
  }
  all.threads.insert(all.threads.end(), run.threads.begin(), run.threads.end());
}

int sample(uint64_t number, const std::string& path, const std::vector<std::string>& arguments) {
  const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  Launch launch = {find_program(arguments[0]), arguments};
  launch.input = launch.output = launch.error = nothing.get();
  Samples all;
  unsigned runs = 0;
  do {
    const Samples run = sample_once(launch);
    if (run.status != 0) throw Error(arguments[0] + " failed");
    if (++runs == 1) {
      all = run;
    } else {
      add(all, run);
    }
  } while (all.user < number);
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0) throw Error(path + ": " + system_error(errno));
  write_samples(all, file.get(), path);
  std::printf("%u\n", runs);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: sample NUMBER FILE PROGRAM ARGUMENT...\n", stderr);
    return 2;
  }
  try {
    return sample(std::strtoull(argv[1], nullptr, 10), argv[2], {argv + 3, argv + argc});
  } catch (const Error& e) {
    std::fprintf(stderr, "sample: %s\n", e.what());
    return 1;
  }
}
