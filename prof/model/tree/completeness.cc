#include "completeness.h"

#include <cstdio>

#include "linker-rewrite/text/numbers.h"
#include "prof/read/clock.h"
#include "prof/read/header.h"

namespace prof {

void Completeness::add(const Profile& profile) {
  ++profiles_;
  live_ += profile.is_live();
  const uint32_t flags = profile.header().flags;
  const bool ended = flags & prof_format::kEnded;
  not_ended_ += !profile.is_live() && !ended;
  unwritten_ += (flags & prof_format::kPrivate) && !ended;
  short_waits_unseen_ += uses_cpu_clock(profile.header()) && (flags & prof_format::kShortWaitsUnseen);
  waits_unseen_ += uses_cpu_clock(profile.header()) && (flags & prof_format::kWaitsUnseen);
  unsampled_ += (flags & prof_format::kNotSampled) != 0;
  given_up_ += (flags & prof_format::kSamplingEnded) != 0;
  without_signal_ += (flags & prof_format::kNoSampling) != 0;
  without_word_ += (flags & prof_format::kGivenUp) != 0;
  lost_ += profile.lost();
  folded_ += profile.folded();
  if (!profile.recording().problem.empty() || !profile.recording().is_limited()) return;
  never_on_ += profile.recording().is_never_on();
  ++limited_;
  parts_ += profile.recording().parts;
  const double rate = rate_or_default(time_stamp_rate(profile.header()));
  lifetime_ += double(profile.lifetime()) / rate;
  recorded_ += double(profile.recorded()) / rate;
}

std::vector<std::string> Completeness::remarks(const std::string& first_path) const {
  std::vector<std::string> found;
  const std::string all = profiles_ == 1 ? first_path : prof_text::count_of(profiles_, "profile");
  auto part = [&](size_t n) { return profiles_ == 1 ? all : std::to_string(n) + " of " + all; };
  if (live_) found.push_back(part(live_) + ": the program is still running; this is its profile up to now");
  if (not_ended_) {
    found.push_back(part(not_ended_) +
                    ": the program did not end by exit (killed, crashed, _exit or exec); times go up to its last call");
  }
  if (unwritten_) {
    found.push_back(part(unwritten_) +
                    ": its file system cannot share a file as memory, so calls are written when the program exits, "
                    "which it has not; set PROFDIR to a folder on a disk");
  }
  if (short_waits_unseen_) {
    found.push_back(part(short_waits_unseen_) +
                    ": nothing told when threads were taken off their processors; waits of less than some 10 "
                    "microseconds count as time on a processor");
  }
  if (waits_unseen_) {
    found.push_back(part(waits_unseen_) +
                    ": the kernel stopped telling how long threads ran (a filter for system calls?); what they waited "
                    "since counts as time on a processor");
  }
  if (never_on_) found.push_back(part(never_on_) + ": recording was never switched on (PROFSTART=off, see prof ctl)");
  if (limited_ > never_on_) {
    char text[120];
    std::snprintf(text, sizeof text, ": recording was on for %.3f s of %.3f s, in %s", recorded_, lifetime_,
                  prof_text::count_of(parts_, "part").c_str());
    found.push_back(part(limited_) + text);
  }
  if (unsampled_)
    found.push_back(part(unsampled_) +
                    ": the kernel refused a timer, or the signal was blocked; the time of some threads is missing");
  if (given_up_)
    found.push_back(
        part(given_up_) +
        ": the program took the signal that samples use, as pthread_cancel does, or forbade what its handler needs, so "
        "the time after that is missing; prof run --type auto does without, where perf events are allowed (sysctl "
        "kernel.perf_event_paranoid=2)");
  if (without_signal_)
    found.push_back(part(without_signal_) +
                    ": no signal was free for samples, so there are no times; samples need a program with shared "
                    "libraries, and glibc 2.34 or musl");
  if (without_word_)
    found.push_back(
        part(without_word_) +
        ": the program has no thread-local storage where its headers ask for it; what it called since it set "
        "its thread pointer (fs) is missing");
  if (lost_) {
    found.push_back(all + ": " + prof_text::count_of(lost_, "call") + " found no room and " +
                    (lost_ == 1 ? "is" : "are") +
                    " not shown; free room in the file system, or raise what ulimit -f or -v says");
  }
  if (folded_) {
    found.push_back(all + ": in " + prof_text::count_of(folded_, "context") +
                    " calls were folded onto earlier calls of the same functions; counts are exact");
  }
  return found;
}

}  // namespace prof
