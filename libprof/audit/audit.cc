// libprof-audit.so: leads the dynamic linker to rewritten copies of libraries.
//
// The problem. A program that runs with rewritten libraries must find them under the names by which it asks for the
// originals: in its DT_NEEDED, in dlopen with a name, an absolute or a relative path, in those of its libraries.
// Nothing of this may be seen by the programs that it starts, so environment variables will not do (LD_LIBRARY_PATH
// does not help with paths anyway).
//
// The way taken. The copy of the program has a DT_AUDIT entry, which names this library inside the shadow root
// (libprof/format/shadow_root.h). glibc's dynamic linker loads it into a namespace of its own, and asks la_objsearch
// about every file before it opens it. If the file that has the name is one that has a copy, the answer is the copy's
// path.
//
//   Names. Where the linker searches (DT_RUNPATH, /etc/ld.so.cache), it opens what we say, and remembers the name that
//   it asked for: dladdr, dl_iterate_phdr and backtraces show the original's. Where it was given a path, it remembers
//   what we say. la_objopen then writes the old name over it, in place: the memory is the linker's own, and the new
//   name is made at least as long. The linker compares names with what is asked for later, so the old name is the
//   better one there too; gdb finds the copies by `set sysroot ROOT`.
//
//   $ORIGIN. The linker takes it from where the program lies, and from the path of a library that it was given: both
//   are in the shadow root. What has no copy is not there, so ROOT is taken off such paths first. That finds everything
//   in its place. A name with $ORIGIN as dlopen takes it would be replaced too late for that, so we do it.
//
//   Costs. A system call or two for each file that the linker tries. There is no la_symbind and no la_pltenter, which
//   would cost at each call of a function.
//
//   Buffers. The linker holds its lock while it asks, and has copied an answer before it asks again.
//
// Files without an entry in ROOT/.known, plugins mostly, are noted in ROOT/.seen when they were loaded, for the next
// run. If nothing can be written there, that is all right. A program that has given up system calls since it was
// started notes nothing.
//
// On another machine, where `profld --libs` had a shadow root put, files are told by their names: there is nothing to
// compare them with.
//
// Limits. A process that has lost its way to the shadow root (chroot, another user) gets originals from then on; what
// it has loaded it finds by the names that it used before. dlinfo's RTLD_DI_ORIGIN shows the shadow root where a path
// was given.

#include <link.h>

#include "libprof/format/shadow_root.h"
#include "libprof/kernel/syscall.h"

namespace libprof {
namespace {

constexpr size_t kPathSize = 4096;  // PATH_MAX
constexpr uint64_t kWriteOnly = 1, kAppend = 02000;

// A path, with its length known. What does not fit makes it empty: such a file cannot be opened anyway.
class Path {
 public:
  const char* text() const { return text_; }
  size_t size() const { return size_; }
  constexpr Path() = default;
  Path(const Path&) = delete;
  bool empty() const { return size_ == 0; }
  void clear() { cut(0); }
  void cut(size_t size) { text_[size_ = size] = 0; }
  Path& add(char c) {
    if (failed_ || size_ + 1 >= kPathSize) {
      clear();
      failed_ = true;
      return *this;
    }
    text_[size_++] = c;
    text_[size_] = 0;
    return *this;
  }
  Path& add(const char* s) {
    while (*s) add(*s++);
    return *this;
  }
  Path& set(const char* s) {
    clear();
    failed_ = false;
    return add(s);
  }
  // Removes the last component, and the slashes before it. Of a name in the root, the slash stays.
  void cut_name() {
    size_t n = size_;
    while (n > 0 && text_[n - 1] != '/') --n;
    while (n > 1 && text_[n - 1] == '/') --n;
    cut(n);
  }

