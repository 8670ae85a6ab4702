// dump PROFILE: what a profile holds, by an independent reader, for the tests of the runtime.
//
//     pid N parent N type N flags N lost N folded N nodes N
//     thread TID NAME lost N
//     call DEPTH CALLS SELF PATH      one line for each context, PATH being main/f/g (names from the symbol tables)
//     implausible times N             contexts whose self time is longer than the thread's
//     own cycles N                    of the runtime: nobody's
//     missing cycles N                by which the times of threads add up to less than these ran up to their last hooks
//     too many cycles N               the same, to more
//     total CALLS SELF NAME           one line for each function, sorted by name
//
// Same contexts of different threads are added up. The program ends with status 1 if the file is not consistent.

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/format/format.h"

using namespace prof_format;

namespace {

// Mapped, because a profile may be a large hole.
std::string_view contents(const std::string& path) {
  struct stat status;
  const int fd = open(path.c_str(), O_RDONLY);
  if (fd < 0 || fstat(fd, &status) != 0 || status.st_size == 0) return {};
  void* p = mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  return p == MAP_FAILED ? std::string_view() : std::string_view(static_cast<char*>(p), size_t(status.st_size));
}

std::string_view profile;

[[noreturn]] void fail(const char* what) {
  std::printf("bad: %s\n", what);
  std::exit(1);
}

template <class T>
const T* at(Block b) {
  if (b == 0 || (uint64_t(b) << PROF_BLOCK_SHIFT) + sizeof(T) > profile.size()) fail("a block lies outside the file");
  return reinterpret_cast<const T*>(profile.data() + (uint64_t(b) << PROF_BLOCK_SHIFT));
}

struct Symbols {
  uint64_t start, end, bias;
  std::map<uint64_t, std::string> names;
};
std::vector<Symbols> modules;

void load_symbols(const Module* m) {
  Symbols s{m->start, m->end, m->bias, {}};
  const std::string_view elf = contents(std::string(reinterpret_cast<const char*>(m + 1), m->path_size));
  auto* header = reinterpret_cast<const Elf64_Ehdr*>(elf.data());
  if (elf.size() < sizeof *header) fail("a module cannot be read");
  auto* sections = reinterpret_cast<const Elf64_Shdr*>(elf.data() + header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    auto* symbol = reinterpret_cast<const Elf64_Sym*>(elf.data() + sections[i].sh_offset);
    const char* names = elf.data() + sections[sections[i].sh_link].sh_offset;
    for (uint64_t n = sections[i].sh_size / sizeof *symbol; n != 0; --n, ++symbol) {
      if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_value)
        s.names[symbol->st_value] = names + symbol->st_name;
    }
  }
  modules.push_back(s);
}

std::string name_of(uint64_t pc) {
  for (const Symbols& m : modules) {
    if (pc < m.start || pc >= m.end) continue;
    auto next = m.names.upper_bound(pc - m.bias);
    if (next != m.names.begin()) return std::prev(next)->second;
  }
  return "?";
}

struct Sum {
  uint64_t calls = 0;
  int64_t self = 0;
};
std::map<std::string, Sum> contexts, totals;
std::set<Block> seen;

bool is_estimated, is_sampled;  // sampled: no cycles
int64_t lifetime, implausible;
int64_t given;  // cycles of all nodes of a thread

void walk(Block block, const std::string& path) {
  std::vector<Block> children;
  for (Block b = at<Node>(block)->child; b != 0; b = at<Node>(b)->sibling) {
    if (!seen.insert(b).second) fail("a node is linked twice");
    if (at<Node>(b)->parent != block) fail("a node has another parent");
    children.push_back(b);
  }
  std::sort(children.begin(), children.end());
  for (Block b : children) {
    const Node* n = at<Node>(b);
    const std::string name = name_of(n->pc & ~kKindOfCall), context = path.empty() ? name : path + "/" + name;
    int64_t self = is_sampled ? 0 : int64_t(n->cycles);
    if (is_estimated) {
      self = n->next != 0 ? int64_t(n->timed_cycles / n->next) : 0;  // the mean time of a call
      if (n->timed > n->count || n->count > n->next) ++implausible;
    } else {
      given += self;
    }
    if (self < 0 || self > lifetime) ++implausible;
    contexts[context].calls += n->count;
    contexts[context].self += self;
    totals[name].calls += n->count;
    totals[name].self += self;
    walk(b, context);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  profile = contents(argv[1]);
  auto* h = reinterpret_cast<const Header*>(profile.data());
  if (profile.size() < sizeof *h || std::memcmp(h->magic, kMagic, sizeof kMagic) != 0) fail("no profile");
  std::printf("pid %u parent %u type %u flags %u lost %lu folded %lu nodes %lu probe %.1f %.1f\n", h->pid,
              h->parent_pid, h->type, h->flags, h->lost, h->folded_nodes, h->nodes, double(h->probe_inside) / 256,
              double(h->probe_outside) / 256);
  for (Block b = h->first_module; b != 0; b = at<Module>(b)->next) load_symbols(at<Module>(b));
  is_estimated = h->type == kAdaptive;
  is_sampled = h->type == kSample;
  int64_t own = 0, missing = 0, too_many = 0;
  for (Block b = h->first_thread; b != 0; b = at<Thread>(b)->next) {
    auto* t = at<Thread>(b);
    std::printf("thread %u %.16s lost %lu\n", t->tid, t->name, t->lost);
    lifetime = int64_t(t->last_tsc - t->tsc_start);
    own += int64_t(at<Node>(t->root)->own_cycles);
    given = int64_t(at<Node>(t->root)->cycles + at<Node>(t->root)->own_cycles);
    walk(t->root, "");
    if (h->type != kElapsed && h->type != kCpu) continue;
    (given < lifetime ? missing : too_many) += std::abs(lifetime - given);
  }
  std::printf("implausible times %ld\n", implausible);
  std::printf("own cycles %ld\nmissing cycles %ld\ntoo many cycles %ld\n", own, missing, too_many);
  for (const auto& [path, sum] : contexts) {
    std::printf("call %ld %lu %ld %s\n", std::count(path.begin(), path.end(), '/'), sum.calls, sum.self, path.c_str());
  }
  for (const auto& [name, sum] : totals) std::printf("total %lu %ld %s\n", sum.calls, sum.self, name.c_str());
}
