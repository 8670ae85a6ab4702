#include "analysis.h"

#include <cmath>
#include <cstdio>

#include "prof/read/clock.h"
#include "prof/read/message.h"

namespace prof {

namespace {

std::string count_of(uint64_t n, const std::string& thing) {
  return std::to_string(n) + " " + thing + (n == 1 ? "" : "s");
}

uint64_t lost_calls(const Profile& profile) {
  uint64_t lost = profile.header().lost;
  for (const Thread& thread : profile.threads()) lost += thread.lost;
  return lost;
}

// What there is to tell about the quality of all profiles together.
struct Remarks {
  size_t profiles = 0, not_ended = 0, live = 0, unwritten = 0, limited = 0, never_on = 0;
  uint64_t lost = 0, folded = 0, parts = 0;
  double lifetime = 0, recorded = 0;  // seconds, of limited profiles

  void add(const Profile& profile) {
    profiles++;
    live += profile.live();
    const uint32_t flags = profile.header().flags;
    const bool ended = flags & prof_format::kEnded;
    not_ended += !profile.live() && !ended;
    unwritten += (flags & prof_format::kPrivate) && !ended;
    lost += lost_calls(profile);
    folded += profile.header().folded_nodes;
    if (!profile.limit().problem.empty() || !profile.limit().is_limited()) return;
    never_on += profile.limit().is_never_on();
    limited++;
    parts += profile.limit().parts;
    const double hz = time_stamp_rate(profile.header());
    lifetime += double(profile.lifetime()) / (hz > 0 ? hz : 1e9);
    recorded += double(profile.recorded()) / (hz > 0 ? hz : 1e9);
  }

  void say_all(const std::string& first_path) const {
    const std::string all = profiles == 1 ? first_path : count_of(profiles, "profile");
    auto part = [&](size_t n) { return profiles == 1 ? all : std::to_string(n) + " of " + all; };
    if (live) say(part(live) + ": the program is still running; this is its profile up to now");
    if (not_ended) {
      say(part(not_ended) +
          ": the program did not end by exit (killed, crashed, _exit or exec); times go up to its last call");
    }
    if (unwritten) {
      say(part(unwritten) +
          ": its file system has no shared mappings, so calls are written when the program exits, which it has not");
    }
    if (never_on) say(part(never_on) + ": recording was never switched on (PROFSTART=off, see prof ctl)");
    if (limited > never_on) {
      char text[120];
      std::snprintf(text, sizeof text, ": recording was on for %.3f s of %.3f s, in %s", recorded, lifetime,
                    count_of(parts, "part").c_str());
      say(part(limited) + text);
    }
    if (lost) {
      say(all + ": " + count_of(lost, "call") + " found no room and " + (lost == 1 ? "is" : "are") +
          " not shown; free room in the file system, or raise what ulimit -f or -v says");
    }
    if (folded) {
      say(all + ": in " + count_of(folded, "context") +
          " calls were folded onto earlier calls of the same functions; counts are exact");
    }
  }
};

bool are_of_one_program(const Profile& first, const Profile& other) {
  if (first.modules().empty() || other.modules().empty()) return true;
  const Module &a = first.modules()[0], &b = other.modules()[0];
  return a.build_id.empty() || b.build_id.empty() ? a.path == b.path : a.build_id == b.build_id;
}

void check_same_program(const Profile& first, const Profile& other) {
  if (!are_of_one_program(first, other)) {
    const Module &a = first.modules()[0], &b = other.modules()[0];
    throw Error(other.path() + ": is of another program than " + first.path() + ": build-id " +
                hexadecimal(b.build_id) + " of " + b.path + ", not " + hexadecimal(a.build_id) + " of " + a.path);
  }
}

void check_same_type(const Profile& first, const Profile& other) {
  if (first.header().type != other.header().type) {
    throw Error(other.path() + ": cannot be added to " + first.path() +
                ": they were recorded with different PROFTYPEs; name those of one");
  }
}

}  // namespace

namespace {

// Puts one part together: some of the profiles, or one thread of one.
class Part {
 public:
  Part(Analysis& analysis, const Input& input) : a_(analysis), input_(input) {
    a_.complete = true;
    a_.lost = a_.folded = 0;
    a_.limited = false;
    a_.duration = 0;
  }

  void add(const Profile& profile) {
    // Time stamps of different machines tick differently; those of one are estimated a little differently each time.
    const double hz = time_stamp_rate(profile.header());
    const bool scaled = a_.tsc_hz > 0 && hz > 0 && std::abs(hz / a_.tsc_hz - 1) > 0.001;
    Resolver resolver(a_.functions, profile);
    std::vector<std::string> damage = profile.damage();
    uint64_t impossible_times = 0;
    const std::string tree_damage = builder_.add(profile, resolver, scaled ? a_.tsc_hz / hz : 1, impossible_times);
    if (!tree_damage.empty()) damage.push_back(tree_damage);
    if (!damage.empty()) {
      std::string text = profile.path() + ": the profile is damaged: ";
      for (const std::string& d : damage) text += d + "; ";
      say(text + "what could be read is shown");
      a_.damaged = true;
    }
    if (impossible_times) {
      say(profile.path() + ": " + count_of(impossible_times, "time") +
          " cannot be, being longer than the thread ran; shown with ? is the nearest that can");
    }
    if (!profile.limit().problem.empty()) {
      say(profile.path() + ": prof ctl limited what is recorded, but its list " + limit_path(profile.path()) + " " +
          profile.limit().problem + "; all of the run is shown");
      a_.damaged = true;
    }
    a_.limited = a_.limited || profile.limit().is_limited();
    remarks_.add(profile);
    const bool whole =
        (profile.header().flags & prof_format::kEnded) && damage.empty() && profile.limit().problem.empty();
    a_.complete = a_.complete && whole;
    a_.lost += lost_calls(profile);
    a_.folded += profile.header().folded_nodes;
    const prof_format::Header& h = profile.header();
    const double scale = scaled ? a_.tsc_hz / hz : 1;
    const uint64_t probe = a_.estimated ? h.probe_counted : h.probe_inside + h.probe_outside;
    a_.probe = std::max(a_.probe, double(probe) / 256 * scale);
    a_.duration += double(profile.recorded()) * scale;
  }

