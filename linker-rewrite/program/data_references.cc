#include "data_references.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/x86/encoding.h"

namespace profld {

namespace {

// The address in jmp *address(,%index,8) or mov address(,%index,8), %register, for programs at a fixed address.
std::optional<OldAddr> table_named_by(const Code& code, const Insn& insn) {
  if (insn.field_size != 0) return std::nullopt;
  std::optional<uint32_t> address;
  if (insn.flow == Flow::jump_indirect)
    address = address_of_indexed_jump(code.bytes_of(insn));
  else if (insn.flow == Flow::next)
    address = address_of_indexed_load(code.bytes_of(insn));
  return address ? std::optional(OldAddr(*address)) : std::nullopt;
}

}  // namespace

std::vector<std::pair<OldAddr, OldAddr>> find_apparent_code_pointers(const Image& image) {
  const Elf64_Ehdr& h = image.header();
  const uint64_t headers_end = h.e_phoff + uint64_t(h.e_phnum) * h.e_phentsize;
  // The bytes between code, in blocks for all cores.
  struct Block {
    OldAddr start;
    ByteView bytes;
  };
  constexpr uint64_t kBlock = 1 << 13;  // bytes
  std::vector<Block> blocks;
  for (const Elf64_Phdr& s : image.segments()) {
    if (s.p_type != PT_LOAD) continue;
    const uint64_t skipped = s.p_offset < headers_end ? headers_end - s.p_offset : 0;
    const OldAddr start(align_up(s.p_vaddr + skipped, 8));
    const OldAddr segment_end(s.p_vaddr + s.p_filesz);
    if (start >= segment_end) continue;
    const ByteView bytes = image.bytes_from(start).first(segment_end - start);
    auto code = std::ranges::lower_bound(image.code(), start, {}, &OldRange::end);
    for (uint64_t i = 0; i + 8 <= bytes.size();) {
      if (code != image.code().end() && code->start <= start + i) {
        i = align_up(code->end.value, 8) - start.value;
        ++code;
        continue;
      }
      uint64_t end = std::min<uint64_t>(i + kBlock, bytes.size());
      if (code != image.code().end()) end = std::min(end, align_up(code->start - start, 8));
      blocks.push_back({start + i, bytes.subspan(i, end - i)});
      i = end;
    }
  }
  using Pointer = std::pair<OldAddr, OldAddr>;
  return parallel_collect<Pointer>(blocks.size(), [&](size_t block, std::vector<Pointer>& out) {
    const auto& [start, bytes] = blocks[block];
    for (uint64_t i = 0; i + 8 <= bytes.size(); i += 8) {
      uint64_t v;
      std::memcpy(&v, bytes.data() + i, sizeof v);
      if (image.span().contains(OldAddr(v)) && image.is_code(OldAddr(v))) out.emplace_back(start + i, OldAddr(v));
    }
  });
}

DataReferences find_data_references(Program& program) {
  DataReferences data;
  data.code_pointers = std::exchange(program.apparent_pointers, {});
  for (const auto* table : {&program.image->symbols(), &program.image->dynamic_symbols()})
    for (const Symbol& s : *table)
      if (s.type == STT_OBJECT && s.section != SHN_UNDEF) data.object_starts.push_back(s.address);
  for (const Relocation& r : program.image->relocations()) {
    if (r.type != R_X86_64_RELATIVE || program.frame_tables.has(r.where)) continue;
    const OldAddr target(uint64_t(r.addend));
    if (program.range_of(target) >= 0)
      data.code_pointers.emplace_back(r.where, target);
    else
      data.object_starts.push_back(target);
  }
  const std::vector<OldAddr> named =
      parallel_collect<OldAddr>(program.groups.size(), [&](size_t g, std::vector<OldAddr>& out) {
        for (const Code& code : program.groups[g].code.parts)
          for (const Insn& insn : code.insns)
            if (insn.rip_relative)
              out.push_back(code.target(insn));
            else if (auto table = table_named_by(code, insn))
              out.push_back(*table);
      });
  data.object_starts.insert(data.object_starts.end(), named.begin(), named.end());
  parallel_sort(data.object_starts);
  data.object_starts.erase(std::unique(data.object_starts.begin(), data.object_starts.end()), data.object_starts.end());
  for (size_t i = 0; i < program.ranges.size(); ++i) {
    if (program.ranges[i].may_be_fragment_of_any()) continue;
    OldRange known = program.ranges[i].range;
    const OldAddr next = i + 1 < program.ranges.size() ? program.ranges[i + 1].range.start : known.end;
    if (next - known.end < kCodeAlignment) known.end = next;  // padding
    data.known_code.push_back(known);
  }
  for (const ReturnWord& w : program.frame_tables.words) data.framed_calls.push_back(w.return_address);
  parallel_sort(data.framed_calls);
  parallel_sort(data.code_pointers, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second < b.second : a.first < b.first;
  });
  return data;
}

}  // namespace profld
