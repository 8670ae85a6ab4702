#include "program_copy.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cache.h"
#include "dynamic_linker.h"
#include "libprof/format/shadow_root.h"
#include "library_copies.h"
#include "prof/read/elf_file.h"
#include "prof/read/error.h"
#include "prof/read/file.h"
#include "shadow_root.h"

namespace prof {

namespace {

std::string copy_for(const std::string& program, const Options& options, const std::string& profld) {
  std::vector<std::string> depends_on = {contents_of(program), contents_of(profld),
                                         contents_of_names(program, options.rewriting)};
  for (const char* name : {"libprof.so", "libprof-sampler.so"}) {
    const std::string runtime = library_beside(profld, name);
    if (access(runtime.c_str(), R_OK) == 0) depends_on.push_back(contents_of(runtime));
  }
  depends_on.insert(depends_on.end(), options.rewriting.begin(), options.rewriting.end());
  const Origin origin(program, library_beside(profld, prof_format::kAuditLibrary));
  const std::vector<std::string> place = origin.contents();
  depends_on.insert(depends_on.end(), place.begin(), place.end());
  const std::string folder = cache_folder(depends_on);
  use_cache_folder(folder);
  std::string copy;
  std::vector<std::string> command = {profld};
  origin.prepare(folder, copy, command);
  if (options.report.empty() && access(copy.c_str(), X_OK) == 0) return copy;
  command.insert(command.end(), options.rewriting.begin(), options.rewriting.end());
  if (!options.report.empty()) command.insert(command.end(), {"--report", options.report});
  return make_copy(std::move(command), program, copy) == CopyResult::made ? copy : "";
}

}  // namespace

bool has_no_hooks(const Options& options) { return std::ranges::count(options.rewriting, "--no-hooks") != 0; }

Options with_or_without_hooks(Options options) {
  std::vector<std::string>& words = options.rewriting;
  if (has_no_hooks(options))
    std::erase_if(words, [](const std::string& word) { return word == "--blocks" || word == "--no-hooks"; });
  else
    words.insert(words.begin(), {"--blocks", "--no-hooks"});
  return options;
}

std::string runtime_beside(const std::string& profld, const Options& options) {
  return library_beside(profld, has_no_hooks(options) ? "libprof-sampler.so" : "libprof.so");
}

std::string rewritten_copy(const std::string& program, const Options& options) {
  return copy_for(program, options, find_profld());
}

std::string sampling_copy(const std::string& program) {
  const std::string profld = find_profld();
  Options options;
  options.rewriting = {"--no-hooks"};
  const std::string runtime = runtime_beside(profld, options);
  options.rewriting.insert(options.rewriting.end(), {"--libprof", runtime});
  return copy_for(program, options, profld);
}

bool make_copy_of_program(const std::string& original, std::vector<std::string> more, UnhookedFunctions& unhooked,
                          const Options& options, const std::string& copy) {
  // -q: a pattern may be for a library.
  const std::string profld = find_profld();
  std::vector<std::string> command = {profld, "-q"}, without_hooks;
  command.insert(command.end(), more.begin(), more.end());
  without_hooks = command;
  without_hooks.emplace_back("--no-hooks");
  // That of the libraries: there is one runtime in a process.
  if (has_no_hooks(options)) without_hooks.insert(without_hooks.end(), {"--libprof", runtime_beside(profld, options)});
  if (options.libraries_only) return make_copy(std::move(without_hooks), original, copy) == CopyResult::made;

  if (!has_no_hooks(options))
    command.push_back(unhooked.imports_option(original));  // the last one counts: before the user's
  command.insert(command.end(), options.rewriting.begin(), options.rewriting.end());
  if (options.rewriting.empty()) return make_copy(std::move(command), original, copy) == CopyResult::made;
  std::string words;
  const CopyResult result = make_copy(std::move(command), original, copy, &words);
  if (result == CopyResult::nothing_to_rewrite)
    return make_copy(std::move(without_hooks), original, copy) == CopyResult::made;
  std::fputs(words.c_str(), stderr);
  return result == CopyResult::made;
}

// glibc gives the libraries that a program needs, and their thread-local variables, room beside each other in a block
// of each thread, when it has loaded them. But if libraries are to audit it, it makes the block before it loads any.
// What comes later must fit into a reserve, 1664 bytes as it comes, as far as its code reaches its variables by a
// constant distance from the thread pointer (DF_STATIC_TLS). A program whose libraries have more of these than that is
// not started: "cannot allocate memory in static TLS block". rustc is one.
//
// The reserve has a part for that purpose, 512 bytes, which a tunable makes larger. It is set only where it has to be,
// since the program can see it in its environment.

namespace {

constexpr uint64_t kFits = 1024;  // bytes, for which the reserve is large enough
constexpr uint64_t kOptional = 512;
constexpr char kTunable[] = "glibc.rtld.optional_static_tls=";

uint64_t static_tls_of(const std::string& library) {
  try {
    return ElfFile(library).static_tls();
  } catch (const Error&) {
    return 0;  // the dynamic linker will say so
  }
}

}  // namespace

std::string tunables_for(const std::vector<std::string>& libraries, const std::string& present) {
  uint64_t needed = 0;
  for (const std::string& library : libraries) needed += static_tls_of(library);
  if (needed <= kFits) return "";
  needed += kOptional;
  if (const size_t at = present.rfind(kTunable); at != std::string::npos)
    needed += std::strtoull(present.c_str() + at + sizeof kTunable - 1, nullptr, 0);
  return present + (present.empty() ? "" : ":") + kTunable + std::to_string(needed);
}

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
