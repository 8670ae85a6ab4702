#include "mappings.h"

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

}  // namespace libprof
