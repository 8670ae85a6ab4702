#include <signal.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "linker-rewrite/options/command_line.h"
#include "prof/commands/options/message.h"
#include "prof/commands/showing/choose.h"
#include "prof/model/analysis/analysis.h"
#include "prof/read/clock.h"
#include "prof/read/header.h"
#include "prof/tui/browser.h"
#include "prof/tui/screen.h"
#include "verbs.h"

namespace prof {

namespace {

using prof_options::Given;
using prof_options::set;

void keep_interval(TuiOptions& o, const Given& given) {
  o.interval = prof_options::number_of(given, std::numeric_limits<double>::min(), std::numeric_limits<double>::max(),
                                       "a number greater than 0");
}

void add_folder(TuiOptions& o, const Given& given) { o.debug_files.folders.push_back(given.argument); }

const prof_options::Table<TuiOptions> kOptions = {
    {{'i', "", "SECONDS", "the time between two looks at a running program (default: 1)"}, keep_interval},
    {{'R', "", "", "raw times: do not subtract what the profiling itself cost"}, set<&TuiOptions::raw_times>},
    {{'w', "wide", "", "do not simplify names"}, set<&TuiOptions::wide>},
    {{0, "raw-names", "", "do not demangle names"}, set<&TuiOptions::raw_names>},
    {{0, "debug-dir", "DIR", "look for debug files of stripped programs in DIR, too (repeatable)"}, add_folder},
    prof_options::help_option<TuiOptions>(),
};

constexpr prof_options::HelpLayout kLayout = {19};

// Whether one of the processes that wrote these still runs. A profile may be gone, too.
bool is_live(const std::vector<std::string>& profiles) {
  return std::ranges::any_of(profiles, [](const std::string& profile) {
    try {
      return process_is_running(read_header(profile));
    } catch (const Error&) {
      return false;
    }
  });
}

}  // namespace

std::string tui_help_text() {
  return prof_options::folded(
      "usage: prof tui [-Rw] [-i SECONDS] [--raw-names] [--debug-dir DIR]\n"
      "                [program] [profile ...]\n"
      "\n"
      "Shows a profile on a terminal, to look around in: the table of functions, the tree of calls, callers and "
      "callees, source. The key ? says what each key does, q quits. Without a profile: the newest run in the current "
      "directory. A profile of a running program, or the number of its process, is looked at again every second.\n"
      "\n" +
          prof_options::help_of(kOptions, kLayout) +
          "\n"
          "See prof(1).\n",
      kLayout);
}

TuiOptions parse_tui_options(int argc, char** argv) {
  TuiOptions o;
  o.arguments = prof_options::parse(kOptions, {"prof tui"}, argc, argv, o).rest;
  return o;
}

int run_tui(const TuiOptions& options) {
  if (!tui::Screen::has_terminal()) throw UsageError("prof tui needs a terminal; use prof or prof --html FILE");
  Options chosen_by;
  chosen_by.arguments = options.arguments;
  Choice choice = choose(chosen_by);
  const bool may_run = is_live(choice.profiles);
  // A program that runs may start others, whose profiles are of the same run then. It does not go over to a run that
  // began later.
  const auto choose_again = [&] {
    Choice again = choose(chosen_by);
    if (again.profiles[0] == choice.profiles[0]) choice = std::move(again);
  };
  const auto read = [&] {
    if (may_run) choose_again();
    Analysis analysis = analyse({.program = choice.program,
                                 .profiles = choice.profiles,
                                 .raw_names = options.raw_names,
                                 .raw_times = options.raw_times,
                                 .side_by_side = true,
                                 .debug_files = options.debug_files,
                                 .inlined_rows = !may_run,  // debug information would be read each second
                                 .whole_names = options.wide,
                                 .gmon_libraries = choice.gmon_libraries});
    analysis.remarks.insert(analysis.remarks.begin(), choice.remarks.begin(), choice.remarks.end());
    return analysis;
  };
  const std::optional<bool> is_damaged =
      tui::browse({read, options.debug_files, [&] { return is_live(choice.profiles); },
                   may_run ? std::optional(options.interval) : std::nullopt});
  if (is_damaged) return *is_damaged ? 1 : 0;
  if (const int signal = tui::signal_to_end()) raise(signal);
  return 1;
}

}  // namespace prof
