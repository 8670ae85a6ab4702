#include "cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "command.h"
#include "linker-rewrite/options/runtime_file.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/commands/options/message.h"
#include "prof/model/program/debug_files.h"
#include "prof/read/elf_file.h"
#include "prof/read/file.h"

namespace prof {

namespace {

constexpr int kNothingToRewrite = 3;  // profld's exit status

// Programs are told apart by their build-ids, which are better hashes; this one only turns them and the rest into a
// name.
class Key {
 public:
  Key() : hash_(XXH3_createState(), XXH3_freeState) { XXH3_64bits_reset(hash_.get()); }
  void add(const char* bytes, size_t size) { XXH3_64bits_update(hash_.get(), bytes, size); }
  void add(const std::string& text) {
    add(uint64_t(text.size()));
    add(text.data(), text.size());
  }
  void add(uint64_t number) { add(reinterpret_cast<const char*>(&number), sizeof number); }
  std::string text() const {
    XXH64_canonical_t digest;
    XXH64_canonicalFromHash(&digest, XXH3_64bits_digest(hash_.get()));
    return prof_text::hexadecimal_of({reinterpret_cast<const char*>(digest.digest), sizeof digest.digest});
  }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> hash_;
};

void add_bytes(Key& key, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (!file) throw Error(path + ": " + system_error(errno));
  std::vector<char> buffer(1 << 16);
  for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), file)) > 0;) key.add(buffer.data(), n);
  std::fclose(file);
}

// Adds the size, and the build-id or all bytes, of a file. Throws Error.
struct stat add_identity(Key& key, const std::string& file) {
  struct stat status;
  if (stat(file.c_str(), &status) != 0) throw Error(file + ": " + system_error(errno));
  key.add(uint64_t(status.st_size));
  const std::string build_id = build_id_of(file);  // none if it is no ELF file; profld will say so
  key.add(build_id);
  if (build_id.empty()) add_bytes(key, file);
  return status;
}

std::string own_directory() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0) return "";
  const std::string text(path, size_t(n));
  return text.substr(0, text.rfind('/'));
}

}  // namespace

std::string find_profld() { return find_beside_prof("profld"); }

std::string find_beside_prof(const std::string& name) {
  const std::string beside = own_directory() + "/" + name;
  if (access(beside.c_str(), X_OK) == 0) return beside;
  const char* path = std::getenv("PATH");
  for (std::string rest = path ? path : ""; !rest.empty();) {
    const size_t colon = rest.find(':');
    const std::string candidate = rest.substr(0, colon) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  throw Error(name + " is neither beside prof nor in PATH; install it");
}

namespace {

std::string usual_cache_directory() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && cache[0] == '/') return std::string(cache) + "/prof";  // relative ones are to be ignored
  const char* home = std::getenv("HOME");
  if (!home || home[0] == '\0') throw Error("no place for rewritten programs; set HOME or XDG_CACHE_HOME");
  return std::string(home) + "/.cache/prof";
}

// Whether no program can be run from the file system that a folder is on, or will be on once it is made.
bool is_without_programs(std::filesystem::path folder) {
  struct statvfs status;
  while (statvfs(folder.c_str(), &status) != 0) {
    if (errno != ENOENT || !folder.has_relative_path()) return false;
    folder = folder.parent_path();
  }
  return status.f_flag & ST_NOEXEC;
}

