#include "dynamic_linker.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <sstream>

#include "command.h"
#include "prof/read/elf_file.h"
#include "prof/read/error.h"
#include "prof/read/file.h"

namespace prof {

// "ld.so (Debian GLIBC 2.36-9) stable release version 2.36."; older ones take the option for the name of a program.
bool can_be_audited(const std::string& linker) {
  const CommandOutput output = output_of({linker, "--version"});
  const size_t words = output.text.find(" release version ");
  unsigned major = 0, minor = 0;
  if (output.status != 0 || !output.text.starts_with("ld.so ") || words == std::string::npos) return false;
  if (std::sscanf(output.text.c_str() + words, " release version %u.%u", &major, &minor) != 2) return false;
  return major > 2 || (major == 2 && minor >= 33);
}

// Without arguments it says on standard error what it is, and how it is used.
bool is_musl(const std::string& linker) { return output_of({linker}).text.starts_with("musl libc"); }

bool can_be_listed(const std::string& path) { return path.find_first_of(":$") == std::string::npos; }

void check_listable(const std::string& folder) {
  if (!can_be_listed(folder) || folder.find('\n') != std::string::npos)
    throw Error(
        folder +
        ": the dynamic linker cannot be told a path with : or $ or a newline; set XDG_CACHE_HOME to one without");
}

namespace {

// What stands after $ORIGIN in a name of a folder that begins with it; else none.
std::optional<std::string> after_origin(const std::string& searched) {
  for (const std::string token : {"$ORIGIN", "${ORIGIN}"}) {
    if (!searched.starts_with(token)) continue;
    const std::string rest = searched.substr(token.size());
    if (rest.empty() || rest[0] == '/') return rest;
  }
  return {};
}

std::vector<std::string> search_path_of(const std::string& program) {
  try {
    return ElfFile(program).search_path();
  } catch (const Error&) {
    return {};  // profld says what is wrong
  }
}

}  // namespace

bool depends_on_place(const std::string& program) {
  return std::ranges::any_of(search_path_of(program), [](const std::string& s) { return after_origin(s).has_value(); });
}

std::string search_path_from_elsewhere(const std::string& program, const std::string& folder) {
  std::string path;
  bool depends = false;
  for (const std::string& searched : search_path_of(program)) {
    const std::optional<std::string> rest = after_origin(searched);
    depends = depends || rest;
    path += (rest ? folder + *rest : searched) + ":";
  }
  if (!path.empty()) path.pop_back();
  return depends ? path : "";
}

// A file is "\tNAME => PATH (0xADDRESS)", "\tPATH (0xADDRESS)" if the program names a path, "\tNAME => not found", or
// "\tlinux-vdso.so.1 (0xADDRESS)". Mostly that is a line, but a path may have newlines in it.
std::vector<std::string> listed_libraries(const std::string& output) {
  std::vector<std::string> paths;
  std::istringstream lines(output);
  std::string file;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('\t') || file.empty())
      file = line;
    else
      file += "\n" + line;
    const size_t address = file.rfind(" (0x");
    if (!file.starts_with('\t') || address == std::string::npos || !file.ends_with(')')) continue;
    std::string path = file.substr(1, address - 1);
    file.clear();
    const size_t arrow = path.find(" => ");
    if (arrow != std::string::npos) path.erase(0, arrow + 4);
    if (path.find('/') != std::string::npos) paths.push_back(path);
  }
  return paths;
}

std::vector<std::string> libraries_of(const std::string& program, const std::string& linker) {
  return listed_libraries(output_of({linker, "--list", std::filesystem::absolute(program).string()}).text);
}

}  // namespace prof
