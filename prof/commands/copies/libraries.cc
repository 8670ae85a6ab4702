#include "libraries.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cache.h"
#include "dynamic_linker.h"
#include "libprof/format/shadow_root.h"
#include "library_copies.h"
#include "pattern_check.h"
#include "prof/commands/options/message.h"
#include "prof/read/elf_file.h"
#include "prof/read/file.h"
#include "program_copy.h"
#include "search_path.h"
#include "shadow_root.h"
#include "static_tls.h"

namespace prof {

namespace {

namespace fs = std::filesystem;

// Why libraries of a program cannot have copies; "" if they can.
std::string obstacle(const std::string& program, const std::string& linker, bool is_audited) {
  if (linker.empty()) return "is static: all that it runs is in it, so --libs changes nothing";
  return is_audited ? "" : obstacle_to_search_path(program, linker);
}

// The program's copy in the shadow root. "" if there can be none, which is said then.
std::string copy_of_program(ShadowRoot& root, const std::string& program, const std::vector<std::string>& libraries,
                            UnhookedFunctions& unhooked, const Options& options, bool is_audited) {
  const std::string original = fs::canonical(program).string();
  ShadowRoot of_program = root.of_program();
  const std::string copy = of_program.place_of(original);
  if (options.report.empty() && access(copy.c_str(), X_OK) == 0) return copy;
  if (!check_patterns(program, libraries, options)) return "";
  std::vector<std::string> more;
  const std::string folder = fs::path(original).parent_path().string();
  if (!is_audited)
    more = {"--search-path", search_path_to(root, original)};
  else
    more = {"--audit", root.audit_library()};
  if (is_audited && !can_be_listed(folder))
    mirror_search_path(of_program, original);
  else if (const std::string path = search_path_from_elsewhere(original, folder); is_audited && !path.empty())
    more.insert(more.end(), {"--search-path", path});
  if (!options.report.empty()) more.insert(more.end(), {"--report", options.report});
  return make_copy_of_program(original, std::move(more), unhooked, options, copy) ? copy : "";
}

}  // namespace

CopyWithLibraries copy_with_libraries(const std::string& program, const Options& options) {
  std::string linker;
  try {
    linker = ElfFile(program).interpreter();
  } catch (const Error&) {
    return {rewritten_copy(program, options), "", false, ""};  // no program: profld says so
  }
  const bool is_audited = !linker.empty() && can_be_audited(linker);
  const std::string reason = obstacle(program, linker, is_audited);
  if (!reason.empty()) {
    say(program + ": " + reason);
    return {rewritten_copy(program, options), "", false, ""};
  }

  const std::string profld = find_profld(), runtime = library_beside(profld, "libprof.so"),
                    audit = library_beside(profld, prof_format::kAuditLibrary);
  LibraryCopies::Rewriting rewriting = {
      profld, options.rewriting, {contents_of(profld), contents_of(runtime)}, *options.libraries};
  std::vector<std::string> depends_on = rewriting.depends_on;
  depends_on.insert(depends_on.end(), {contents_of(program), contents_of(audit)});
  depends_on.insert(depends_on.end(), rewriting.options.begin(), rewriting.options.end());
  depends_on.emplace_back(options.libraries_only ? "--libs-only" : "--libs");
  depends_on.insert(depends_on.end(), rewriting.globs.begin(), rewriting.globs.end());
  std::vector<std::string> libraries = libraries_of(program, linker);
  if (!is_audited) depends_on.insert(depends_on.end(), libraries.begin(), libraries.end());  // a name is one of them
  depends_on.push_back(contents_of_names(program, rewriting.options));
  for (const std::string& library : libraries) depends_on.push_back(contents_of_names(library, rewriting.options));

  const std::string folder = cache_folder(depends_on);
  use_cache_folder(folder);
  ShadowRoot root(folder + "/root", audit);
  check_listable(root.path());
  const std::vector<std::string> seen = root.seen();
  libraries.insert(libraries.end(), seen.begin(), seen.end());
  UnhookedFunctions unhooked(libraries, rewriting.globs, is_audited ? "" : linker);
  const std::string copy = copy_of_program(root, program, libraries, unhooked, options, is_audited);
  if (copy.empty()) return {};
  LibraryCopies copies(root, std::move(rewriting), unhooked);
  copies.use_as_it_is(linker);
  copies.use_as_it_is(runtime);
  copies.make(libraries);
  if (!is_audited && !lead_by_search_path(root, program, copy, linker, libraries))
    return {rewritten_copy(program, options), "", false, ""};
  const char* tunables = std::getenv("GLIBC_TUNABLES");
  return {copy, root.path(), is_audited, is_audited ? tunables_for(libraries, tunables ? tunables : "") : ""};
}

std::string remark_on_missed_libraries(const CopyWithLibraries& copy, const Options& options) {
  if (copy.shadow_root.empty()) return "";
  constexpr size_t kNamed = 5;
  std::vector<std::string> missed;
  ShadowRoot root(copy.shadow_root);
  for (const std::string& path : root.seen()) {
    struct stat status;
    if (stat(path.c_str(), &status) == 0 && !root.knows(status) && is_wanted(*options.libraries, path, path))
      missed.push_back(base_name(path));
  }
  if (missed.empty()) return "";
  std::string text = std::to_string(missed.size()) + (missed.size() == 1 ? " library" : " libraries") +
                     " that it loaded while it ran had no copy, and will have one the next time: ";
  for (size_t i = 0; i < std::min(missed.size(), kNamed); ++i) text += (i ? ", " : "") + missed[i];
  return text + (missed.size() > kNamed ? " ..." : "");
}

}  // namespace prof