 private:
  char text_[kPathSize] = {};
  size_t size_ = 0;
  bool failed_ = false;
};

bool by_name;              // ROOT is for another machine
int64_t sandbox_at_start;  // see sandbox()
bool has_searched;  // before, names may be in memory that is not to be written to: those of the program and the linker
constinit Path root;                   // ROOT; empty if it is not known, and then nothing is led anywhere
constinit Path answer;                 // of la_objsearch
constinit Path replaced, replacement;  // the last path that was given to the linker, and what we made of it
constinit Path expanded;               // a name without $ORIGIN
constinit Path unknown;                // the last file that was asked for and is not among the known
constinit Path scratch;

size_t length_of(const char* s) {
  size_t n = 0;
  while (s[n]) ++n;
  return n;
}

bool begins_with(const char* s, const char* start) {
  while (*start)
    if (*s++ != *start++) return false;
  return true;
}

bool equal(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

bool has_slash(const char* s) {
  while (*s && *s != '/') ++s;
  return *s;
}

int64_t call(int64_t number, uint64_t a, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0) {
  return unchecked_syscall(number, a, b, c, d, 0, 0);
}

int64_t open_at(const char* path, uint64_t flags, uint64_t mode = 0) {
  return call(__NR_openat, uint64_t(kCurrentDirectory), as_word(path), flags | kCloseOnExec, mode);
}

// By the call that the linker itself makes for each library: what filters let pass.
bool status_of(const char* path, FileStatus& status) {
  return call(__NR_newfstatat, uint64_t(kCurrentDirectory), as_word(path), as_word(&status)) == 0;
}

bool read_link(const char* path, Path& target) {
  static char text[kPathSize];
  const int64_t n = call(__NR_readlink, as_word(path), as_word(text), sizeof text - 1);
  if (n <= 0) return false;
  text[n] = 0;
  return !target.set(text).empty();
}

// The path after the fields of a line of /proc/self/maps, if the line's range has the address. "" if not.
const char* path_of_range(const char* line, uint64_t address) {
  uint64_t bounds[2] = {0, 0};
  for (uint64_t& bound : bounds) {
    for (; *line && *line != '-' && *line != ' '; ++line)
      bound = bound << 4 | uint64_t(*line <= '9' ? *line - '0' : *line - 'a' + 10);
    if (*line) ++line;
  }
  if (address - bounds[0] >= bounds[1] - bounds[0]) return "";
  while (*line && *line != '/') ++line;  // no field before the path has one
  return line;
}

// Sets `root` to the folder of the file that an address of this library is mapped from. The kernel's name for it has no
// links in it, as $ORIGIN has none.
void find_root() {
  static char line[kPathSize + 128], bytes[1024];
  const int64_t maps = open_at("/proc/self/maps", kReadOnly);
  if (maps < 0) return;
  size_t used = 0;
  for (int64_t n; root.empty() && (n = call(__NR_read, uint64_t(maps), as_word(bytes), sizeof bytes)) > 0;) {
    for (int64_t i = 0; i < n && root.empty(); ++i) {
      if (bytes[i] != '\n') {
        if (used + 1 < sizeof line) line[used++] = bytes[i];
        continue;
      }
      line[used] = 0;
      used = 0;
      root.set(path_of_range(line, as_word(prof_format::kAuditLibrary)));
    }
  }
  call(__NR_close, uint64_t(maps));
  root.cut_name();
}

// The path without ROOT, or ROOT/.program, if it begins with it.
const char* outside(const char* path) {
  if (!begins_with(path, root.text()) || path[root.size()] != '/') return path;
  path += root.size();
  const char* below = path + 1;
  const size_t size = sizeof prof_format::kProgramDirectory - 1;
  return begins_with(below, prof_format::kProgramDirectory) && below[size] == '/' ? below + size : path;
}

// A name that begins with $ORIGIN, with the folder of the original of what asks for it in its place.
const char* without_origin(const char* name, const link_map* asks) {
  const char* rest = nullptr;
  constexpr const char* kTokens[] = {"$ORIGIN/", "${ORIGIN}/"};
  for (const char* token : kTokens)
    if (begins_with(name, token)) rest = name + length_of(token) - 1;
  if (!rest || !asks) return name;
  if (asks->l_name[0] == '/') {
    expanded.set(asks->l_name);
  } else if (asks->l_name[0] || !read_link("/proc/self/exe", scratch) ||
             expanded.set(outside(scratch.text())).empty()) {
    return name;
  }
  expanded.cut_name();
  expanded.add(rest);
  return expanded.empty() ? name : expanded.text();
}

bool same_file(const FileStatus& a, const FileStatus& b) { return a.device == b.device && a.inode == b.inode; }

// Sets `answer` to a path below ROOT that is to be remembered in place of `path`, for which la_objopen will put `path`
// back. False if the file is used as it is. `known` is its entry in ROOT/.known, `copy` what that leads to.
bool answer_for_path(const char* path, const Path& known, const FileStatus& copy) {
  FileStatus status;
  answer.set(root.text()).add(path);
  if (path[0] != '/' || answer.empty() || !status_of(answer.text(), status) || !same_file(status, copy)) {
    // By another name than those that the shadow root has.
    if (!read_link(known.text(), scratch) || !begins_with(scratch.text(), "../")) return false;
    const char* inside = scratch.text() + 3;
    answer.set(root.text()).add('/');
    while (!answer.empty() && answer.size() + length_of(inside) < length_of(path)) answer.add('/');
    answer.add(inside);
    if (answer.empty()) return false;
  }
  replaced.set(path);
  replacement.set(answer.text());
  return true;
}

// What to open for a name if there is nothing but ROOT that could have the file.
const char* packed(const char* name, bool as_asked) {
  const char* path = outside(name);
  if (as_asked && !has_slash(name)) {
    scratch.set(root.text()).add('/').add(prof_format::kNamesDirectory).add('/').add(name);
    if (scratch.empty() || !read_link(scratch.text(), expanded) || !begins_with(expanded.text(), "../")) return name;
    path = expanded.text() + 2;
  }
  FileStatus status;
  answer.set(root.text()).add(path);
  if (path[0] != '/' || answer.empty() || !status_of(answer.text(), status)) return path;
  if (!as_asked) return answer.text();
  replaced.set(path);
  replacement.set(answer.text());
  return answer.text();
}

// What the kernel says of the system calls that the process has given up (seccomp): the kind in the first digits, and
// how many filters there are. -1 if it is not known. It is asked by calls that the linker itself makes for each
// library: others may end the process.
int64_t sandbox() {
  static char bytes[4096];
  const int64_t status = open_at("/proc/thread-self/status", kReadOnly);
  if (status < 0) return -1;
  const int64_t n = call(__NR_read, uint64_t(status), as_word(bytes), sizeof bytes - 1);
  call(__NR_close, uint64_t(status));
  bytes[n > 0 ? n : 0] = 0;
  int64_t digits = -1;
  for (const char* line = bytes; *line; ++line) {
    if (!begins_with(line, "\nSeccomp")) continue;  // and Seccomp_filters, in the next line
    if (digits < 0) digits = 0;
    for (const char* c = line + 1; *c && *c != '\n'; ++c)
      if (*c >= '0' && *c <= '9') digits = digits * 10 + (*c - '0');
  }
  return digits;
}

// Appends a path to ROOT/.seen.
void note(const char* path) {
  static constinit Path line;
  if (sandbox_at_start < 0 || sandbox() != sandbox_at_start) return;
  Limit limit = {0, 0};
  // At a file size limit, a signal would come.
  if (call(__NR_prlimit64, 0, kLimitFileSize, 0, as_word(&limit)) != 0 || limit.current != kInfinity) return;
  line.clear();
  if (path[0] != '/') {
    static char folder[kPathSize];
    if (call(__NR_getcwd, as_word(folder), sizeof folder) <= 0 || folder[0] != '/') return;
    line.set(folder).add('/');
    line.add(path).add('\0');
  } else {
    line.set(path).add('\0');
  }
  scratch.set(root.text()).add('/').add(prof_format::kSeenFile);
  if (line.empty() || scratch.empty()) return;
  const int64_t file = open_at(scratch.text(), kWriteOnly | kAppend | kCreate | kNoFollow, 0600);
  if (file < 0) return;
  call(__NR_write, uint64_t(file), as_word(line.text()), line.size());
  call(__NR_close, uint64_t(file));
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] unsigned la_version(unsigned version) {
  find_root();
  sandbox_at_start = sandbox();
  FileStatus status;
  scratch.set(root.text()).add('/').add(prof_format::kKnownDirectory);
  by_name = !status_of(scratch.text(), status);
  return version;  // nothing that is used here has changed since the first
}

[[gnu::visibility("default")]] char* la_objsearch(const char* name, uintptr_t* cookie, unsigned flag) {
  const auto unchanged = const_cast<char*>(name);
  if (root.empty()) return unchanged;
  has_searched = true;
  if (by_name) return const_cast<char*>(packed(name, flag == LA_SER_ORIG));
  if (flag == LA_SER_ORIG) {
    if (!has_slash(name)) return unchanged;  // it will be searched for
    name = without_origin(name, reinterpret_cast<const link_map*>(*cookie));
  }
  name = outside(name);
  FileStatus file, copy;
  if (!status_of(name, file)) return const_cast<char*>(name);
  static constinit Path known;
  char identity[prof_format::kIdentityText];
  prof_format::identity_text({file.device, file.inode, uint64_t(file.size), file.times[4], file.times[5]}, identity);
  known.set(root.text()).add('/').add(prof_format::kKnownDirectory).add('/').add(identity);
  if (known.empty() || !status_of(known.text(), copy)) {
    unknown.set(name);
    return const_cast<char*>(name);
  }
  if (same_file(file, copy)) return const_cast<char*>(name);
  // The linker remembers its own name of a file that it searched for.
  if (flag == LA_SER_ORIG) return const_cast<char*>(answer_for_path(name, known, copy) ? answer.text() : name);
  return const_cast<char*>(known.text());
}

[[gnu::visibility("default")]] unsigned la_objopen(link_map* map, Lmid_t, uintptr_t* cookie) {
  *cookie = reinterpret_cast<uintptr_t>(map);
  if (!has_searched || !map->l_name[0]) return 0;
  const char* name = equal(map->l_name, replacement.text()) ? replaced.text() : outside(map->l_name);
  if (name != map->l_name) {
    char* to = map->l_name;  // at least as long
    while ((*to++ = *name++)) {
    }
  }
  replacement.clear();
  if (!unknown.empty() && equal(map->l_name, unknown.text())) note(map->l_name);
  unknown.clear();
  return 0;
}

}  // extern "C"

}  // namespace libprof
