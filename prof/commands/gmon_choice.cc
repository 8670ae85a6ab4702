#include "gmon_choice.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "dynamic_linker.h"
#include "message.h"
#include "prof/read/elf_file.h"
#include "prof/read/file.h"
#include "prof/read/gmon_file.h"
#include "prof/read/header.h"

namespace prof {

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
    throw UsageError(path + ": is a gmon.out, which does not tell threads and processes apart: -t, -p, --processes");
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
      throw Error(path + ": is no gmon.out; with one there can only be others, and first the program");
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
      throw Error(path + ": has the name of a library's, and " + choice.program + " is linked with none of that name");
    choice.gmon_libraries[path] = library->path;
  }
  return choice;
}

}  // namespace prof
