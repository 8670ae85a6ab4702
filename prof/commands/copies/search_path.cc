// The problem. musl's dynamic linker knows no DT_AUDIT, so nobody can tell it, file by file, what to open in the place of
// what. It has to be led by the names that it searches for.
//
// The way taken. A folder in the shadow root has a link for the name of each library that the program is started with
// (shadow_root.h), and the copy of the program has that folder searched first, by DT_RUNPATH. musl searches for what a
// library needs in the places of that library, and then in those of the program, so the folder is for all of them. A
// library that is loaded is known by the name that was searched, so each is loaded once.
//
// The danger is a second way to a library: its path, or another name of it. Then the program has both original and copy,
// each with variables of its own, and is a wrong one. musl tells files from each other by device and inode, which cannot
// help. Two kinds of such ways are there:
//
// - What the files need, and the environment (LD_LIBRARY_PATH) shows. The dynamic linker itself lists what it would load
//   for the copy. If that has an original and its copy, libraries are not profiled.
// - dlopen while the program runs. Nobody can know its argument, so programs that have it, or one of their libraries, are
//   not led. (glibc's are audited, and have no such limit.)
//
// musl's dynamic linker is the C library, and is never a copy; so there are not two of it, and its functions are profiled
// where they are called, as imports. Elsewhere, in glibc before 2.33, it is a library like others, which many others
// open by name and path; there libraries are not exchanged.

#include "search_path.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "command.h"
#include "dynamic_linker.h"
#include "origin.h"
#include "prof/commands/options/message.h"
#include "prof/read/elf_file.h"
#include "prof/read/file.h"

namespace prof {

namespace {

namespace fs = std::filesystem;

bool opens_libraries(const std::string& file) {
  try {
    return ElfFile(file).undefined_names().contains("dlopen");
  } catch (const Error&) {
    return false;  // no file that the linker could load
  }
}

// What a program is loaded with; nothing if it would not start.
std::set<std::string> files_of(const std::string& program, const std::string& linker) {
  std::set<std::string> files;
  const CommandOutput list = output_of({linker, "--list", program});
  if (list.status != 0) return files;
  for (const std::string& library : listed_libraries(list.text)) {
    std::error_code error;
    const fs::path file = fs::canonical(library, error);
    if (!error) files.insert(file.string());
  }
  return files;
}

}  // namespace

std::string obstacle_to_search_path(const std::string& program, const std::string& linker) {
  if (!is_musl(linker))
    return "its dynamic linker, " + linker +
           ", does not let libraries be exchanged (glibc 2.33 and newer and musl do); they are not profiled";
  std::vector<std::string> files = libraries_of(program, linker);
  files.insert(files.begin(), program);
  for (const std::string& file : files)
    if (file != linker && opens_libraries(file))
      return (file == program ? "calls dlopen" : "its library " + base_name(file) + " calls dlopen") +
             std::string(", by which its dynamic linker, ") + linker +
             ", could load a library a second time; libraries are not profiled";
  return "";
}

std::string search_path_to(const ShadowRoot& root, const std::string& program) {
  const std::string own = search_path_from_elsewhere(program, listable_folder(program, root.path()));
  return root.names() + (own.empty() ? "" : ":" + own);
}

bool lead_by_search_path(ShadowRoot& root, const std::string& program, const std::string& copy,
                         const std::string& linker, const std::vector<std::string>& libraries) {
  root.enter_names(libraries);
  const std::set<std::string> loaded = files_of(copy, linker);
  if (loaded.empty()) {
    say(program + ": its dynamic linker, " + linker +
        ", does not start it with copies of its libraries; they are not profiled");
    return false;
  }
  std::string found_elsewhere;
  for (const std::string& library : libraries) {
    std::error_code error;
    const std::string original = fs::canonical(library, error).string();
    const std::string there = error ? "" : fs::canonical(root.place_of(original), error).string();
    if (there.empty() || there == original || !loaded.contains(original)) continue;
    if (loaded.contains(there)) {
      say(program + ": its dynamic linker, " + linker + ", would load " + base_name(library) +
          " twice, by two names; libraries are not profiled");
      return false;
    }
    found_elsewhere += (found_elsewhere.empty() ? "" : ", ") + base_name(library);
  }
  if (!found_elsewhere.empty())
    say(program + ": its dynamic linker, " + linker +
        ", looks into LD_LIBRARY_PATH or the places of libraries first; " + "not profiled: " + found_elsewhere);
  say(program + ": its dynamic linker, " + linker +
      ", is led to copies of libraries by a search path: for the program they have the names of the copies, and the C "
      "library, which is the linker itself, has none");
  return true;
}

}  // namespace prof
