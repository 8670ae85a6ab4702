#include "library_copies.h"

#include <elf.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cache.h"
#include "command.h"
#include "dynamic_linker.h"
#include "libprof/format/shadow_root.h"
#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"
#include "pattern_check.h"
#include "prof/commands/options/message.h"
#include "prof/read/elf_file.h"
#include "prof/read/error.h"
#include "prof/read/file.h"
#include "program_copy.h"
#include "shadow_root.h"

namespace prof {

namespace {

namespace fs = std::filesystem;

constexpr char kRefused[] = "refused";  // in a library's folder in the cache, when profld has refused it

// The absolute path of what is there, without links in it; "" if nothing is.
std::string real_path(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? "" : real.string();
}

// A line on the terminal that says how far the work is.
class Progress {
 public:
  explicit Progress(size_t all) : all_(isatty(STDERR_FILENO) ? all : 0) { show(); }
  Progress(const Progress&) = delete;
  ~Progress() {
    if (all_) std::fputs("\r\033[K", stderr);
  }
  void step() {
    ++done_;
    show();
  }

 private:
  void show() const {
    if (all_) std::fprintf(stderr, "\rprof: rewriting libraries: %zu of %zu", done_, all_);
  }
  const size_t all_;
  size_t done_ = 0;
};

// Calls `work` with each number below `count`, on all processors.
template <typename Work>
void in_parallel(size_t count, Work work) {
  std::atomic<size_t> next = 0;
  auto some = [&] {
    for (size_t i; (i = next++) < count;) work(i);
  };
  std::vector<std::thread> threads;
  const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  for (size_t i = 1; i < std::min(processors, count); ++i) threads.emplace_back(some);
  some();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

void LibraryCopies::use_as_it_is(const std::string& file) {
  struct stat status;
  const std::string real = real_path(file);
  if (real.empty() || stat(real.c_str(), &status) != 0 || root_.knows(status)) return;
  root_.mirror(fs::absolute(file).string());
  root_.add_itself(real, status);
}

// The large ones first, so that none of them is left over at the end.
std::vector<LibraryCopies::Library> LibraryCopies::missing(const std::vector<std::string>& names) const {
  std::vector<Library> found;
  std::set<std::pair<dev_t, ino_t>> files;
  for (const std::string& name : names) {
    Library library = {fs::absolute(name).string(), real_path(name), {}};
    if (library.file.empty() || stat(library.file.c_str(), &library.status) != 0) continue;
    if (!S_ISREG(library.status.st_mode) || root_.knows(library.status)) continue;
    if (files.emplace(library.status.st_dev, library.status.st_ino).second) found.push_back(std::move(library));
  }
  std::sort(found.begin(), found.end(),
            [](const Library& a, const Library& b) { return a.status.st_size > b.status.st_size; });
  return found;
}

void LibraryCopies::make(const std::vector<std::string>& names) {
  const std::vector<Library> libraries = missing(names);
  Progress progress(libraries.size());
  in_parallel(libraries.size(), [&](size_t i) {
    try {
      make(libraries[i]);
    } catch (const std::exception& e) {  // not Error alone: a thread has nobody who catches the others
      say_in_turn("prof: " + prof_text::printable(e.what()));
    }
    const std::lock_guard lock(terminal_);
    progress.step();
  });
}

void LibraryCopies::make(const Library& library) {
  const std::string copy = is_wanted(rewriting_.globs, library.name, library.file) ? copy_of(library) : "";
  root_.mirror(library.name);
  if (copy.empty()) return root_.add_itself(library.file, library.status);
  mirror_search_path(root_, library.file);
  root_.add(library.file, library.status, copy);
}

std::string LibraryCopies::copy_of(const Library& library) {
  const std::string imports = rewriting_.hooks ? unhooked_.imports_option(library.file) : "--no-imports";
  std::vector<std::string> depends_on = rewriting_.depends_on;
  depends_on.insert(depends_on.end(),
                    {contents_of(library.file), imports, contents_of_names(library.file, rewriting_.options)});
  depends_on.insert(depends_on.end(), rewriting_.options.begin(), rewriting_.options.end());
  const std::string folder = cache_folder(depends_on);
  const std::string copy = folder + "/" + base_name(library.file), refused = folder + "/" + kRefused;
  use_cache_folder(folder);
  if (access(copy.c_str(), R_OK) == 0) return copy;
  if (access(refused.c_str(), F_OK) == 0) return "";

  std::vector<std::string> command = {rewriting_.profld, imports};  // before the options: the last one counts
  command.insert(command.end(), rewriting_.options.begin(), rewriting_.options.end());
  std::string words;
  const CopyResult result = make_copy(std::move(command), library.file, copy, &words);
  if (result == CopyResult::made) return copy;
  make_directories(folder);
  std::ofstream(refused) << words;
  if (result == CopyResult::refused) say_in_turn(words.substr(0, words.find('\n')));
  return "";
}

void LibraryCopies::say_in_turn(const std::string& line) {
  const std::lock_guard lock(terminal_);
  std::fprintf(stderr, "%s%s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", line.c_str());
}

bool is_wanted(const std::vector<std::string>& globs, const std::string& name, const std::string& file) {
  if (globs.empty()) return true;
  std::vector<std::string> names = {base_name(name), base_name(file)};
  try {
    names.push_back(ElfFile(file).soname());
  } catch (const Error&) {
    // profld would say so
  }
  for (const std::string& glob : globs)
    for (const std::string& n : names)
      if (fnmatch(glob.c_str(), n.c_str(), 0) == 0) return true;
  return false;
}

void mirror_search_path(ShadowRoot& root, const std::string& original) {
  const std::string folder = original.substr(0, original.rfind('/'));
  try {
    for (const std::string& searched : ElfFile(original).search_path())
      for (const std::string token : {"$ORIGIN", "${ORIGIN}"})
        if (searched.starts_with(token)) root.mirror_folder(folder + searched.substr(token.size()));
  } catch (const Error&) {
    // profld would say so
  }
}

std::string UnhookedFunctions::imports_option(const std::string& file) {
  std::call_once(are_read_, [&] {
    for (const std::string& library : libraries_) {
      const bool is_rewritten = library != original_ && is_wanted(globs_, library, library);
      try {
        for (const ElfFile elf(library); const Symbol& symbol : elf.symbols())
          if (symbol.type == STT_GNU_IFUNC || !is_rewritten) names_.insert(symbol.name);
      } catch (const Error&) {
        // profld will say so
      }
    }
  });
  std::string list;
  try {
    for (const ElfFile elf(file); const std::string& name : elf.undefined_names())
      if (names_.contains(name)) list += (list.empty() ? "" : ",") + name;
  } catch (const Error&) {
    // as above
  }
  return list.empty() ? "--no-imports" : "--imports=" + list;
}

namespace {

// Copies of libraries where the dynamic linker cannot be audited.
//
// The problem. musl's dynamic linker knows no DT_AUDIT, so nobody can tell it, file by file, what to open in the place
// of what. It has to be led by the names that it searches for.
//
// The way taken. A folder in the shadow root has a link for the name of each library that the program is started with
// (shadow_root.h), and the copy of the program has that folder searched first, by DT_RUNPATH. musl searches for what a
// library needs in the places of that library, and then in those of the program, so the folder is for all of them. A
// library that is loaded is known by the name that was searched, so each is loaded once.
//
// The danger is a second way to a library: its path, or another name of it. Then the program has both original and
// copy, each with variables of its own, and is a wrong one. musl tells files from each other by device and inode, which
// cannot help. Two kinds of such ways are there:
//
// - What the files need, and the environment (LD_LIBRARY_PATH) shows. The dynamic linker itself lists what it would
//   load for the copy. If that has an original and its copy, libraries are not profiled.
// - dlopen while the program runs. Nobody can know its argument, so programs that have it, or one of their libraries,
//   are not led. (glibc's are audited, and have no such limit.)
//
// musl's dynamic linker is the C library, and is never a copy; so there are not two of it, and its functions are
// profiled where they are called, as imports. Elsewhere, in glibc before 2.33, it is a library like others, which many
// others open by name and path; there libraries are not exchanged.

namespace fs = std::filesystem;

bool opens_libraries(const std::string& file) {
  try {
    return ElfFile(file).undefined_names().contains("dlopen");
  } catch (const Error&) {
    return false;  // no file that the linker could load
  }
}

// What a program is loaded with; nothing if it would not start.
std::set<std::string> files_of(const std::string& program, const std::string& linker) {
  std::set<std::string> files;
  const CommandOutput list = output_of({linker, "--list", program});
  if (list.status != 0) return files;
  for (const std::string& library : listed_libraries(list.text)) {
    std::error_code error;
    const fs::path file = fs::canonical(library, error);
    if (!error) files.insert(file.string());
  }
  return files;
}

// Why the libraries of a program with this dynamic linker (a path) cannot be exchanged by a search path; "" if they
// can.
std::string obstacle_to_search_path(const std::string& program, const std::string& linker) {
  if (!is_musl(linker))
    return "its dynamic linker, " + linker +
           ", does not let libraries be exchanged (glibc 2.33 and newer and musl do); they are not profiled";
  std::vector<std::string> files = libraries_of(program, linker);
  files.insert(files.begin(), program);
  for (const std::string& file : files)
    if (file != linker && opens_libraries(file))
      return (file == program ? "calls dlopen" : "its library " + base_name(file) + " calls dlopen") +
             std::string(", by which its dynamic linker, ") + linker +
             ", could load a library a second time; libraries are not profiled";
  return "";
}

// Where the copy of a program has its libraries searched: first in the shadow root, then where it says itself.
std::string search_path_to(const ShadowRoot& root, const std::string& program) {
  const std::string own = search_path_from_elsewhere(program, listable_folder(program, root.path()));
  return root.names() + (own.empty() ? "" : ":" + own);
}

// Enters the names of `libraries`, which have copies in the shadow root, where the program's copy has them searched.
// Says in a line what is lost by this way. False if it would not make a right program; then that has been said.
bool lead_by_search_path(ShadowRoot& root, const std::string& program, const std::string& copy,
                         const std::string& linker, const std::vector<std::string>& libraries) {
  root.enter_names(libraries);
  const std::set<std::string> loaded = files_of(copy, linker);
  if (loaded.empty()) {
    say(program + ": its dynamic linker, " + linker +
        ", does not start it with copies of its libraries; they are not profiled");
    return false;
  }
  std::string found_elsewhere;
  for (const std::string& library : libraries) {
    std::error_code error;
    const std::string original = fs::canonical(library, error).string();
    const std::string there = error ? "" : fs::canonical(root.place_of(original), error).string();
    if (there.empty() || there == original || !loaded.contains(original)) continue;
    if (loaded.contains(there)) {
      say(program + ": its dynamic linker, " + linker + ", would load " + base_name(library) +
          " twice, by two names; libraries are not profiled");
      return false;
    }
    found_elsewhere += (found_elsewhere.empty() ? "" : ", ") + base_name(library);
  }
  if (!found_elsewhere.empty())
    say(program + ": its dynamic linker, " + linker +
        ", finds the originals of libraries first, by LD_LIBRARY_PATH or a library's own search path; not profiled: " +
        found_elsewhere);
  say(program + ": its dynamic linker, " + linker +
      ", is led to copies of libraries by a search path: for the program they have the names of the copies, and the C "
      "library, which is the linker itself, has none");
  return true;
}

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

  const std::string profld = find_profld(), runtime = runtime_beside(profld, options),
                    audit = library_beside(profld, prof_format::kAuditLibrary);
  LibraryCopies::Rewriting rewriting = {profld,
                                        options.rewriting,
                                        {contents_of(profld), contents_of(runtime)},
                                        *options.libraries,
                                        !has_no_hooks(options)};
  std::vector<std::string> libraries = libraries_of(program, linker);
  // A folder in the cache, for copies that are made with these options.
  const auto folder_for = [&](const Options& o) {
    std::vector<std::string> depends_on = {contents_of(profld), contents_of(runtime_beside(profld, o)),
                                           contents_of(program), contents_of(audit)};
    depends_on.insert(depends_on.end(), o.rewriting.begin(), o.rewriting.end());
    depends_on.emplace_back(o.libraries_only ? "--libs-only" : "--libs");
    depends_on.insert(depends_on.end(), o.libraries->begin(), o.libraries->end());
    if (!is_audited) depends_on.insert(depends_on.end(), libraries.begin(), libraries.end());  // a name is one of them
    depends_on.push_back(contents_of_names(program, o.rewriting));
    for (const std::string& library : libraries) depends_on.push_back(contents_of_names(library, o.rewriting));
    return cache_folder(depends_on) + "/root";
  };

  const std::string place = folder_for(options), other_place = folder_for(with_or_without_hooks(options));
  use_cache_folder(place.substr(0, place.rfind('/')));
  ShadowRoot root(place, audit);
  check_listable(root.path());
  for (const std::string& library : root.seen()) libraries.push_back(library);
  // What the program loaded when it ran in the other way, it will load in this one.
  if (access(other_place.c_str(), R_OK) == 0)
    for (const std::string& library : ShadowRoot(other_place).seen()) libraries.push_back(library);
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
  std::string text = prof_text::count_of(missed.size(), "library", "libraries") +
                     " that it loaded while it ran had no copy, and will have one the next time: ";
  for (size_t i = 0; i < std::min(missed.size(), kNamed); ++i) text += (i ? ", " : "") + missed[i];
  return text + (missed.size() > kNamed ? " ..." : "");
}

}  // namespace prof