// A folder where others may make folders, too; so it must be this user's, and nobody else may write there.
std::string temporary_cache_directory() {
  const char* temporary = std::getenv("TMPDIR");
  for (const std::string folder : {temporary ? temporary : "", "/var/tmp", "/tmp"}) {
    if (!folder.starts_with('/') || is_without_programs(folder)) continue;
    const std::string cache = folder + "/prof-" + std::to_string(geteuid());
    struct stat status;
    if (mkdir(cache.c_str(), 0700) != 0 && errno != EEXIST) continue;
    if (lstat(cache.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) continue;
    if (status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return cache;
  }
  return "";
}

std::string chosen_cache_directory() {
  const std::string usual = usual_cache_directory();
  if (!is_without_programs(usual)) return usual;
  const std::string problem = usual + ": no program can be run from its file system (noexec); ",
                    other = temporary_cache_directory();
  if (other.empty()) throw Error(problem + "set XDG_CACHE_HOME to a folder from which programs can be run");
  say(problem + "rewritten programs are kept in " + other);
  return other;
}

}  // namespace

std::string cache_directory() {
  static const std::string chosen = chosen_cache_directory();
  return chosen;
}

namespace {

std::atomic<bool> has_grown = false;

// What to do if a folder cannot be made.
std::string advice(const std::string& folder) {
  try {
    if (folder.starts_with(cache_directory()))
      return "; rewritten programs are kept there; set XDG_CACHE_HOME to a folder that can be written";
  } catch (const Error&) {
    // then it is no folder of the cache
  }
  return "";
}

}  // namespace

bool has_cache_grown() { return has_grown; }

void make_directories(const std::string& path) {
  for (size_t slash = 0; slash != std::string::npos;) {
    slash = path.find('/', slash + 1);
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      const std::string reason = system_error(errno);
      throw Error(part + ": " + reason + advice(path));
    }
  }
}

