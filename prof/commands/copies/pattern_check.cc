#include "pattern_check.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "library_copies.h"
#include "linker-rewrite/names/demangle.h"
#include "linker-rewrite/names/pattern.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/commands/options/message.h"
#include "prof/model/program/debug_files.h"
#include "prof/read/elf_file.h"
#include "prof/read/error.h"
#include "prof/read/file.h"

namespace prof {

namespace {

using prof_names::Languages;
using prof_names::Name;
using prof_names::Nearest;
using prof_names::Pattern;

struct PatternState {
  std::string option;  // -F or -N
  Pattern pattern;
  bool is_matched = false;
  Nearest nearest = Nearest(pattern);
};

std::vector<PatternState> patterns_in(const std::vector<std::string>& rewriting) {
  std::vector<PatternState> patterns;
  for (size_t i = 0; i + 1 < rewriting.size(); ++i)
    if (rewriting[i] == "-F" || rewriting[i] == "-N") {
      patterns.push_back({rewriting[i], Pattern(rewriting[i + 1])});
      ++i;
    }
  return patterns;
}

// A name, and whether it is of a function that the file has itself, not of one that it calls. Returns whether to go on.
using SeeName = std::function<bool(const Name&, bool)>;

// Functions that resolvers choose are profiled where they are called; they are no functions of the file.
bool is_own(const Symbol& symbol) { return symbol.type == STT_FUNC; }

// profld calls functions without symbols by their addresses.
bool see_addresses(const ElfFile& file, const SeeName& see) {
  for (const uint64_t address : file.unwind_starts()) {
    if (!see(Name("#" + prof_text::hexadecimal_digits(address)), true)) return false;
  }
  return true;
}

// Where the symbols are that were taken out of a file.
std::optional<ElfFile> debug_file_of(const ElfFile& file, const DebugSearch& search) {
  if (file.has_symtab()) return {};
  std::vector<std::string> ignored;  // remarks: prof says them when it shows the profile
  DebugFile found = find_debug_file(file, search, ignored);
  return found.file ? std::move(found.file) : packed_symbols(file);
}

bool see_names(const std::string& path, const DebugSearch& search, const SeeName& see) {
  const ElfFile file(path);
  const std::optional<ElfFile> debug = debug_file_of(file, search);
  std::vector<const ElfFile*> files = {&file};
  if (debug) files.push_back(&*debug);

  Languages languages;
  for (const ElfFile* f : files)
    for (const Symbol& symbol : f->symbols()) languages.note(symbol.name);
  for (const std::string& name : file.undefined_names()) languages.note(name);
  for (const ElfFile* f : files)
    for (const Symbol& symbol : f->symbols())
      if (!see(Name(symbol.name, languages), is_own(symbol))) return false;
  for (const std::string& name : file.undefined_names())
    if (!see(Name(name, languages), false)) return false;
  return file.has_symtab() || see_addresses(file, see);
}

// Until one is not to be gone on with.
void see_names(const std::vector<std::string>& files, const DebugSearch& search, const SeeName& see) {
  for (const std::string& file : files) {
    try {
      if (!see_names(file, search, see)) return;
    } catch (const Error&) {
      // profld says what is wrong with it
    }
  }
}

// What is to be profiled: not the dynamic linker, which stays as it is.
std::vector<std::string> files_to_profile(const std::string& program, const std::vector<std::string>& libraries,
                                          const Options& options) {
  std::vector<std::string> files;
  if (!options.libraries_only) files.push_back(program);
  const std::string linker = ElfFile(program).interpreter();
  std::error_code error;
  for (const std::string& file : libraries)
    if (is_wanted(*options.libraries, file, file) && !std::filesystem::equivalent(file, linker, error))
      files.push_back(file);
  return files;
}

bool are_all_known(const std::vector<std::string>& globs, const std::vector<std::string>& libraries) {
  return std::ranges::all_of(globs, [&](const std::string& glob) {
    return std::ranges::any_of(libraries, [&](const std::string& file) { return is_wanted({glob}, file, file); });
  });
}

// "-F srot: matches no function; did you mean sort?"
std::vector<std::string> lines_of(const std::vector<PatternState>& patterns) {
  std::vector<std::string> lines;
  for (const PatternState& p : patterns) {
    if (p.is_matched) continue;
    const std::string question = p.nearest.question();
    lines.push_back(p.option + " " + p.pattern.glob() + ": matches no function" +
                    (question.empty() ? "" : "; " + question));
  }
  return lines;
}

}  // namespace

bool check_patterns(const std::string& program, const std::vector<std::string>& libraries, const Options& options) {
  std::vector<PatternState> patterns = patterns_in(options.rewriting);
  if (patterns.empty()) return true;
  const std::vector<std::string> files = files_to_profile(program, libraries, options);

  // Which match is told first, since that mostly ends soon: what is near to those that do not takes all names.
  bool is_any_chosen = std::ranges::none_of(patterns, [](const PatternState& p) { return p.option == "-F"; });
  see_names(files, options.debug_files, [&](const Name& name, bool is_own) {
    bool is_done = true;
    for (PatternState& p : patterns) {
      if ((!p.is_matched || (is_own && !is_any_chosen && p.option == "-F")) && p.pattern.matches(name)) {
        p.is_matched = true;
        is_any_chosen = is_any_chosen || (is_own && p.option == "-F");
      }
      is_done = is_done && p.is_matched;
    }
    return !is_done || !is_any_chosen;
  });
  if (std::ranges::any_of(patterns, [](const PatternState& p) { return !p.is_matched; }))
    see_names(files, options.debug_files, [&](const Name& name, bool) {
      for (PatternState& p : patterns)
        if (!p.is_matched) p.nearest.add(name);
      return true;
    });

  const std::vector<std::string> lines = lines_of(patterns);
  if (is_any_chosen || !are_all_known(*options.libraries, libraries)) {
    for (const std::string& line : lines) say(program + ": " + line);
    return true;
  }
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
  if (text.empty()) text = "what it matches is profiled where one that it matches calls it";
  say(program + ": -F chooses no function of " + (options.libraries_only ? "its libraries" : "it or its libraries") +
      " (" + text + ")");
  return false;
}

std::string remark_on_unprofiled_libraries(const std::string& program, const std::vector<std::string>& libraries,
                                           const Options& options) {
  std::vector<PatternState> patterns = patterns_in(options.rewriting);
  std::erase_if(patterns, [](const PatternState& p) { return p.option != "-F"; });
  if (patterns.empty()) return "";
  for (const std::string& library : libraries) {
    const PatternState* found = nullptr;
    see_names({library}, options.debug_files, [&](const Name& name, bool is_own) {
      for (const PatternState& p : patterns)
        if (is_own && p.pattern.matches(name)) found = &p;
      return !found;
    });
    if (found)
      return program + ": -F " + found->pattern.glob() + " matches a function of " + base_name(library) +
             "; --libs profiles libraries, too";
  }
  return "";
}

}  // namespace prof
