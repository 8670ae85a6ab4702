// A shadow root, as it is made: see libprof/format/shadow_root.h for what is in it.

#ifndef PROF_COMMANDS_COPIES_SHADOW_ROOT_H
#define PROF_COMMANDS_COPIES_SHADOW_ROOT_H

#include <sys/stat.h>

#include <string>
#include <vector>

namespace prof {

// Everything appears in it by a rename, so that programs may run in it meanwhile, and several prof run work at it.
// Functions throw Error if something cannot be written.
class ShadowRoot {
 public:
  // One that is there.
  explicit ShadowRoot(std::string path) : path_(std::move(path)) {}
  // Makes the folder at `path`, unless it is there, with the audit library at `audit_library` in it.
  ShadowRoot(std::string path, const std::string& audit_library);

  const std::string& path() const { return path_; }
  std::string audit_library() const;
  // Where the copy of a file belongs. `original` is an absolute path without links in it.
  std::string place_of(const std::string& original) const { return path_ + original; }
  // The root in it that has the program.
  ShadowRoot of_program() const;

  // Whether the file that has this status is among the known.
  bool knows(const struct stat& original) const;
  // Enters a copy: a link to the file at `copy`, or if that is not possible its bytes.
  void add(const std::string& original, const struct stat& status, const std::string& copy);
  // Enters a file that is used as it is. A debugger that takes this for the root of all files finds it, too.
  void add_itself(const std::string& original, const struct stat& status);

  // Makes what leads to `path` (absolute) in the original: folders and links. If it is a link to a file in here, that
  // is found by the same path.
  void mirror(const std::string& path);
  // The same with a folder, and those in it in which dynamic linkers look for variants of libraries.
  void mirror_folder(const std::string& path);

  // Makes links for the names of these libraries (paths) that are in here: without their folders, as they are searched.
  void enter_names(const std::vector<std::string>& libraries);
  // The folder that has these.
  std::string names() const;

  // Files that programs have loaded from elsewhere, and that are still there; each once.
  std::vector<std::string> seen();

 private:
  std::string known(const struct stat& status) const;

  std::string path_;
};

}  // namespace prof

#endif
