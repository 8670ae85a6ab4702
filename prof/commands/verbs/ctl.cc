// Looks at the profile as every view does, leaves its counters for those that read it later (recording.h), and
// says in the profile that it did. The program takes no part in it.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "linker-rewrite/text/numbers.h"
#include "prof/commands/options/message.h"
#include "prof/read/clock.h"
#include "prof/read/file.h"
#include "prof/read/find.h"
#include "prof/read/header.h"
#include "prof/read/profile.h"
#include "prof/read/recording.h"
#include "prof/views/text/output.h"
#include "verbs.h"

namespace prof {

namespace {

using Command = ControlOptions::Command;

// What is recorded after the command; `calls` are all calls of the program up to now, and are changed.
Recording change(Recording recording, Command command, Calls& calls, const prof_format::Header& header) {
  if (command == Command::reset) {
    // While recording is off, nothing is shown then; while it is on, all up to now is subtracted.
    recording.counters = recording.is_on ? list_counters(calls) : std::vector<BlockCounters>();
    recording.parts = recording.is_on;
  } else {
    subtract_counters(calls, header, recording.counters);
    recording.counters = list_counters(calls);
    recording.is_on = command == Command::on;
    recording.parts += recording.is_on;
  }
  ++recording.changes;
  return recording;
}

int show_status(const std::string& path) {
  const Profile profile = Profile::read(path);
  const Recording& recording = profile.recording();
  const double rate = rate_or_default(time_stamp_rate(profile.header()));
  char text[160];
  std::snprintf(text, sizeof text, "%s: %.3f s of %.3f s are recorded, in %s%s\n", recording.is_on ? "on" : "off",
                double(profile.recorded()) / rate, double(profile.lifetime()) / rate,
                prof_text::count_of(recording.parts, "part").c_str(),
                profile.is_live() ? "" : "; the program has ended");
  Output out(stdout, "standard output");
  out.text(text);
  out.finish();
  if (recording.problem.empty()) return 0;
  say(control_list_path(path) + " " + recording.problem + "; all of the run is shown");
  return 1;
}

const prof_options::Table<ControlOptions> kOptions = {prof_options::help_option<ControlOptions>()};

}  // namespace

std::string control_help_text() {
  return "usage: prof ctl on|off|reset|status PID|PROFILE\n"
         "\n"
         "Tells from when to when the calls of a running program are recorded.\n"
         "\n"
         "  on      record from now on\n"
         "  off     record no more\n"
         "  reset   forget what was recorded\n"
         "  status  say whether recording is on\n"
         "\n"
         "See prof(1).\n";
}

ControlOptions parse_control_options(int argc, char** argv) {
  ControlOptions o;
  const std::vector<std::string> words = prof_options::parse(kOptions, {"prof ctl"}, argc, argv, o).rest;
  if (o.help) return o;
  const std::string word = words.empty() ? "" : words[0];
  if (word == "on") {
    o.command = Command::on;
  } else if (word == "off") {
    o.command = Command::off;
  } else if (word == "reset") {
    o.command = Command::reset;
  } else if (word != "status") {
    throw UsageError("ctl: say what to do; prof ctl on|off|reset|status PID");
  }
  if (words.size() != 2) throw UsageError("ctl: name one process or profile; prof ctl " + word + " PID");
  o.subject = words[1];
  return o;
}

int control(const ControlOptions& options) {
  const auto [path, remarks] = find_profile(options.subject);
  say_all(remarks);
  if (options.command == Command::status) return show_status(path);

  if (kind_of_file(path) != FileKind::profile) {
    throw Error(path + ": is not a profile; programs rewritten by profld leave them as prof.<pid>");
  }
  // The lock makes changes come one after the other. The name of the list is made from that of the profile, so `path`
  // must be the profile and not a link to it.
  const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (file.get() < 0 || flock(file.get(), LOCK_EX) != 0) throw Error(path + ": " + system_error(errno));
  const Profile profile = Profile::read_whole(path);
  if (!profile.is_live()) throw Error(path + ": the program has ended; what it recorded cannot be changed any more");
  if (profile.header().flags & prof_format::kPrivate) {
    throw Error(
        path +
        ": its file system cannot share a file as memory, so nothing is known of the program before it exits; set "
        "PROFDIR to a folder on a disk");
  }
  if (profile.header().type == prof_format::kAddresses) {
    throw Error(path +
                ": the program counts blocks, so all of its run is counted; of one that prof run --type time runs, "
                "recording can be switched");
  }
  const Recording before = read_recording(path, profile.header());
  if (!before.problem.empty() && options.command != Command::reset) {
    throw Error(path + ": " + control_list_path(path) + " " + before.problem + "; prof ctl reset begins anew");
  }
  if (options.command == (before.is_on ? Command::on : Command::off)) {
    say(path + ": recording is " + (before.is_on ? "on" : "off") + " already");
    return 0;
  }
  Calls calls = profile.calls();
  const Recording after = change(before, options.command, calls, profile.header());
  write_control_list(after, path, profile.header());
  const uint32_t word = control_word(after.is_on, after.changes);
  if (pwrite(file.get(), &word, sizeof word, offsetof(prof_format::Header, control)) != sizeof word) {
    throw Error(path + ": " + system_error(errno));
  }
  return 0;
}

}  // namespace prof
