#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "libprof/format/shadow_root.h"
#include "prof/commands/copies/cache.h"
#include "prof/commands/copies/dynamic_linker.h"
#include "prof/commands/copies/library_copies.h"
#include "prof/commands/copies/program_copy.h"
#include "prof/commands/copies/shadow_root.h"
#include "prof/commands/launching/launch.h"
#include "prof/commands/options/message.h"
#include "prof/read/elf_file.h"
#include "prof/read/file.h"
#include "verbs.h"

namespace prof {

namespace {

namespace fs = std::filesystem;

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// A folder that gets its name when it is whole, and is removed if that does not come about.
class NewFolder {
 public:
  explicit NewFolder(const std::string& path) : path_(path), fresh_(path + "." + std::to_string(getpid())) {
    if (fs::exists(fs::symlink_status(path_))) throw Error(path_ + ": exists already; name a new folder");
    fs::create_directories(fresh_);
  }
  NewFolder(const NewFolder&) = delete;
  ~NewFolder() {
    std::error_code ignored;
    if (!fresh_.empty()) fs::remove_all(fresh_, ignored);
  }
  const std::string& fresh() const { return fresh_; }
  void finish() {
    fs::rename(fresh_, path_);
    fresh_.clear();
  }

 private:
  const std::string path_;
  std::string fresh_;
};

// Copies a shadow root: links in it become such that do not tell where it lies, links out of it the files themselves.
void copy_tree(const fs::path& root, const fs::path& to) {
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::recursive_directory_iterator(); ++entry) {
    const fs::path inside = entry->path().lexically_relative(root);
    const bool is_left_out = inside == prof_format::kKnownDirectory || inside == prof_format::kProgramDirectory;
    if (is_left_out) entry.disable_recursion_pending();
    if (is_left_out || inside == prof_format::kSeenFile) continue;
    if (entry->is_symlink()) {
      const fs::path target = fs::read_symlink(entry->path());
      const fs::path back = target.lexically_relative(root);
      if (target.is_relative())
        fs::create_symlink(target, to / inside);
      else if (!back.empty() && *back.begin() != "..")
        fs::create_symlink(back.lexically_relative(inside.parent_path()), to / inside);
      else
        fs::copy_file(target, to / inside);
    } else if (entry->is_directory()) {
      fs::create_directory(to / inside);
    } else {
      fs::copy_file(entry->path(), to / inside);
    }
  }
}

std::string quoted(const std::string& text) {
  std::string word = "'";
  for (char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// The dynamic linker takes the program's name, and the library that audits it, as arguments; both lie in the folder.
// `tunables`: as in CopyWithLibraries, with nothing in the environment.
void write_script(const std::string& path, const std::string& linker, const std::string& program,
                  const std::string& tunables) {
  std::ofstream script(path);
  script << "#!/bin/sh\n"
            "# Starts the program that lies here with the libraries that lie here.\n"
            "here=$(dirname -- \"$(readlink -f -- \"$0\")\")\n";
  if (!tunables.empty()) script << "export GLIBC_TUNABLES=\"${GLIBC_TUNABLES:+$GLIBC_TUNABLES:}" << tunables << "\"\n";
  script << "exec \"$here\"" << quoted(linker) << " --audit \"$here\"/" << prof_format::kAuditLibrary << " --argv0 "
         << quoted(base_name(program)) << " \"$here\"" << quoted(program) << " \"$@\"\n";
  if (!script.flush() || chmod(path.c_str(), 0755) != 0) throw Error(path + ": cannot be written");
}

}  // namespace

int pack(const Options& options) {
  if (options.output.empty() || options.arguments.size() != 1)
    throw UsageError("--libs takes one program, and -o with a new folder for it and its libraries");
  // A file, as profld takes it, not a command.
  const std::string& name = options.arguments[0];
  const std::string program = find_program(name.find('/') == std::string::npos ? "./" + name : name),
                    original = fs::canonical(program).string();
  try {
    NewFolder folder(without_slashes(fs::absolute(options.output).string()));
    const CopyWithLibraries copy = copy_with_libraries(program, options);
    if (copy.shadow_root.empty()) return 1;
    if (!copy.is_audited)
      throw Error(program +
                  ": its dynamic linker cannot be led to a folder that lies elsewhere; prof run --libs "
                  "profiles it where it is");
    ShadowRoot root(copy.shadow_root);
    mirror_search_path(root, original);
    copy_tree(copy.shadow_root, folder.fresh());
    const std::string linker = ElfFile(program).interpreter();
    std::vector<std::string> libraries = libraries_of(program, linker);
    const std::vector<std::string> seen = root.seen();
    libraries.insert(libraries.end(), seen.begin(), seen.end());
    // Another copy than the one in the shadow root, which names the library that audits it by where it lies there.
    UnhookedFunctions unhooked(libraries, *options.libraries);
    if (!make_copy_of_program(original, {}, unhooked, options, folder.fresh() + original)) return 1;
    ShadowRoot(folder.fresh()).enter_names(libraries);
    write_script(folder.fresh() + "/run-" + base_name(original), linker, original, tunables_for(libraries, ""));
    folder.finish();
  } catch (const fs::filesystem_error& e) {
    throw Error(e.path1().string() + ": " + e.code().message());
  }
  return 0;
}

}  // namespace prof
