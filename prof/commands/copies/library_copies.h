// Copies of the shared libraries that a program runs with, for prof run --libs: they are made, entered into the
// program's shadow root (shadow_root.h), and the program's copy is led to them.

#ifndef PROF_COMMANDS_COPIES_LIBRARY_COPIES_H
#define PROF_COMMANDS_COPIES_LIBRARY_COPIES_H

#include <sys/stat.h>

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "prof/commands/options/options.h"
#include "shadow_root.h"

namespace prof {

// Functions of libraries that have no hooks of their own: so the files that call them get hooks at the calls. These are
// all of libraries that are not rewritten, and of the others those that they choose when they are loaded, by IFUNC
// resolvers (strlen, memcpy, sin): profld leaves them out.
class UnhookedFunctions {
 public:
  // `libraries`: files that are read when something is asked for the first time. `globs`: which of them are rewritten,
  // but for `original`, which is not.
  UnhookedFunctions(std::vector<std::string> libraries, std::vector<std::string> globs, std::string original = "")
      : libraries_(std::move(libraries)), globs_(std::move(globs)), original_(std::move(original)) {}

  // profld's option for a file: which imports it shall profile. Any thread may call it.
  std::string imports_option(const std::string& file);

 private:
  const std::vector<std::string> libraries_, globs_;
  const std::string original_;
  std::once_flag are_read_;
  std::set<std::string> names_;
};

class LibraryCopies {
 public:
  // How they are made. `depends_on`: what tells profld and its runtime from others (contents_of in cache.h).
  struct Rewriting {
    std::string profld;
    std::vector<std::string> options;
    std::vector<std::string> depends_on;
    std::vector<std::string> globs;  // names of those that are wanted; empty: all
    bool hooks = true;               // the copies have them
  };
  LibraryCopies(ShadowRoot& root, Rewriting rewriting, UnhookedFunctions& unhooked)
      : root_(root), rewriting_(std::move(rewriting)), unhooked_(unhooked) {}

  // Enters those of these files into the shadow root that are not there yet: their copies, or, if they are not wanted
  // or profld refuses them, themselves. It is said once why profld refused one, unless there is nothing to rewrite in
  // it.
  void make(const std::vector<std::string>& names);

  // Enters a file itself.
  void use_as_it_is(const std::string& file);

 private:
  struct Library {
    std::string name;  // as the dynamic linker, or the program, named it
    std::string file;  // that path without links
    struct stat status;
  };
  std::vector<Library> missing(const std::vector<std::string>& names) const;
  void make(const Library& library);
  std::string copy_of(const Library& library);  // "" if it is used as it is
  void say_in_turn(const std::string& line);    // fit to be printed

  ShadowRoot& root_;
  const Rewriting rewriting_;
  UnhookedFunctions& unhooked_;
  std::mutex terminal_;
};

// Whether a library is one of those that are wanted: by the file's names, or the one that it has for others
// (DT_SONAME).
bool is_wanted(const std::vector<std::string>& globs, const std::string& name, const std::string& file);

// Makes in a shadow root the folders in which the dynamic linker searches, for a file that lies there, by $ORIGIN: it
// does not ask for a file in a folder that it did not find. `original`: absolute, without links.
void mirror_search_path(ShadowRoot& root, const std::string& original);

// prof run --libs: a program with copies of the shared libraries that it runs with.

struct CopyWithLibraries {
  std::string program;      // path of the program's copy; "" if profld refused it
  std::string shadow_root;  // where it and those of the libraries are; "" if there are none of libraries
  bool is_audited = false;  // the dynamic linker is led there by the audit library, not by a search path
  std::string tunables;     // what GLIBC_TUNABLES has to be; "" if it need not change
};

// The copies of `program` and of those of its libraries that match one of options.libraries (all, if that is empty),
// made unless they are there from an earlier time. Says in one line each why there are none of the libraries, or not of
// one of them. Throws Error for other failures.
//
// Libraries that the program has loaded in earlier runs, while it ran, are among them. Copies are kept by what they
// were made of, so programs share them; each program has a shadow root of its own (shadow_root.h), since it depends on
// the options, too.
CopyWithLibraries copy_with_libraries(const std::string& program, const Options& options);

// After a run: which libraries the program has loaded that are wanted, and had no copies. "" if none.
std::string remark_on_missed_libraries(const CopyWithLibraries& copy, const Options& options);

}  // namespace prof

#endif
