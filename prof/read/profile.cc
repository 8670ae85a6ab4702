#include "profile.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "clock.h"
#include "figures.h"
#include "file.h"
#include "message.h"

namespace prof {

namespace {

using prof_format::Header;

constexpr uint32_t kLongestPath = 1 << 16;  // bytes; the kernel's own limit is 4096

// Reads [offset, end) into the same offsets of `to`, which holds zeros: holes of a sparse file are not touched.
// Returns where the file ended, at most `end`.
uint64_t read_range(int fd, char* to, uint64_t offset, uint64_t end, const std::string& path) {
  while (offset < end) {
    off_t data = lseek(fd, off_t(offset), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return end;  // a hole up to the end of the file
    if (data < 0) data = off_t(offset);          // a file system without holes
    off_t hole = lseek(fd, data, SEEK_HOLE);
    uint64_t from = uint64_t(data);
    uint64_t upto = hole > data ? std::min(uint64_t(hole), end) : end;
    if (from >= end) return end;
    uint64_t n = read_at(fd, to + from, upto - from, from, path);
    if (n < upto - from) return from + n;
    offset = upto;
  }
  return end;
}

bool has_magic(const char* bytes) { return std::memcmp(bytes, prof_format::kMagic, sizeof prof_format::kMagic) == 0; }

void check_header(const Header& h, const std::string& path) {
  if (h.byte_order != prof_format::kByteOrder) {
    throw Error(path + ": the profile's byte order is not this machine's, or its header is damaged");
  }
  if (h.version != prof_format::kVersion) {
    throw Error(path + ": the profile is of version " + std::to_string(h.version) + ", this prof reads version " +
                std::to_string(prof_format::kVersion));
  }
  if (h.block_size != PROF_BLOCK_SIZE || h.header_size < sizeof(Header) || h.header_size > (1u << 20)) {
    throw Error(path + ": the profile's header is damaged");
  }
  if (h.type != prof_format::kElapsed && h.type != prof_format::kCount && h.type != prof_format::kCpu &&
      h.type != prof_format::kAdaptive) {
    throw Error(path + ": the profile is of type " + std::to_string(h.type) +
                ", which this prof does not know; use the prof that came with the program's profld");
  }
}

// The header of an open profile, and the size of the file.
Header header_of(int fd, const std::string& path, uint64_t& size) {
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) throw Error(path + ": " + system_error(errno));
  if (!S_ISREG(status.st_mode)) throw Error(path + ": is not a regular file, so it is no profile");
  Header h{};
  const uint64_t n = read_at(fd, &h, sizeof h, 0, path);
  // Asked for after the header, so that a file that grows is not shorter than its header says.
  if (fstat(fd, &status) != 0) throw Error(path + ": " + system_error(errno));
  size = uint64_t(status.st_size);
  if (n < sizeof h.magic || !has_magic(h.magic)) {
    throw Error(path + ": is not a profile; programs rewritten by profld leave them as prof.<pid>");
  }
  if (n < sizeof h) throw Error(path + ": the profile was cut off within its header");
  check_header(h, path);
  return h;
}

// The header of what may be a profile, whatever is in it; false if it is none.
bool glance_at(const std::string& path, Header& header) {
  const Descriptor file(open_to_read(path));
  struct stat status;
  return file.get() >= 0 && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         pread(file.get(), &header, sizeof header, 0) >= ssize_t(sizeof header.magic) && has_magic(header.magic);
}

}  // namespace

Header read_header(const std::string& path) {
  const Descriptor file(open_to_read(path));
  uint64_t size = 0;
  return header_of(file.get(), path, size);
}

Profile Profile::read(const std::string& path) {
  Profile p = read_whole(path);
  Limit limit = read_limit(path, p.header_);
  if (limit.is_limited() && limit.problem.empty()) {
    Figures figures(p);
    if (limit.is_on) {
      figures.subtract(limit.figures);
    } else {
      figures.replace(limit.figures);
    }
    figures.leave_out_empty();
    limit.figures.clear();
  }
  p.limit_ = std::move(limit);
  return p;
}

Profile Profile::read_whole(const std::string& path) {
  Descriptor file(open_to_read(path));
  Profile p;
  p.path_ = path;
  p.load(file.get());
  p.find_modules();
  p.find_threads(file.get());
  p.find_lifetime();
  return p;
}

// See the essay in profile.h.
void Profile::load(int fd) {
  uint64_t size = 0;
  header_ = header_of(fd, path_, size);
  live_ = process_is_running(header_);
  Blocks earlier;
  if (live_ || !(header_.flags & prof_format::kEnded)) {
    earlier = read_blocks(fd, size);
    header_ = header_of(fd, path_, size);
    damage_.clear();  // of a file that grew between two looks at it
  }
  header_blocks_ = Block((header_.header_size + PROF_BLOCK_SIZE - 1) / PROF_BLOCK_SIZE);
  Blocks now = read_blocks(fd, size);
  bytes_ = std::move(now.bytes);
  blocks_ = now.count;
  read_tsc_ = time_stamp();
  if (earlier.bytes) take_links(earlier);
}

Profile::Blocks Profile::read_blocks(int fd, uint64_t file_size) {
  const uint64_t in_file = std::min<uint64_t>(file_size / PROF_BLOCK_SIZE, UINT32_MAX);
  uint64_t wanted = header_.blocks_used;
  if (wanted < header_.header_size / PROF_BLOCK_SIZE) {
    damage_.push_back("the count of its blocks is damaged");
    wanted = in_file;
  }
  if (wanted > in_file) {
    damage_.push_back("it was cut off: " + std::to_string(file_size) + " of " +
                      std::to_string(wanted * PROF_BLOCK_SIZE) + " bytes are left");
    wanted = in_file;
  }
  Blocks blocks;
  blocks.bytes.reset(static_cast<char*>(std::calloc(wanted, PROF_BLOCK_SIZE)), std::free);
  if (!blocks.bytes && wanted) throw Error(path_ + ": the profile does not fit into memory");
  blocks.count = Block(read_range(fd, blocks.bytes.get(), 0, wanted * PROF_BLOCK_SIZE, path_) / PROF_BLOCK_SIZE);
  return blocks;
}

void Profile::take_links(const Blocks& earlier) {
  auto link = [&](Block from, size_t offset) {
    Block to = 0;
    if (from < earlier.count)
      std::memcpy(&to, earlier.bytes.get() + uint64_t(from) * PROF_BLOCK_SIZE + offset, sizeof to);
    return to;
  };
  std::vector<bool> seen(blocks_);
  for (Block b = header_.first_module; structure<prof_format::Module>(b) && !seen[b];) {
    seen[b] = true;
    b = const_cast<prof_format::Module*>(structure<prof_format::Module>(b))->next =
        link(b, offsetof(prof_format::Module, next));
  }
  std::vector<Block> pending;
  for (Block b = header_.first_thread; structure<prof_format::Thread>(b) && !seen[b];) {
    seen[b] = true;
    pending.push_back(structure<prof_format::Thread>(b)->root);
    b = structure<prof_format::Thread>(b)->next;
  }
  while (!pending.empty()) {
    Block b = pending.back();
    pending.pop_back();
    for (; node(b) && !seen[b]; b = node(b)->sibling) {
      seen[b] = true;
      const Block child = const_cast<prof_format::Node*>(node(b))->child = link(b, offsetof(prof_format::Node, child));
      if (child) pending.push_back(child);
    }
  }
}

void Profile::find_modules() {
  std::unordered_set<Block> seen;
  for (Block b = header_.first_module; b != 0;) {
    const auto* m = structure<prof_format::Module>(b);
    const uint64_t left = m ? (uint64_t(blocks_) - b) * PROF_BLOCK_SIZE - sizeof *m : 0;
    if (!m || !seen.insert(b).second || m->path_size > left || m->path_size > kLongestPath ||
        m->build_id_size > sizeof m->build_id || m->start > m->end) {
      damage_.push_back("its list of modules is damaged");
      break;
    }
    Module module;
    module.path.assign(reinterpret_cast<const char*>(m + 1), m->path_size);
    module.path.resize(std::strlen(module.path.c_str()));  // a path holds no NUL
    module.build_id.assign(reinterpret_cast<const char*>(m->build_id), m->build_id_size);
    module.bias = m->bias;
    module.start = m->start;
    module.end = m->end;
    modules_.push_back(std::move(module));
    b = m->next;
  }
}

// The time after its last call belongs to a thread's open functions, if it is known to have lived that long. The first
// thread is taken to live as long as the process. How much of it it had a processor, only its own stamps tell.
uint64_t Profile::until_when(const prof_format::Thread& thread, uint64_t last_tsc) const {
  if (header_.type == prof_format::kCpu) return last_tsc;
  uint64_t then = last_tsc;
  if (live_) {
    if (thread_is_running(header_.pid, thread.tid)) then = read_tsc_;
  } else if (thread.tid == header_.pid) {
    then = (header_.flags & prof_format::kEnded) ? header_.tsc_end : header_.tsc_last;
  }
  return std::max(last_tsc, then);
}

// The node of the top frame: see Frame in libprof/format/format.h.
Block Profile::running_node(Block stack) const {
  Block node = 0;
  std::unordered_set<Block> seen;
  for (Block b = stack; b != 0 && seen.insert(b).second;) {
    const prof_format::FrameChunk* chunk = frames(b);
    if (!chunk || chunk->capacity == 0) break;
    const auto* entries = reinterpret_cast<const prof_format::Frame*>(chunk + 1);
    if (entries[0].slot == 0) break;
    for (uint32_t i = b == stack ? 0 : 1; i < chunk->capacity; i++) {
      if (entries[i].slot != 0) node = entries[i].node;
    }
    b = chunk->next;
  }
  return node;
}

void Profile::find_threads(int fd) {
  std::unordered_set<Block> seen;
  for (Block b = header_.first_thread; b != 0;) {
    const auto* t = structure<prof_format::Thread>(b);
    if (!t || !seen.insert(b).second) {
      damage_.push_back("its list of threads is damaged");
      break;
    }
    // The nodes of a running thread were read after its record, and have later stamps in them.
    uint64_t last_tsc = t->last_tsc, now = 0;
    const uint64_t offset = uint64_t(b) * PROF_BLOCK_SIZE + offsetof(prof_format::Thread, last_tsc);
    if (live_ && read_at(fd, &now, sizeof now, offset, path_) == sizeof now) last_tsc = std::max(last_tsc, now);
    const uint64_t until = until_when(*t, last_tsc);
    threads_.push_back({b, t->tid, t->root, t->lost, t->tsc_start, until, t->frames, t->stacks, running_node(t->frames),
                        until - last_tsc, std::string(t->name, strnlen(t->name, sizeof t->name))});
    b = t->next;
  }
  std::reverse(threads_.begin(), threads_.end());
}

void Profile::find_lifetime() {
  uint64_t end = live_ ? read_tsc_ : std::max(header_.tsc_last, header_.tsc_end);
  for (const Thread& thread : threads_) end = std::max(end, thread.end);
  if (header_.tsc_start != 0 && end > header_.tsc_start) lifetime_ = end - header_.tsc_start;
  recorded_ = lifetime_;
}

const prof_format::FrameChunk* Profile::frames(Block block) const {
  const auto* chunk = structure<prof_format::FrameChunk>(block);
  if (!chunk) return nullptr;
  // Chunks do not overlap, but damaged ones might: no more is looked at of each than there can be.
  const uint64_t size = std::min((uint64_t(blocks_) - block) * PROF_BLOCK_SIZE, prof_format::kLargestChunk);
  return chunk->capacity <= (size - sizeof *chunk) / sizeof(prof_format::Frame) ? chunk : nullptr;
}

std::string Profile::command_line() const {
  const uint64_t size = header_.command_line_size;
  const uint64_t start = uint64_t(header_.command_line) * PROF_BLOCK_SIZE;
  if (header_.command_line < header_blocks_ || start + size > uint64_t(blocks_) * PROF_BLOCK_SIZE) return {};
  std::string text(bytes_.get() + start, size);
  while (!text.empty() && text.back() == 0) text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

std::vector<Profile> Profile::by_thread() const {
  std::vector<Profile> parts;
  for (const Thread& thread : threads_) {
    const prof_format::Node* root = node(thread.root);
    if (!(root && root->child) && thread.lost == 0) continue;
    parts.push_back(*this);
    parts.back().threads_ = {thread};
    // What is known of all threads together is told once.
    if (parts.size() > 1) parts.back().header_.lost = parts.back().header_.folded_nodes = 0;
  }
  if (parts.empty()) parts.push_back(*this);
  if (parts[0].threads_.empty()) throw Error(path_ + ": no threads were recorded");
  return parts;
}

FileKind kind_of_file(const std::string& path) {
  Descriptor file(open_to_read(path));
  struct stat status;
  if (file.get() < 0 || fstat(file.get(), &status) != 0) throw Error(path + ": " + system_error(errno));
  if (S_ISDIR(status.st_mode)) throw Error(path + ": is a directory, neither a program nor a profile");
  if (!S_ISREG(status.st_mode)) throw Error(path + ": is not a regular file");
  char magic[sizeof prof_format::kMagic] = {};
  read_at(file.get(), magic, sizeof magic, 0, path);
  if (has_magic(magic)) return FileKind::kProfile;
  if (std::memcmp(magic,
                  "\x7f"
                  "ELF",
                  4) == 0)
    return FileKind::kElf;
  return FileKind::kOther;
}

std::vector<std::string> profiles_in(const std::string& directory, std::optional<uint32_t> pid) {
  DIR* dir = opendir(directory.c_str());
  if (!dir) throw Error(directory + ": " + system_error(errno));
  // Time of start, not of modification: stores through a mapping update that late or never, copying the file changes
  // it.
  std::vector<std::pair<uint64_t, std::string>> found;
  while (const dirent* entry = readdir(dir)) {
    if (std::strncmp(entry->d_name, "prof.", 5) != 0) continue;
    const std::string path = directory == "." ? entry->d_name : directory + "/" + entry->d_name;
    Header header{};
    if (glance_at(path, header) && (!pid || header.pid == *pid)) found.emplace_back(header.realtime_start, path);
  }
  closedir(dir);
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (auto& [start, path] : found) paths.push_back(std::move(path));
  return paths;
}

void leave_out_earlier_processes(std::vector<std::string>& paths) {
  Header last{};
  for (const std::string& path : paths) {
    Header header{};
    if (glance_at(path, header) && header.realtime_start >= last.realtime_start) last = header;
  }
  const size_t left_out = std::erase_if(paths, [&](const std::string& path) {
    Header header{};
    return glance_at(path, header) && (header.start_time != last.start_time ||
                                       std::memcmp(header.boot_id, last.boot_id, sizeof last.boot_id) != 0);
  });
  if (left_out == 0) return;
  say("the number " + std::to_string(last.pid) + " was that of several processes: " + paths.back() +
      " is of the last one, " + std::to_string(left_out) + (left_out == 1 ? " profile" : " profiles") +
      " of others left out");
}

std::string newest_profile(const std::string& directory, std::optional<uint32_t> pid) {
  std::vector<std::string> paths = profiles_in(directory, pid);
  if (paths.empty()) return "";
  if (!pid) {
    Header newest{};
    if (glance_at(paths.back(), newest)) paths = profiles_in(directory, newest.pid);
  }
  leave_out_earlier_processes(paths);
  return paths.back();
}

std::string find_profile(const std::string& subject) {
  uint32_t pid = 0;
  const char* const end = subject.data() + subject.size();
  if (const auto [at, error] = std::from_chars(subject.data(), end, pid); error != std::errc() || at != end)
    return subject;
  const char* directory = std::getenv("PROFDIR");
  for (const std::string& where : {std::string("."), std::string(directory ? directory : "")}) {
    if (where.empty()) continue;
    if (const std::string path = newest_profile(where, pid); !path.empty()) return path;
    const std::string path = where + "/prof." + subject;
    if (access(path.c_str(), R_OK) != 0 && errno == EACCES) throw Error(path + ": " + system_error(EACCES));
  }
  const bool exists = kill(pid_t(pid), 0) == 0 || errno != ESRCH;
  throw Error((exists ? "no profile of process " : "there is no process ") + subject +
              (exists ? " in" : ", and no profile of it in") + " the current directory or $PROFDIR");
}

}  // namespace prof
