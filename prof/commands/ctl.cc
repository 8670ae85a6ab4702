// Looks at the profile as every view does, leaves its figures for those that come after (limit.h), and says in the
// profile that it did. The program is not asked, and does not notice.

#include "ctl.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "prof/read/clock.h"
#include "prof/read/figures.h"
#include "prof/read/file.h"
#include "prof/read/message.h"
#include "prof/read/profile.h"
#include "prof/views/output.h"

namespace prof {

namespace {

using Command = ControlOptions::Command;

// What a limit is after the command; `whole` is the profile now, and is changed.
Limit change(Limit limit, Command command, Profile& whole) {
  Figures now(whole);
  if (command == Command::kReset) {
    // What is shown is nothing, or all is subtracted.
    limit.figures = limit.is_on ? now.list() : std::vector<BlockCounters>();
    limit.parts = limit.is_on;
  } else {
    now.subtract(limit.figures);
    limit.figures = now.list();
    limit.is_on = command == Command::kOn;
    limit.parts += limit.is_on;
  }
  limit.changes++;
  return limit;
}

int show_status(const std::string& path) {
  const Profile profile = Profile::read(path);
  const Limit& limit = profile.limit();
  const double hz = time_stamp_rate(profile.header());
  char text[160];
  std::snprintf(text, sizeof text, "%s: %.3f s of %.3f s are recorded, in %llu part%s%s\n", limit.is_on ? "on" : "off",
                double(profile.recorded()) / (hz > 0 ? hz : 1e9), double(profile.lifetime()) / (hz > 0 ? hz : 1e9),
                static_cast<unsigned long long>(limit.parts), limit.parts == 1 ? "" : "s",
                profile.live() ? "" : "; the program has ended");
  Output out(stdout, "standard output");
  out.text(text);
  out.finish();
  if (limit.problem.empty()) return 0;
  say(limit_path(path) + " " + limit.problem + "; all of the run is shown");
  return 1;
}

}  // namespace

ControlOptions parse_control_options(int argc, char** argv) {
  ControlOptions o;
  const std::string word = argc > 1 ? argv[1] : "";
  if (word == "on") {
    o.command = Command::kOn;
  } else if (word == "off") {
    o.command = Command::kOff;
  } else if (word == "reset") {
    o.command = Command::kReset;
  } else if (word != "status") {
    throw UsageError("ctl: say what to do; prof ctl on|off|reset|status PID");
  }
  if (argc != 3) throw UsageError("ctl: name one process or profile; prof ctl " + word + " PID");
  o.subject = argv[2];
  return o;
}

int control(const ControlOptions& options) {
  const std::string path = find_profile(options.subject);
  if (options.command == Command::kStatus) return show_status(path);

  if (kind_of_file(path) != FileKind::kProfile) {
    throw Error(path + ": is not a profile; programs rewritten by profld leave them as prof.<pid>");
  }
  // One change after the other. The list's name follows the profile's, so this must be the profile and not a link.
  const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (file.get() < 0 || flock(file.get(), LOCK_EX) != 0) throw Error(path + ": " + system_error(errno));
  Profile profile = Profile::read_whole(path);
  if (!profile.live()) throw Error(path + ": the program has ended; what it recorded cannot be changed any more");
  if (profile.header().flags & prof_format::kPrivate) {
    throw Error(path + ": its file system has no shared mappings, so nothing is known of the program before it exits");
  }
  const Limit before = read_limit(path, profile.header());
  if (!before.problem.empty() && options.command != Command::kReset) {
    throw Error(path + ": " + limit_path(path) + " " + before.problem + "; prof ctl reset begins anew");
  }
  if (options.command == (before.is_on ? Command::kOn : Command::kOff)) {
    say(path + ": recording is " + (before.is_on ? "on" : "off") + " already");
    return 0;
  }
  const Limit after = change(before, options.command, profile);
  write_limit(after, path, profile.header());
  const uint32_t word = control_word(after.is_on, after.changes);
  if (pwrite(file.get(), &word, sizeof word, offsetof(prof_format::Header, control)) != sizeof word) {
    throw Error(path + ": " + system_error(errno));
  }
  return 0;
}

}  // namespace prof
