#include "keep_skeletons.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "libprof/format/format.h"
#include "libprof/format/map.h"
#include "prof/commands/copies/cache.h"
#include "prof/read/decode.h"
#include "prof/read/elf_file.h"
#include "prof/read/error.h"
#include "prof/read/file.h"
#include "prof/read/skeleton.h"
#include "prof/read/snapshot.h"

namespace prof {

namespace {

using prof_format::Skeleton;

// Ignores a signal as long as it lives.
class WithoutSignal {
 public:
  explicit WithoutSignal(int number) : number_(number), before_(signal(number, SIG_IGN)) {}
  WithoutSignal(const WithoutSignal&) = delete;
  ~WithoutSignal() { signal(number_, before_); }

 private:
  const int number_;
  void (*const before_)(int);
};

// Whoever opens the file to write in the moment of the lease waits for its end, and we get a signal.
bool is_being_written(const std::string& profile) {
  const WithoutSignal without(SIGIO);
  const Descriptor file(open_to_read(profile));
  if (fcntl(file.get(), F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN;
  fcntl(file.get(), F_SETLEASE, F_UNLCK);
  return false;
}

// False, with errno set, if not all could be written.
bool write_at(int fd, const void* bytes, uint64_t size, uint64_t offset) {
  for (uint64_t done = 0; done < size;) {
    const ssize_t n = pwrite(fd, static_cast<const char*>(bytes) + done, size - done, off_t(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return false;
    done += uint64_t(n);
  }
  return true;
}

uint64_t in_blocks(uint64_t bytes) { return (bytes + PROF_BLOCK_SIZE - 1) / PROF_BLOCK_SIZE; }

// Appends to profiles of one run, which have many modules in common.
class Keeper {
 public:
  // Throws Error.
  void keep(const std::string& path) {
    uint64_t used = 0;  // blocks
    std::vector<Module> modules;
    {
      const Snapshot snapshot(path);
      if (snapshot.header().first_skeleton != 0 || snapshot.is_live() || !snapshot.damage().empty()) return;
      if (is_being_written(path)) return;
      std::vector<std::string> damage;
      modules = decode_modules(snapshot, damage);
      used = snapshot.blocks();
    }
    std::vector<std::pair<Block, const PackedSkeleton*>> skeletons;
    for (const Module& module : modules)
      if (const PackedSkeleton& packed = skeleton_of(module); packed.size != 0)
        skeletons.emplace_back(module.block, &packed);
    if (!skeletons.empty()) append(path, used, skeletons);
  }

 private:
  // Empty if the file was not rewritten, is gone, or is another by now.
  const PackedSkeleton& skeleton_of(const Module& module) {
    const auto [known, is_new] = known_.try_emplace({module.path, module.build_id});
    if (is_new) {
      try {
        known->second = find_or_pack(module);
      } catch (const Error&) {
        // who shows the profile says it
      }
    }
    return known->second;
  }

  // Packing that of a large program takes a second, so it is kept with the copy: the size before it was packed, and the
  // bytes.
  static PackedSkeleton find_or_pack(const Module& module) {
    if (start_of_section(module.path, prof_format::kMapSection, 1).empty()) return {};
    if (!may_be_same(build_id_of(module.path), module.build_id)) return {};
    PackedSkeleton packed;
    packed.bytes = kept_with_copy(module.path, [&] {
      const PackedSkeleton made = packed_skeleton_of(ElfFile(module.path));
      return std::string(reinterpret_cast<const char*>(&made.size), sizeof made.size) + made.bytes;
    });
    if (packed.bytes.size() <= sizeof packed.size) return {};
    std::memcpy(&packed.size, packed.bytes.data(), sizeof packed.size);
    packed.bytes.erase(0, sizeof packed.size);
    return packed;
  }

  static void append(const std::string& path, uint64_t used,
                     const std::vector<std::pair<Block, const PackedSkeleton*>>& skeletons) {
    const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status;
    if (file.get() < 0 || fstat(file.get(), &status) != 0) throw Error(system_error(errno));
    const uint64_t start = std::max(in_blocks(uint64_t(status.st_size)), used);
    const WithoutSignal without(SIGXFSZ);  // a file that would become too long is an error
    const Block first = Block(start);
    uint64_t at = start;
    bool is_written = true;
    for (size_t i = 0; i < skeletons.size() && is_written; ++i) {
      const auto& [module, packed] = skeletons[i];
      Skeleton skeleton = {};
      const uint64_t next = at + in_blocks(sizeof skeleton + packed->bytes.size());
      if (next > UINT32_MAX) {
        errno = EFBIG;
        is_written = false;
        break;
      }
      skeleton.next = i + 1 < skeletons.size() ? Block(next) : 0;
      skeleton.module = module;
      skeleton.packed_size = packed->bytes.size();
      skeleton.size = packed->size;
      const uint64_t place = at * PROF_BLOCK_SIZE;
      is_written = write_at(file.get(), &skeleton, sizeof skeleton, place) &&
                   write_at(file.get(), packed->bytes.data(), packed->bytes.size(), place + sizeof skeleton);
      at = next;
    }
    // The file ends with a whole block, as the runtime makes it.
    is_written = is_written && ftruncate(file.get(), off_t(at * PROF_BLOCK_SIZE)) == 0;
    if (is_written && write_at(file.get(), &first, sizeof first, offsetof(prof_format::Header, first_skeleton))) return;
    const std::string reason = system_error(errno);
    if (ftruncate(file.get(), status.st_size) != 0) throw Error(reason);  // what is there harms nobody
    throw Error(reason);
  }

  std::map<std::pair<std::string, std::string>, PackedSkeleton> known_;
};

}  // namespace

std::vector<std::string> keep_skeletons(const std::vector<std::string>& profiles) {
  std::vector<std::string> remarks;
  Keeper keeper;
  for (const std::string& path : profiles) {
    try {
      keeper.keep(path);
    } catch (const Error& e) {
      remarks.push_back(path + ": can be read only as long as the rewritten program is in the cache: " + e.what());
    }
  }
  return remarks;
}

}  // namespace prof
