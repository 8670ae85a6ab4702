#include "ifunc.h"

#include <algorithm>

namespace profld {

namespace {

// The group of the function that starts at `a`, or -1.
ptrdiff_t group_at(const Program& program, OldAddr a) {
  const ptrdiff_t r = program.range_of(a);
  if (r < 0 || program.ranges[size_t(r)].range.start != a) return -1;
  return ptrdiff_t(program.ranges[size_t(r)].group);
}

}  // namespace

std::vector<uint32_t> groups_of_resolvers(const Program& program) {
  std::vector<uint32_t> resolvers;
  auto add = [&](OldAddr a, std::vector<uint32_t>& groups) {
    if (const ptrdiff_t g = group_at(program, a); g >= 0) groups.push_back(uint32_t(g));
  };
  const Image& image = *program.image;
  for (const auto* table : {&image.symbols(), &image.dynamic_symbols()})
    for (const Symbol& s : *table)
      if (s.type == STT_GNU_IFUNC && s.section != SHN_UNDEF) add(s.address, resolvers);
  for (const Relocation& r : image.relocations())
    if (r.type == R_X86_64_IRELATIVE) add(OldAddr(uint64_t(r.addend)), resolvers);

  std::vector<uint32_t> groups = resolvers;
  for (uint32_t resolver : resolvers)
    for (const Code& code : program.groups[resolver].code.parts)
      for (const Insn& insn : code.insns)
        if (insn.rip_relative && takes_address(code, insn)) add(code.target(insn), groups);
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

}  // namespace profld