namespace {

// Runs a command with its output on our standard error. Returns its exit status, -1 if a signal ended it.
int run_command(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw Error("fork: " + system_error(errno));
  if (child == 0) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execv(argv[0], argv.data());
    say(command[0] + ": " + system_error(errno));
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

std::string fresh_name(const std::string& path) { return path + "." + std::to_string(gettid()); }

std::string library_beside(const std::string& profld, const std::string& name) {
  return prof_options::runtime_file(profld.substr(0, profld.rfind('/')), name);
}

// Size and time as well as the build-id, because a program that was edited may still have that.
std::string contents_of(const std::string& file) {
  Key key;
  const struct stat status = add_identity(key, file);
  key.add(uint64_t(status.st_mtim.tv_sec));
  key.add(uint64_t(status.st_mtim.tv_nsec));
  return key.text();
}

std::string contents_of_names(const std::string& file, const std::vector<std::string>& options) {
  DebugSearch search;
  bool selects = false;
  for (const std::string& option : options) {
    constexpr std::string_view kDebugDir = "--debug-dir=";
    if (option.starts_with(kDebugDir)) search.folders.push_back(option.substr(kDebugDir.size()));
    selects = selects || option == "-F" || option == "-N";
  }
  if (!selects) return "";
  try {
    const ElfFile program(file);
    std::vector<std::string> ignored;  // prof says it when it shows the profile
    const DebugFile found = program.has_symtab() ? DebugFile() : find_debug_file(program, search, ignored);
    return found.file ? contents_of(found.file->path()) : "";
  } catch (const Error&) {
    return "";  // profld says what is wrong
  }
}

std::string cache_folder(const std::vector<std::string>& depends_on) {
  Key key;
  for (const std::string& part : depends_on) key.add(part);
  return cache_directory() + "/" + key.text();
}

CopyResult make_copy(std::vector<std::string> command, const std::string& original, const std::string& copy,
                     std::string* words) {
  const std::string directory = copy.substr(0, copy.rfind('/'));
  make_directories(directory);
  const std::string fresh = fresh_name(copy);
  command.insert(command.end(), {"-o", fresh, "--", original});
  int status = 0;
  if (words) {
    CommandOutput output = output_of(command);
    status = output.status;
    *words = std::move(output.text);
  } else {
    status = run_command(command);
  }
  if (status != 0) {
    unlink(fresh.c_str());
    rmdir(directory.c_str());  // if nothing else is in it
    if (status < 0) throw Error(original + ": could not be rewritten: a signal ended profld");
    return status == kNothingToRewrite ? CopyResult::nothing_to_rewrite : CopyResult::refused;
  }
  if (rename(fresh.c_str(), copy.c_str()) != 0) throw Error(copy + ": " + system_error(errno));
  has_grown = true;
  return CopyResult::made;
}

namespace {

namespace fs = std::filesystem;

constexpr int kTries = 10;  // to make a folder that others remove

using Identity = std::pair<dev_t, ino_t>;

struct Folder {
  fs::path path;
  timespec used = {};
  std::vector<Identity> files;  // one for each name
};

struct Content {
  uint64_t bytes = 0;
  size_t names = 0;  // in folders that are still there; a copy of a library has names in several
};

std::vector<Folder> folders_in(const std::string& cache, std::map<Identity, Content>& contents) {
  std::vector<Folder> folders;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(cache, error)) {
    struct stat status;
    if (lstat(entry.path().c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) continue;
    Folder folder{entry.path(), status.st_mtim, {}};
    for (auto at = fs::recursive_directory_iterator(entry.path(), error); at != fs::recursive_directory_iterator();
         at.increment(error)) {
      if (error || lstat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
      const Identity id = {status.st_dev, status.st_ino};
      Content& content = contents[id];
      content.bytes = uint64_t(status.st_blocks) * 512;
      ++content.names;
      folder.files.push_back(id);
    }
    folders.push_back(std::move(folder));
  }
  std::sort(folders.begin(), folders.end(), [](const Folder& a, const Folder& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  return folders;
}

// False if somebody uses it.
bool remove_unused(const fs::path& folder) {
  const Descriptor fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return false;
  std::error_code error;
  fs::remove_all(folder, error);
  return !error;
}

}  // namespace

// Another process may just remove the folder; then we wait for that, and make it again.
void use_cache_folder(const std::string& folder) {
  for (int i = 0; i < kTries; ++i) {
    make_directories(folder);
    const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) continue;
    if (fd < 0) return;  // no more descriptors: it is not kept
    flock(fd, LOCK_SH);  // until this process ends
    struct stat locked, there;
    if (fstat(fd, &locked) == 0 && stat(folder.c_str(), &there) == 0 && locked.st_dev == there.st_dev &&
        locked.st_ino == there.st_ino) {
      futimens(fd, nullptr);
      return;
    }
    close(fd);
  }
}

namespace {

std::optional<std::string> all_of_file(const std::string& path) {
  const Descriptor file(open_to_read(path));
  struct stat status;
  if (file.get() < 0 || fstat(file.get(), &status) != 0) return {};
  std::string bytes(size_t(status.st_size), '\0');
  if (read_at(file.get(), bytes.data(), bytes.size(), 0, path) != bytes.size()) return {};
  return bytes;
}

// Other processes see all of it, or nothing.
void write_whole(const std::string& path, const std::string& bytes) {
  const std::string fresh = fresh_name(path);
  std::FILE* file = std::fopen(fresh.c_str(), "we");
  if (!file) return;
  const bool is_written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (std::fclose(file) != 0 || !is_written || rename(fresh.c_str(), path.c_str()) != 0) unlink(fresh.c_str());
}

// The folder of the cache that a file lies in, whose path is canonical; "" if it is in none.
std::string cache_folder_of(const std::string& file) {
  std::string cache;
  try {
    std::error_code error;
    cache = fs::canonical(cache_directory(), error).string() + "/";
  } catch (const Error&) {  // there is none
  }
  const size_t end = cache.size() > 1 && file.starts_with(cache) ? file.find('/', cache.size()) : std::string::npos;
  return end == std::string::npos ? "" : file.substr(0, end);
}

}  // namespace

std::string kept_with_copy(const std::string& copy, const std::function<std::string()>& make) {
  const std::string folder = cache_folder_of(copy);
  if (folder.empty()) return make();
  // Not by its time: where several processes make a copy at once, each of them may look at another one, and all are
  // alike.
  Key key;
  key.add(copy.substr(folder.size()));
  add_identity(key, copy);
  const std::string path = folder + "/" + key.text() + ".kept";
  if (std::optional<std::string> kept = all_of_file(path)) return std::move(*kept);
  std::string made = make();
  write_whole(path, made);
  return made;
}

void shrink_cache(const std::string& cache, uint64_t bound) {
  std::map<Identity, Content> contents;
  const std::vector<Folder> folders = folders_in(cache, contents);
  uint64_t bytes = 0;
  for (const auto& [id, content] : contents) bytes += content.bytes;
  for (const Folder& folder : folders) {
    if (bytes <= bound) return;
    if (!remove_unused(folder.path)) continue;
    for (const Identity& id : folder.files)
      if (--contents[id].names == 0) bytes -= contents[id].bytes;
  }
}

}  // namespace prof
