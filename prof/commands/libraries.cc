#include "libraries.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cache.h"
#include "dynamic_linker.h"
#include "libprof/format/shadow_root.h"
#include "library_copies.h"
#include "message.h"
#include "prof/read/elf_file.h"
#include "prof/read/file.h"
#include "shadow_root.h"
#include "unhooked_functions.h"

namespace prof {

namespace {

namespace fs = std::filesystem;

// Why libraries of a program cannot have copies; "" if they can.
//
// A dynamic linker that cannot be audited could be led to copies by a DT_RPATH of the program's. It would remember the
// copies' names, and a program that opens a library by its path, one that is loaded, would get the original as well: two C
// libraries in one process. So there the program is profiled without its libraries.
std::string obstacle(const std::string& linker) {
  if (linker.empty()) return "is static: all that it runs is in it, so --libs changes nothing";
  if (can_be_audited(linker)) return "";
  return "its dynamic linker, " + linker +
         ", does not let libraries be exchanged (glibc 2.33 and newer does); they are not profiled";
}

// The program's copy at its own path in the shadow root. "" if profld refused it.
std::string copy_of_program(ShadowRoot& root, const std::string& program, UnhookedFunctions& unhooked,
                            const Options& options, const std::string& profld) {
  const std::string original = fs::canonical(program).string(), copy = root.place_of(original);
  if (options.report.empty() && access(copy.c_str(), X_OK) == 0) return copy;
  mirror_search_path(root, original);
  std::vector<std::string> command = {profld, "--audit", root.audit_library(), unhooked.imports_option(original)};
  command.insert(command.end(), options.rewriting.begin(), options.rewriting.end());
  if (options.libraries_only) command.emplace_back("--no-hooks");
  if (!options.report.empty()) command.insert(command.end(), {"--report", options.report});
  return make_copy(std::move(command), original, copy) ? copy : "";
}

}  // namespace

CopyWithLibraries copy_with_libraries(const std::string& program, const Options& options) {
  std::string linker;
  try {
    linker = ElfFile(program).interpreter();
  } catch (const Error&) {
    return {rewritten_copy(program, options), ""};  // no program: profld says so
  }
  const std::string reason = obstacle(linker);
  if (!reason.empty()) {
    say(program + ": " + reason);
    return {rewritten_copy(program, options), ""};
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

  ShadowRoot root(cache_folder(depends_on) + "/root", audit);
  if (root.path().find(':') != std::string::npos)
    throw Error(root.path() +
                ": the dynamic linker takes the colon for the end of a name; set XDG_CACHE_HOME to a path without");
  std::vector<std::string> libraries = libraries_of(program, linker);
  const std::vector<std::string> seen = root.seen();
  libraries.insert(libraries.end(), seen.begin(), seen.end());
  UnhookedFunctions unhooked(libraries, rewriting.globs);
  const std::string copy = copy_of_program(root, program, unhooked, options, profld);
  if (copy.empty()) return {};
  LibraryCopies copies(root, std::move(rewriting), unhooked);
  copies.use_as_it_is(linker);
  copies.use_as_it_is(runtime);
  copies.make(libraries);
  return {copy, root.path()};
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
