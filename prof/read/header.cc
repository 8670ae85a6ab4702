#include "header.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "error.h"
#include "file.h"

namespace prof {

namespace {

using prof_format::Header;

bool has_magic(const char* bytes) { return std::memcmp(bytes, prof_format::kMagic, sizeof prof_format::kMagic) == 0; }

void check_header(const Header& h, const std::string& path) {
  if (h.byte_order != prof_format::kByteOrder) {
    throw Error(path + ": the profile's byte order is not this machine's, or its header is damaged");
  }
  if (h.version < prof_format::kOldestVersion || h.version > prof_format::kVersion) {
    throw Error(path + ": the profile is of version " + std::to_string(h.version) + ", this prof reads versions " +
                std::to_string(prof_format::kOldestVersion) + " to " + std::to_string(prof_format::kVersion));
  }
  if (h.block_size != PROF_BLOCK_SIZE || h.header_size < sizeof(Header) || h.header_size > (1u << 20)) {
    throw Error(path + ": the profile's header is damaged");
  }
  constexpr uint64_t kLongestPeriod = 1'000'000'000;
  if (is_sampled(h) && (h.sample_period == 0 || h.sample_period > kLongestPeriod))
    throw Error(path + ": the profile's header is damaged");
  if (h.type != prof_format::kTime && h.type != prof_format::kElapsed && h.type != prof_format::kCount &&
      h.type != prof_format::kCpu && h.type != prof_format::kAdaptive && !is_sampled(h)) {
    throw Error(path + ": the profile is of type " + std::to_string(h.type) +
                ", which this prof does not know; use the prof that came with the program's profld");
  }
}

}  // namespace

bool uses_cpu_clock(const Header& header) {
  return header.type == prof_format::kTime || header.type == prof_format::kCpu || header.type == prof_format::kAdaptive;
}

bool has_waiting(const Header& header) { return header.type == prof_format::kTime || header.type == prof_format::kCpu; }

bool has_durations(const Header& header) {
  constexpr uint32_t kFirstVersion = 5;
  if (header.version < kFirstVersion) return false;
  // Beside hooks that leave there is room for them.
  if (header.type == prof_format::kAddresses) return header.no_durations != 0;
  return has_waiting(header) || header.type == prof_format::kElapsed;
}

bool is_sampled(const Header& header) {
  return header.type == prof_format::kSample || header.type == prof_format::kAddresses;
}

Header read_header(int fd, const std::string& path, uint64_t& size) {
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) throw Error(path + ": " + system_error(errno));
  if (!S_ISREG(status.st_mode)) throw Error(path + ": is not a regular file, so it is no profile");
  Header h{};
  const uint64_t n = read_at(fd, &h, sizeof h, 0, path);
  // The size after the header: see header.h.
  if (fstat(fd, &status) != 0) throw Error(path + ": " + system_error(errno));
  size = uint64_t(status.st_size);
  if (n < sizeof h.magic || !has_magic(h.magic)) {
    throw Error(path + ": is not a profile; programs rewritten by profld leave them as prof.<pid>");
  }
  if (n < sizeof h) throw Error(path + ": the profile was cut off within its header");
  check_header(h, path);
  return h;
}

Header read_header(const std::string& path) {
  const Descriptor file(open_to_read(path));
  uint64_t size = 0;
  return read_header(file.get(), path, size);
}

bool peek_at_header(const std::string& path, Header& header) {
  const Descriptor file(open_to_read(path));
  struct stat status;
  return file.get() >= 0 && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         pread(file.get(), &header, sizeof header, 0) >= ssize_t(sizeof header.magic) && has_magic(header.magic);
}

FileKind kind_of_file(const std::string& path) {
  Descriptor file(open_to_read(path));
  struct stat status;
  if (file.get() < 0 || fstat(file.get(), &status) != 0) throw Error(path + ": " + system_error(errno));
  if (S_ISDIR(status.st_mode)) throw Error(path + ": is a directory, neither a program nor a profile");
  if (!S_ISREG(status.st_mode)) throw Error(path + ": is not a regular file");
  char magic[sizeof prof_format::kMagic] = {};
  read_at(file.get(), magic, sizeof magic, 0, path);
  if (has_magic(magic)) return FileKind::profile;
  if (std::memcmp(magic,
                  "\x7f"
                  "ELF",
                  4) == 0)
    return FileKind::elf;
  return FileKind::other;
}

}  // namespace prof
