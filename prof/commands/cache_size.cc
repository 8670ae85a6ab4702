#include "cache_size.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "cache.h"
#include "prof/read/file.h"

namespace prof {

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