  // `name` is what remarks are about.
  void finish(const std::string& name) {
    uint64_t overdrawn = 0;
    a_.tree = builder_.finish(!input_.raw_times && a_.timed, overdrawn);
    a_.sums = sum_functions(a_.tree, a_.functions.functions().size());
    if (!input_.remarks) return;
    remarks_.say_all(name);
    if (a_.timed && a_.tsc_hz <= 0)
      say(name + ": the rate of its clock is unknown; a billion cycles are shown as a second");
    if (a_.tree.nodes.size() == 1 && !a_.damaged) say(name + ": no calls were recorded");
    if (overdrawn > a_.tree.nodes[0].total / 20) {
      say(name +
          ": the probe's measured cost exceeds the time that was measured; use -R to see times as they were measured");
    }
  }

 private:
  Analysis& a_;
  const Input& input_;
  TreeBuilder builder_;
  Remarks remarks_;
};

Analysis prepare(const Input& input, const Profile& first) {
  Analysis a{{}, FunctionTable(open_program(first, input.program), input.raw_names), {}, input.program};
  if (a.program.empty()) a.program = first.modules()[0].path;
  a.timed = first.header().type != prof_format::kCount;
  a.estimated = first.header().type == prof_format::kAdaptive;
  a.on_processor = first.header().type == prof_format::kCpu;
  a.tsc_hz = time_stamp_rate(first.header());
  return a;
}

// Adds up the profiles at `paths`, of which the first was read already.
void sum_up(Analysis& a, const Input& input, const Profile& first, const std::vector<std::string>& paths) {
  Part all(a, input);
  all.add(first);
  for (size_t i = 1; i < paths.size(); i++) {
    const Profile profile = Profile::read(paths[i]);
    check_same_program(first, profile);
    check_same_type(first, profile);
    all.add(profile);
  }
  all.finish(first.path());
}

// Takes those of times on a processor out of a list of profiles that has elapsed times beside them, and nothing else;
// of any other list none.
std::vector<std::string> take_processor_runs(std::vector<std::string>& paths) {
  std::vector<std::string> on_processor, elapsed;
  for (const std::string& path : paths) {
    const uint32_t type = read_header(path).type;
    if (type != prof_format::kCpu && type != prof_format::kElapsed) return {};
    (type == prof_format::kCpu ? on_processor : elapsed).push_back(path);
  }
  if (elapsed.empty() || on_processor.empty()) return {};
  paths = std::move(elapsed);
  return on_processor;
}

// Makes the run `b`, which has the functions of `a` and maybe more, the other one of `a`.
void lay_beside(Analysis& a, Analysis b, const Input& input) {
  a.functions = std::move(b.functions);
  a.cpu = ProcessorRun{std::move(b.tree), {}, input.raw_times};
  unite(a.tree, a.cpu->tree);
  const size_t functions = a.functions.functions().size();
  a.sums = sum_functions(a.tree, functions);
  a.cpu->sums = sum_functions(a.cpu->tree, functions);
  a.complete = a.complete && b.complete;
  a.damaged = a.damaged || b.damaged;
  a.limited = a.limited || b.limited;
  a.lost += b.lost;
  a.folded += b.folded;
  const std::string different = different_calls(a.sums, a.cpu->sums, a.functions.functions());
  if (input.remarks && !different.empty()) say(different);
}

}  // namespace

bool are_alike(const Profile& a, const Profile& b) {
  return are_of_one_program(a, b) && a.header().type == b.header().type;
}

Analysis analyse(const Input& input) {
  std::vector<std::string> paths = input.profiles;
  const std::vector<std::string> others = input.side_by_side ? take_processor_runs(paths) : std::vector<std::string>();
  const Profile first = Profile::read(paths.at(0));
  Analysis a = prepare(input, first);
  sum_up(a, input, first, paths);
  if (others.empty()) return a;

  const Profile first_other = Profile::read(others[0]);
  check_same_program(first, first_other);
  Analysis b{{}, std::move(a.functions), {}, a.program};
  b.on_processor = true;
  b.tsc_hz = a.tsc_hz;
  sum_up(b, input, first_other, others);
  lay_beside(a, std::move(b), input);
  return a;
}

bool analyse_apart(const Input& input, Apart apart, const std::function<void(const Analysis&)>& show) {
  const Profile first = Profile::read(input.profiles.at(0));
  Analysis a = prepare(input, first);
  for (const std::string& path : input.profiles) {
    const Profile profile = Profile::read(path);
    check_same_program(first, profile);
    check_same_type(first, profile);
    a.process = profile.header().pid;
    a.parent_process = profile.header().parent_pid;
    a.command = profile.command_line();
    std::vector<Profile> parts = apart == Apart::kThreads ? profile.by_thread() : std::vector<Profile>{profile};
    for (const Profile& p : parts) {
      Part part(a, input);
      part.add(p);
      if (apart == Apart::kThreads) {
        a.thread = p.threads()[0].tid;
        a.thread_name = p.threads()[0].name;
      }
      part.finish(apart == Apart::kThreads ? path + ", thread " + std::to_string(a.thread) : path);
      show(a);
    }
  }
  return !a.damaged;
}

}  // namespace prof
