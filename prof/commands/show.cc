#include "show.h"

#include "libprof/printable.h"
#include "message.h"
#include "prof/model/analysis.h"
#include "prof/model/modules.h"
#include "prof/read/find.h"
#include "prof/read/header.h"
#include "prof/read/profile.h"
#include "prof/sample/samples.h"
#include "prof/views/views.h"
#include "suggest.h"

namespace prof {

namespace {

// Who made the calls that are shown next.
std::string heading(const Analysis& part) {
  const std::string text = "process " + std::to_string(part.process);
  using prof_text::printable;
  if (part.thread) return text + ", thread " + std::to_string(part.thread) + " " + printable(part.thread_name) + "\n";
  return text + ", child of " + std::to_string(part.parent_process) + ": " + printable(part.command) + "\n";
}

// The profiles here, of process `pid` if that is given, that can be added to the newest of them. Damage in
// them is reported when they are read again.
std::vector<std::string> profiles_like_newest(std::optional<uint32_t> pid) {
  std::vector<std::string> paths = profiles_in(".", pid);
  if (paths.empty()) return paths;
  if (pid) say_all(leave_out_earlier_processes(paths));
  const Profile newest = Profile::read(paths.back());
  std::erase_if(paths, [&](const std::string& path) { return !are_alike(newest, Profile::read(path)); });
  return paths;
}

void print(const Options& options, const Analysis& analysis, Output& out) {
  switch (options.view) {
    case Options::View::flat:
      print_flat(analysis, out);
      break;
    case Options::View::tree:
      print_tree(analysis, options.tree, out);
      break;
    case Options::View::modules:
      print_modules(analysis, out);
      break;
    case Options::View::json:
      print_json(analysis, out);
      break;
    case Options::View::suggestion:
      print_suggestion(analysis, out);
      break;
    case Options::View::none:
      break;
  }
}

}  // namespace

int show(const Options& options, const std::string& program, const std::vector<std::string>& profiles,
         std::FILE* file) {
  // JSON says by itself what the other views need remarks for.
  const bool is_json = options.view == Options::View::json;
  const bool can_show_two_runs = options.samples.empty() && options.view != Options::View::suggestion &&
                                 options.gmon.empty() && options.gprof_symbols.empty();
  const Input input = {program,  profiles,          options.raw_names, options.raw_times,
                       !is_json, can_show_two_runs, options.modules,   options.samples};
  Output out(file, file == stderr ? "standard error" : "standard output");
  if (options.apart != Apart::nothing) {
    bool is_first = true;
    const bool is_whole = analyse_apart(input, options.apart, [&](const Analysis& part) {
      say_all(part.remarks);
      out.text(is_json ? is_first ? "[" : ",\n" : is_first ? "" : "\n");
      if (!is_json) out.text(heading(part));
      print(options, part, out);
      is_first = false;
    });
    if (is_json) out.text("]\n");
    out.finish();
    return is_whole ? 0 : 1;
  }
  const Analysis analysis = analyse(input);
  say_all(analysis.remarks);
  check_patterns(analysis);
  print(options, analysis, out);
  out.finish();
  if (!options.gmon.empty()) say_all(write_gmon(analysis, options.gmon));
  if (!options.gprof_symbols.empty()) write_gprof_symbols(analysis, options.gprof_symbols);
  return analysis.damaged ? 1 : 0;
}

int show_arguments(const Options& options) {
  std::string program;
  std::vector<std::string> profiles;
  for (size_t i = 0; i < options.arguments.size(); ++i) {
    const std::string& path = options.arguments[i];
    const FileKind kind = kind_of_file(path);
    if (kind == FileKind::profile) {
      profiles.push_back(path);
    } else if (kind == FileKind::elf && i == 0) {
      program = path;
    } else if (kind == FileKind::elf) {
      throw Error(path + ": is a program, not a profile; the program comes first: prof PROGRAM PROFILE ...");
    } else if (is_samples_file(path)) {
      throw Error(path + ": is a file of samples, not a profile; prof --true " + path + " shows it with one");
    } else if (i == 0) {
      throw Error(path + ": is neither a program nor a profile");
    } else {
      throw Error(path + ": is not a profile; programs rewritten by profld leave them as prof.<pid>");
    }
  }
  const bool wants_all = options.apart == Apart::processes || options.process;
  if (profiles.empty() && wants_all) profiles = profiles_like_newest(options.process);
  if (options.process) {
    std::erase_if(profiles, [&](const std::string& path) { return read_header(path).pid != *options.process; });
    if (profiles.empty())
      throw Error("no profile of process " + std::to_string(*options.process) +
                  " in the current directory or among those named");
    say_all(leave_out_earlier_processes(profiles));
  }
  if (profiles.empty()) {
    const auto [path, remarks] = newest_profile(".");
    say_all(remarks);
    profiles.push_back(path);
    if (profiles[0].empty()) {
      throw Error("no profile prof.* in the current directory; run a program that profld rewrote, or name its profile");
    }
  }
  return show(options, program, profiles, stdout);
}

}  // namespace prof
