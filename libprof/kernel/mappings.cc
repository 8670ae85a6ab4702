#include "mappings.h"

#include "memory.h"
#include "syscall.h"

namespace libprof {

// start-end rwxp offset device:device inode path
bool parse_mapping(const char* p, Mapping* m) {
  m->start = parse_hex(&p);
  if (*p++ != '-') return false;
  m->end = parse_hex(&p);
  m->is_writable = p[0] == ' ' && p[1] == 'r' && p[2] == 'w';
  m->is_shared = p[0] == ' ' && p[4] == 's';
  p += 6;
  m->offset = parse_hex(&p);
  ++p;
  m->device = parse_hex(&p);
  if (*p++ != ':') return false;
  m->device = m->device << 32 | parse_hex(&p);
  ++p;
  m->inode = parse_decimal(&p);
  while (*p == ' ') ++p;
  m->path = p;
  return m->inode != 0;
}

bool find_file(uint64_t address, FileMapping* file) {
  LineReader maps("/proc/self/maps");
  file->start = 0;
  file->path[0] = 0;
  uint64_t last = 0;
  while (const char* p = maps.next()) {
    const uint64_t start = parse_hex(&p);
    if (*p++ != '-') continue;
    const uint64_t end = parse_hex(&p);
    if (start > address) break;
    last = end;
    if (p[0] != ' ' || p[1] != 'r') continue;
    p += 6;  // " r-xp "
    const uint64_t offset = parse_hex(&p);
    while (*p != 0 && *p != '/') ++p;
    if (offset != 0 || *p != '/' || equal(p, file->path)) continue;
    Line(file->path, sizeof file->path) << p;
    file->start = start;
    file->end = end;
  }
  return file->start != 0 && address < last;
}

FilePage find_file_page(uint64_t address) {
  Mapping m;
  LineReader maps("/proc/self/maps");
  while (const char* line = maps.next()) {
    if (!parse_mapping(line, &m) || address < m.start || address >= m.end) continue;
    if (!m.is_shared) break;
    return {m.device, m.inode, m.offset + (address - m.start)};
  }
  return {};
}

void find_bounds(uint64_t address, uint64_t* low, uint64_t* high) {
  constexpr uint64_t kMaxStack = uint64_t(1) << 30;  // assumed when the limit is "unlimited"
  *low = address & ~(kPage - 1);
  *high = *low + kPage;
  LineReader maps("/proc/self/maps");
  for (const char* line; (line = maps.next()) != nullptr;) {
    const char* p = line;
    const uint64_t start = parse_hex(&p);
    if (*p++ != '-') continue;
    const uint64_t end = parse_hex(&p);
    if (address < start || address >= end) continue;
    *low = start;
    *high = end;
    if (!ends_with(line, "[stack]")) return;
    uint64_t size = limit_of(kLimitStack);
    if (size > kMaxStack) size = kMaxStack;
    if (size > end - start && size < end) *low = end - size;
    return;
  }
}

// A call that changes nothing, but reads a mask there first.
bool is_mapped(uint64_t address) {
  constexpr uint64_t kNoWay = ~uint64_t(0);  // of changing a mask
  uint64_t none;
  return syscall4(__NR_rt_sigprocmask, kNoWay, address, as_word(&none), sizeof none) != kErrorBadAddress;
}

}  // namespace libprof
