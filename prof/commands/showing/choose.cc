#include "choose.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "linker-rewrite/text/numbers.h"
#include "prof/commands/copies/dynamic_linker.h"
#include "prof/commands/options/message.h"
#include "prof/model/analysis/analysis.h"
#include "prof/read/elf_file.h"
#include "prof/read/file.h"
#include "prof/read/find.h"
#include "prof/read/gmon_file.h"
#include "prof/read/header.h"
#include "prof/read/profile.h"
#include "prof/read/skeleton.h"
#include "prof/sample/samples.h"

namespace prof {

namespace {

constexpr char kNone[] =
    "no profile prof.* in the current directory; make one: prof run ./program; or name one: prof PROFILE";

void add_to(std::vector<std::string>& remarks, const std::vector<std::string>& more) {
  remarks.insert(remarks.end(), more.begin(), more.end());
}

bool is_folder(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// Tells profiles of one program from others.
class IsOfProgram {
 public:
  explicit IsOfProgram(const std::string& path) : path_(path), file_(path) {}

  bool operator()(const std::string& profile) {
    try {
      const Profile p = Profile::read_whole(profile);
      return !p.modules().empty() && is_it(p.modules()[0]);
    } catch (const Error&) {
      return false;  // of another version, or damaged
    }
  }

 private:
  bool is_it(const Module& module) {
    if (file_.is_rewritten() || file_.build_id() == module.build_id) {
      return module.build_id.empty() || file_.build_id().empty() ? is_path(module.path)
                                                                 : file_.build_id() == module.build_id;
    }
    const auto [known, is_new] = originals_.try_emplace(module.path);
    if (is_new) {
      try {
        known->second = file_of(module).original_build_id();
      } catch (const Error&) {
        known->second.clear();  // it is gone
      }
    }
    return known->second.empty() || file_.build_id().empty() ? is_path(module.path) : known->second == file_.build_id();
  }

  // Of files without build-ids the names must do: of the file itself, or of the copy that profld makes of it.
  bool is_path(const std::string& path) const {
    const std::string name = base_name(path), own = base_name(path_);
    return name == own || name == own + ".prof";
  }

  const std::string path_;
  const ElfFile file_;
  std::map<std::string, std::string> originals_;  // original build-ids by the paths of rewritten programs
};

// What the arguments name, told apart.
struct Named {
  std::string program;
  std::vector<std::string> profiles;
  std::string folder;
  std::vector<std::string> remarks;
};

Named tell_apart(const std::vector<std::string>& arguments) {
  Named named;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& path = arguments[i];
    if (is_folder(path)) {
      if (!named.folder.empty() || !named.profiles.empty())
        throw Error(path + ": is a folder; name one folder of profiles, or profiles");
      named.folder = path;
      continue;
    }
    if (is_number(path) && !std::filesystem::exists(path)) {
      FoundProfile found = find_profile(path);
      named.profiles.push_back(found.path);
      add_to(named.remarks, found.remarks);
      continue;
    }
    const FileKind kind = kind_of_file(path);
    if (kind == FileKind::profile) {
      named.profiles.push_back(path);
    } else if (kind == FileKind::elf && i == 0) {
      named.program = path;
    } else if (kind == FileKind::elf) {
      throw Error(path + ": is a program, not a profile; the program comes first: prof PROGRAM PROFILE ...");
    } else if (is_samples_file(path)) {
      throw Error(path +
                  ": is a file of samples, not a profile; name the profile that it lies beside, or prof --true " +
                  path + " and one");
    } else if (i == 0) {
      throw Error(path + ": is neither a program nor a profile; name a program, or what it left as prof.PID");
    } else {
      throw Error(path + ": is not a profile; programs rewritten by profld leave them as prof.<pid>");
    }
  }
  if (!named.folder.empty() && !named.profiles.empty())
    throw Error(named.folder + ": is a folder; name one folder of profiles, or profiles");
  return named;
}

// The newest run here, of the program if one is named. Of another process that had the number of its first one before,
// a remark is made.
std::vector<std::string> newest_run(const std::string& program, std::vector<std::string>& remarks) {
  const Runs runs(".");
  std::vector<std::string> run;
  if (program.empty()) {
    run = runs.newest([](const std::string&) { return true; });
  } else {
    IsOfProgram is_of_program(program);
    run = runs.newest([&](const std::string& path) { return is_of_program(path); });
  }
  if (run.empty()) return run;
  const FoundProfile found = newest_profile(".", read_header(run[0]).pid);
  if (found.path == run[0]) add_to(remarks, found.remarks);
  return run;
}

// The profiles of a process here, or the one that it has open.
std::vector<std::string> of_process(uint32_t pid) {
  std::vector<std::string> found = profiles_in(".", pid);
  if (found.empty()) found.push_back(find_profile(std::to_string(pid)).path);
  return found;
}

// Of the profiles of a process that ran several programs, those that are of the last one.
std::vector<std::string> alike_the_last(std::vector<std::string> paths) {
  const Profile last = Profile::read(paths.back());
  std::erase_if(paths, [&](const std::string& path) { return !are_alike(last, Profile::read(path)); });
  return paths;
}

}  // namespace

std::vector<std::string> alike(std::vector<std::string> run, std::vector<std::string>& remarks) {
  if (run.size() == 1) return run;  // a large program's profile is not read for nothing
  const Profile first = Profile::read(run.at(0));
  std::string other;  // the first of them
  const size_t left_out = std::erase_if(run, [&](const std::string& path) {
    if (path == run[0] || are_alike(first, Profile::read(path))) return false;
    if (other.empty()) other = path;
    return true;
  });
  if (left_out)
    remarks.push_back(prof_text::count_of(left_out, "profile") + " of other programs or PROFTYPEs left out, such as " +
                      other);
  return run;
}

std::string remark_on_others(const std::vector<std::string>& run, const std::string& directory) {
  std::set<uint32_t> processes;
  for (const std::string& path : run) processes.insert(read_header(path).pid);
  if (processes.size() < 2) return "";
  const std::string all = directory == "." ? "prof.*" : directory + "/prof.*";
  return run[0] + ": shown is the first of " + std::to_string(processes.size()) +
         " processes; prof --processes shows each of the program's, prof " + all + " adds them up";
}

Choice choose(const Options& options) {
  if (names_gmon(options.arguments)) return choose_gmon(options);
  Named named = tell_apart(without_samples(options.arguments));
  Choice choice{named.program, std::move(named.profiles), std::move(named.remarks)};
  const bool is_named = !choice.profiles.empty() || !named.folder.empty();
  if (!named.folder.empty()) {
    const std::vector<std::string> all = profiles_in(named.folder);
    if (all.empty())
      throw Error(named.folder + ": there are no profiles prof.* in this folder; name one that has them, or profiles");
    // The first run's first process decides which program is shown.
    choice.profiles = Runs(named.folder).run_of(all.back());
    for (const std::string& path : all)
      if (std::find(choice.profiles.begin(), choice.profiles.end(), path) == choice.profiles.end())
        choice.profiles.push_back(path);
    choice.profiles = alike(std::move(choice.profiles), choice.remarks);
  }
  if (options.process) {
    if (!is_named) choice.profiles = of_process(*options.process);
    std::erase_if(choice.profiles, [&](const std::string& path) { return read_header(path).pid != *options.process; });
    if (choice.profiles.empty())
      throw Error("no profile of process " + std::to_string(*options.process) +
                  " is among those named; leave -p out to see whose they are");
    add_to(choice.remarks, leave_out_earlier_processes(choice.profiles));
    if (!is_named) choice.profiles = alike_the_last(std::move(choice.profiles));
  }
  if (!choice.profiles.empty()) return choice;
  choice.profiles = newest_run(choice.program, choice.remarks);
  if (choice.profiles.empty() && choice.program.empty()) throw Error(kNone);
  if (choice.profiles.empty())
    throw Error(choice.program + ": no profile of it, prof.*, is in the current directory; run its copy, or name one");
  if (options.apart == Apart::processes) {
    choice.profiles = alike(std::move(choice.profiles), choice.remarks);
    return choice;
  }
  if (access(samples_beside(choice.profiles[0]).c_str(), R_OK) == 0) {  // they are of all processes
    choice.profiles = alike(std::move(choice.profiles), choice.remarks);
    return choice;
  }
  const std::string others = remark_on_others(choice.profiles, ".");
  if (!others.empty() && options.view != Options::View::json) choice.remarks.push_back(others);
  choice.profiles.resize(1);
  return choice;
}

namespace {

constexpr char kUsualProgram[] = "a.out";

// "gmon.out.libz.so.1", "gmon.out.libz.so"
bool is_named_by_library(const std::string& path) {
  const std::string name = base_name(path);
  const size_t end = name.rfind(".so"), after = end + 3;
  if (end == std::string::npos || end == 0) return false;
  return name.find_first_not_of(".0123456789", after) == std::string::npos &&
         (after == name.size() || name[after] == '.');
}

struct Library {
  std::string path, name;
};

std::vector<Library> named_libraries(const std::string& program) {
  const std::string linker = ElfFile(program).interpreter();
  std::vector<Library> libraries;
  if (linker.empty()) return libraries;
  for (const std::string& path : libraries_of(program, linker)) {
    const std::string soname = ElfFile(path).soname();
    libraries.push_back({path, soname.empty() ? base_name(path) : soname});
  }
  return libraries;
}

void check(const Options& options, const std::string& path) {
  if (options.apart != Apart::nothing || options.process)
    throw UsageError(path +
                     ": a gmon.out does not say which thread or process it is of; leave out -t, -p and --processes");
  if (!options.samples.empty())
    throw UsageError(path + ": is a gmon.out and has times of its own; --true is for profiles");
  if (options.view == Options::View::suggestion)
    throw UsageError(path + ": is a gmon.out; --suggest is for profiles of rewritten programs");
}

}  // namespace

bool names_gmon(const std::vector<std::string>& arguments) { return std::ranges::any_of(arguments, is_gmon_file); }

Choice choose_gmon(const Options& options) {
  Choice choice;
  for (size_t i = 0; i < options.arguments.size(); ++i) {
    const std::string& path = options.arguments[i];
    if (is_gmon_file(path)) {
      check(options, path);
      choice.profiles.push_back(path);
    } else if (i == 0 && kind_of_file(path) == FileKind::elf) {
      choice.program = path;
    } else {
      throw Error(path + ": is not a gmon.out; write one program, and after it only files gmon.out");
    }
  }
  if (choice.program.empty() && std::filesystem::exists(kUsualProgram)) choice.program = kUsualProgram;
  if (choice.program.empty())
    throw Error(choice.profiles[0] + ": does not say which program it is of; name that first: prof PROGRAM " +
                choice.profiles[0]);
  std::optional<std::vector<Library>> libraries;
  for (const std::string& path : choice.profiles) {
    if (!is_named_by_library(path)) continue;
    if (!libraries) libraries = named_libraries(choice.program);
    const auto library =
        std::ranges::find_if(*libraries, [&](const Library& l) { return path.ends_with("." + l.name); });
    if (library == libraries->end())
      throw Error(path + ": is named after a library, and " + choice.program +
                  " is linked with none of this name; rename it to show it");
    choice.gmon_libraries[path] = library->path;
  }
  return choice;
}

}  // namespace prof
