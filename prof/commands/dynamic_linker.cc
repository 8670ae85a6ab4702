#include "dynamic_linker.h"

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "command.h"
#include "prof/read/elf_file.h"
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

std::string search_path_from_elsewhere(const std::string& program) {
  std::string path;
  bool depends = false;
  try {
    const std::string folder = std::filesystem::canonical(program).parent_path().string();
    if (folder.find_first_of(":$") != std::string::npos) return "";  // which cannot be said
    for (std::string searched : ElfFile(program).search_path()) {
      for (const std::string token : {"$ORIGIN", "${ORIGIN}"}) {
        const std::string rest = searched.starts_with(token) ? searched.substr(token.size()) : "no";
        if (!rest.empty() && rest[0] != '/') continue;
        searched = folder + rest;
        depends = true;
      }
      path += searched + ":";
    }
  } catch (const std::exception&) {
    return "";  // profld says what is wrong
  }
  if (!path.empty()) path.pop_back();
  return depends ? path : "";
}

// A line is "\tNAME => PATH (0xADDRESS)", "\tPATH (0xADDRESS)" if the program names a path, "\tNAME => not found", or
// "\tlinux-vdso.so.1 (0xADDRESS)".
std::vector<std::string> listed_libraries(const std::string& output) {
  std::vector<std::string> paths;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const size_t address = line.rfind(" (0x");
    if (!line.starts_with('\t') || address == std::string::npos) continue;
    std::string path = line.substr(1, address - 1);
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
