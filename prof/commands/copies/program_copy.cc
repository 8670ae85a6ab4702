#include "program_copy.h"

#include <unistd.h>

#include <cstdio>

#include "cache.h"
#include "libprof/format/shadow_root.h"
#include "origin.h"

namespace prof {

namespace {

std::string copy_for(const std::string& program, const Options& options, const std::string& profld,
                     const std::string& runtime) {
  std::vector<std::string> depends_on = {contents_of(program), contents_of(profld),
                                         contents_of_names(program, options.rewriting)};
  if (access(runtime.c_str(), R_OK) == 0)
    depends_on.push_back(contents_of(runtime));  // static programs carry it in them
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

std::string rewritten_copy(const std::string& program, const Options& options) {
  const std::string profld = find_profld();
  return copy_for(program, options, profld, library_beside(profld, "libprof.so"));
}

std::string sampling_copy(const std::string& program) {
  const std::string profld = find_profld(), runtime = library_beside(profld, "libprof-sampler.so");
  Options options;
  options.rewriting = {"--no-hooks", "--libprof", runtime};
  return copy_for(program, options, profld, runtime);
}

bool make_copy_of_program(const std::string& original, std::vector<std::string> more, UnhookedFunctions& unhooked,
                          const Options& options, const std::string& copy) {
  // -q: a pattern may be for a library.
  std::vector<std::string> command = {find_profld(), "-q"}, without_hooks;
  command.insert(command.end(), more.begin(), more.end());
  without_hooks = command;
  without_hooks.emplace_back("--no-hooks");
  if (options.libraries_only) return make_copy(std::move(without_hooks), original, copy) == CopyResult::made;

  command.push_back(unhooked.imports_option(original));  // before the user's options: the last one counts
  command.insert(command.end(), options.rewriting.begin(), options.rewriting.end());
  if (options.rewriting.empty()) return make_copy(std::move(command), original, copy) == CopyResult::made;
  std::string words;
  const CopyResult result = make_copy(std::move(command), original, copy, &words);
  if (result == CopyResult::nothing_to_rewrite)
    return make_copy(std::move(without_hooks), original, copy) == CopyResult::made;
  std::fputs(words.c_str(), stderr);
  return result == CopyResult::made;
}

}  // namespace prof
