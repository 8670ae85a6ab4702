#include "program_copy.h"

#include <cstdio>

#include "cache.h"

namespace prof {

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
