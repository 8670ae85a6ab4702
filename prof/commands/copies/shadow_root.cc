#include "shadow_root.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>

#include "cache.h"
#include "libprof/format/shadow_root.h"
#include "prof/commands/options/message.h"
#include "prof/read/file.h"

namespace prof {

namespace {

namespace fs = std::filesystem;

void rename_to(const std::string& fresh, const std::string& path) {
  if (rename(fresh.c_str(), path.c_str()) == 0) {
    unlink(fresh.c_str());  // two names of one file: then rename does nothing
    return;
  }
  const int error = errno;
  unlink(fresh.c_str());
  throw Error(path + ": " + system_error(error));
}

void make_link(const std::string& target, const std::string& path) {
  const std::string fresh = fresh_name(path);
  unlink(fresh.c_str());
  if (symlink(target.c_str(), fresh.c_str()) != 0) throw Error(fresh + ": " + system_error(errno));
  rename_to(fresh, path);
}

void copy_file(const std::string& from, const std::string& to) {
  const std::string fresh = fresh_name(to);
  std::error_code error;
  if (!fs::copy_file(from, fresh, fs::copy_options::overwrite_existing, error))
    throw Error(fresh + ": " + error.message());
  rename_to(fresh, to);
}

void link_file(const std::string& from, const std::string& to) {
  const std::string fresh = fresh_name(to);
  unlink(fresh.c_str());
  if (link(from.c_str(), fresh.c_str()) != 0) return copy_file(from, to);
  rename_to(fresh, to);
}

std::string link_target(const std::string& path) {
  std::error_code error;
  return fs::read_symlink(path, error).string();
}

// The names in a path, the last one first.
std::vector<std::string> components(const std::string& path) {
  std::vector<std::string> names;
  for (size_t end = path.size(); end > 0;) {
    const size_t slash = path.rfind('/', end - 1);
    const size_t start = slash == std::string::npos ? 0 : slash + 1;
    const std::string name = path.substr(start, end - start);
    if (!name.empty() && name != ".") names.push_back(name);
    end = start ? start - 1 : 0;
  }
  return names;
}

}  // namespace

ShadowRoot::ShadowRoot(std::string path, const std::string& audit_library) : path_(std::move(path)) {
  make_directories(path_ + "/" + prof_format::kKnownDirectory);
  if (access(this->audit_library().c_str(), R_OK) != 0) copy_file(audit_library, this->audit_library());
}

std::string ShadowRoot::audit_library() const { return path_ + "/" + prof_format::kAuditLibrary; }

ShadowRoot ShadowRoot::of_program() const { return ShadowRoot(path_ + "/" + prof_format::kProgramDirectory); }

std::string ShadowRoot::known(const struct stat& status) const {
  char text[prof_format::kIdentityText];
  prof_format::identity_text({status.st_dev, status.st_ino, uint64_t(status.st_size), uint64_t(status.st_ctim.tv_sec),
                              uint64_t(status.st_ctim.tv_nsec)},
                             text);
  return path_ + "/" + prof_format::kKnownDirectory + "/" + text;
}

bool ShadowRoot::knows(const struct stat& original) const { return access(known(original).c_str(), R_OK) == 0; }

void ShadowRoot::add(const std::string& original, const struct stat& status, const std::string& copy) {
  const std::string place = place_of(original);
  make_directories(place.substr(0, place.rfind('/')));
  link_file(copy, place);
  make_link(".." + original, known(status));
}

void ShadowRoot::add_itself(const std::string& original, const struct stat& status) {
  const std::string place = place_of(original);
  make_directories(place.substr(0, place.rfind('/')));
  make_link(original, place);
  make_link(original, known(status));
}

void ShadowRoot::mirror(const std::string& path) {
  std::error_code error;
  std::string way;                                   // gone so far, in the original; no links in it
  std::vector<std::string> rest = components(path);  // in reverse
  for (unsigned links = 0; !rest.empty();) {
    const std::string name = rest.back();
    rest.pop_back();
    if (name == "..") {
      way.resize(way.empty() ? 0 : way.rfind('/'));
      continue;
    }
    const std::string next = way + "/" + name;
    const std::string target = link_target(next);
    if (target.empty()) {
      if (!rest.empty() || fs::is_directory(next, error)) make_directories(path_ + next);
      way = next;
      continue;
    }
    if (++links > 40) return;  // as the kernel: too many
    const bool absolute = target[0] == '/';
    const std::string there = absolute ? path_ + target : target;
    if (!fs::exists(fs::symlink_status(path_ + next, error)) ||
        (fs::is_symlink(path_ + next, error) && link_target(path_ + next) != there))
      make_link(there, path_ + next);
    const std::vector<std::string> inner = components(target);
    rest.insert(rest.end(), inner.begin(), inner.end());
    if (absolute) way.clear();
  }
}

void ShadowRoot::mirror_folder(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return;
  mirror(path);
  for (const fs::directory_entry& variant : fs::directory_iterator(path + "/glibc-hwcaps", error))
    if (variant.is_directory(error)) mirror(variant.path().string());
}

std::string ShadowRoot::names() const { return path_ + "/" + prof_format::kNamesDirectory; }

void ShadowRoot::enter_names(const std::vector<std::string>& libraries) {
  make_directories(names());
  std::set<std::string> entered;
  for (const std::string& library : libraries) {
    std::error_code error;
    const fs::path file = fs::canonical(library, error);
    if (error || !fs::exists(place_of(file.string()), error) || !entered.insert(base_name(library)).second) continue;
    const std::string link = names() + "/" + base_name(library), target = ".." + file.string();
    if (link_target(link) != target) make_link(target, link);
  }
}

std::vector<std::string> ShadowRoot::seen() {
  const std::string list = path_ + "/" + prof_format::kSeenFile;
  std::vector<std::string> paths;
  std::set<std::string> before;
  size_t lines = 0;
  {
    std::ifstream file(list);
    for (std::string line; std::getline(file, line, '\0'); ++lines) {
      std::error_code error;
      if (line.starts_with('/') && before.insert(line).second && fs::is_regular_file(line, error))
        paths.push_back(line);
    }
  }
  if (lines <= paths.size()) return paths;
  const std::string fresh = fresh_name(list);
  {
    std::ofstream file(fresh);
    for (const std::string& path : paths) file << path << '\0';
    if (!file.flush()) return paths;  // nothing is lost
  }
  rename_to(fresh, list);
  return paths;
}

}  // namespace prof
