#include "library_copies.h"

#include <elf.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <utility>

#include "cache.h"
#include "libprof/printable.h"
#include "prof/commands/options/message.h"
#include "prof/read/elf_file.h"
#include "prof/read/error.h"
#include "prof/read/file.h"

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
  const std::string imports = unhooked_.imports_option(library.file);
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

}  // namespace prof
