#include "origin.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "cache.h"
#include "dynamic_linker.h"
#include "library_copies.h"
#include "prof/read/elf_file.h"
#include "prof/read/error.h"
#include "prof/read/file.h"
#include "shadow_root.h"

namespace prof {

namespace {

namespace fs = std::filesystem;

std::string linker_of(const std::string& program) {
  try {
    return ElfFile(program).interpreter();
  } catch (const Error&) {
    return "";  // profld says what is wrong
  }
}

}  // namespace

Origin::Origin(const std::string& program, std::string audit_library) : audit_library_(std::move(audit_library)) {
  std::error_code error;
  const fs::path path = fs::canonical(program, error);
  program_ = error ? program : path.string();
  folder_ = fs::path(program_).parent_path().string();
  const std::string linker = linker_of(program_);
  depends_ = !linker.empty() && depends_on_place(program_);
  is_audited_ = depends_ && !can_be_listed(folder_) && can_be_audited(linker);
}

std::vector<std::string> Origin::contents() const {
  if (!depends_) return {""};
  if (is_audited_) return {program_, contents_of(audit_library_)};
  return {folder_};
}

void Origin::prepare(const std::string& folder, std::string& copy, std::vector<std::string>& options) const {
  copy = folder + "/" + base_name(program_);
  if (!depends_) return;
  if (!is_audited_) {
    options.insert(options.end(),
                   {"--search-path", search_path_from_elsewhere(program_, listable_folder(program_, folder))});
    return;
  }
  check_listable(folder);
  ShadowRoot root(folder + "/root", audit_library_);
  root.seen();  // which makes the list short that each run adds its libraries to; none of them has a copy
  ShadowRoot of_program = root.of_program();
  mirror_search_path(of_program, program_);
  copy = of_program.place_of(program_);
  options.insert(options.end(), {"--audit", root.audit_library()});
}

std::string listable_folder(const std::string& program, const std::string& folder_for_link) {
  const std::string folder = fs::path(program).parent_path().string();
  if (can_be_listed(folder)) return folder;
  check_listable(folder_for_link);
  const std::string link = folder_for_link + "/origin";
  if (symlink(folder.c_str(), link.c_str()) != 0 && errno != EEXIST) throw Error(link + ": " + system_error(errno));
  return link;
}

}  // namespace prof
