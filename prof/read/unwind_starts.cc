// .eh_frame_hdr: the linker's sorted table of all FDEs, for searches at run time (Linux Standard Base, core, 10.6.2).
//
//   1 byte    version: 1
//   3 bytes   encodings of the address of .eh_frame, of the count, and of the table
//   4 bytes   address of .eh_frame
//   4 bytes   count
//   8 bytes   for each FDE: where its code begins, and where it is itself, both less the address of the header
//
// Linkers write no other encodings than these.

#include <gelf.h>

#include <algorithm>
#include <cstring>

#include "elf_file.h"

namespace prof {

namespace {

constexpr unsigned char kUnsigned4 = 0x03, kRelativeToHeader4 = 0x3b;
constexpr size_t kTable = 12;  // bytes before it

}  // namespace

std::vector<uint64_t> ElfFile::unwind_starts() const {
  std::vector<uint64_t> starts;
  size_t segments = 0;
  if (elf_getphdrnum(elf_, &segments) != 0) return starts;
  for (size_t i = 0; i < segments; ++i) {
    GElf_Phdr header;
    if (!gelf_getphdr(elf_, int(i), &header) || header.p_type != PT_GNU_EH_FRAME) continue;
    const Elf_Data* data = elf_getdata_rawchunk(elf_, int64_t(header.p_offset), header.p_filesz, ELF_T_BYTE);
    if (!data || !data->d_buf || data->d_size < kTable) continue;
    const char* bytes = static_cast<const char*>(data->d_buf);
    if (bytes[0] != 1 || bytes[2] != char(kUnsigned4) || bytes[3] != char(kRelativeToHeader4)) continue;
    uint32_t count = 0;
    std::memcpy(&count, bytes + 8, sizeof count);
    const size_t there = std::min<size_t>(count, (data->d_size - kTable) / 8);
    for (size_t f = 0; f < there; ++f) {
      int32_t start = 0;
      std::memcpy(&start, bytes + kTable + 8 * f, sizeof start);
      starts.push_back(header.p_vaddr + uint64_t(int64_t(start)));
    }
  }
  std::sort(starts.begin(), starts.end());
  return starts;
}

}  // namespace prof
