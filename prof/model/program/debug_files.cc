#include "debug_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include "prof/read/error.h"

namespace prof {

namespace {

// debuginfod's client leaves an empty file for what no server has.
bool is_there(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
         access(path.c_str(), R_OK) == 0;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// Why the file at a place is not the debug file that was looked for; "" if it is.
std::string mismatch(const ElfFile& found, const profld::DebugLink& link, const profld::DebugFilePlace& place) {
  if (!link.build_id.empty() && !found.build_id().empty()) {
    if (found.build_id() == link.build_id) return "";
    return "its build-id is " + build_id_text(found.build_id()) + ", not " + build_id_text(link.build_id);
  }
  if (!place.is_by_name) return "it has no build-id";
  return profld::has_crc(place.path, link.crc) ? "" : "its CRC is not the one that .gnu_debuglink names";
}

}  // namespace

DebugFile find_debug_file(const ElfFile& program, const DebugSearch& search, std::vector<std::string>& remarks) {
  const profld::DebugLink link = program.debug_link();
  std::vector<std::string> beside = {folder_of(program.path())};
  beside.insert(beside.end(), search.beside.begin(), search.beside.end());
  DebugFile result;
  for (const profld::DebugFilePlace& place : profld::places_of_debug_file(link, search.folders, beside)) {
    if (result.expected.empty()) result.expected = place.path;
    // A file may name itself.
    if (!is_there(place.path) || place.path == program.path()) continue;
    try {
      ElfFile found(place.path);
      const std::string wrong = mismatch(found, link, place);
      if (wrong.empty()) {
        result.file.emplace(std::move(found));
        break;
      }
      remarks.push_back(place.path + ": is not the debug file of " + program.path() + ": " + wrong);
    } catch (const Error& e) {
      remarks.emplace_back(e.what());  // names are missing, nothing else
    }
  }
  return result;
}

std::optional<ElfFile> find_dwz_file(const ElfFile& file, const DwzLink& link, const DebugSearch& search) {
  std::vector<std::string> paths;
  for (const profld::DebugFilePlace& place : profld::places_of_debug_file({link.build_id, "", 0}, search.folders, {}))
    paths.push_back(place.path);
  // Seen from the file, unless it begins with a slash.
  if (link.name.starts_with('/')) {
    paths.push_back(link.name);
  } else {
    paths.push_back(folder_of(file.path()) + "/" + link.name);
    for (const std::string& folder : search.beside) paths.push_back((folder.empty() ? "." : folder) + "/" + link.name);
  }
  for (const std::string& path : paths) {
    if (!is_there(path)) continue;
    try {
      ElfFile found(path);
      if (found.build_id() == link.build_id) return found;
    } catch (const Error&) {
      // another place may have it
    }
  }
  return {};
}

std::string part_is_missing(const DwzLink& link) {
  return "a part of its debug information, which dwz moved to " + link.name + ", is not there";
}

std::optional<ElfFile> packed_symbols(const ElfFile& program) {
  const std::string_view packed = program.section(".gnu_debugdata");
  if (packed.empty()) return {};
  std::optional<std::string> bytes = profld::unpack_xz(packed);
  if (!bytes) return {};
  try {
    return ElfFile(program.path() + " (.gnu_debugdata)", std::move(*bytes));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace prof
