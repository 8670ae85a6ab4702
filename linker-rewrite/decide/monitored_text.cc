// A program of gcc -pg counts its own calls, and writes gmon.out for gprof. It says in the beginning which code that is
// about, by a call of the C library's __monstartup (monstartup(3)): from __executable_start to etext. Other addresses
// are not counted; these are all, if the functions are copies. So the end gets another value in that call: the end of
// the copies, which lie after. Then gmon.out has the addresses of copies, and gprof finds their symbols in the copied
// program.
//
// The instruction that has the end in it is among those in front of the call. What calls may move or not.

#include <algorithm>
#include <optional>
#include <utility>

#include "code_dependences.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/program/imports.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/semantics.h"

namespace profld {

namespace {

constexpr uint8_t kSecondArgument = 6;  // rsi

bool is_monstartup(const Symbol& s) { return s.name == "__monstartup" || s.name == "monstartup"; }

bool is_end(const Image& image, uint64_t a) { return image.is_code(OldAddr(a)) || image.is_code(OldAddr(a - 1)); }

// Whether an instruction of the group may have such an address in it. Few have, and it takes long to tell what is
// called.
bool may_have_end(const Image& image, const Group& group) {
  const OldRange all{image.code().front().start, image.code().back().end + 1};
  const bool fixed = !image.is_position_independent();
  return std::ranges::any_of(group.code.parts, [&](const Code& code) {
    return std::ranges::any_of(code.insns, [&](const Insn& insn) {
      if (insn.flow != Flow::next) return false;
      if (insn.rip_relative)
        return takes_address(code, insn) && all.contains(code.target(insn)) && is_end(image, code.target(insn).value);
      const auto number = fixed && insn.has_number ? number_kept_by(code.bytes_of(insn)) : std::nullopt;
      return number && all.contains(OldAddr(*number)) && is_end(image, *number);
    });
  });
}

// In the instruction that sets the second argument of a call, the address there, if it is one of code or after some.
std::optional<std::pair<AddressField, OldAddr>> end_passed(const Image& image, const Code& code, uint32_t part,
                                                           uint32_t call) {
  constexpr uint32_t kMax = 12;
  uint8_t reg = kSecondArgument;
  for (uint32_t i = call; i-- > 0 && call - i <= kMax && code.insns[i].flow == Flow::next;) {
    const Insn& insn = code.insns[i];
    const Semantics op = semantics_of(code, insn);
    if (!(op.writes >> reg & 1)) continue;
    if (takes_address(code, insn)) {
      if (!is_end(image, code.target(insn).value)) return std::nullopt;
      return std::pair(AddressField{{part, i}, insn.field, true}, code.target(insn));
    }
    if (op.action != Action::move) return std::nullopt;
    if (op.immediate_field != 0 && !image.is_position_independent() && is_end(image, uint64_t(op.immediate)))
      return std::pair(AddressField{{part, i}, op.immediate_field, false}, OldAddr(uint64_t(op.immediate)));
    if (op.from.type != Operand::Type::reg) return std::nullopt;
    reg = op.from.reg;
  }
  return std::nullopt;
}

}  // namespace

std::vector<MonitoredEnd> find_monitored_ends(const Program& program) {
  const Image& image = *program.image;
  std::vector<OldAddr> functions;
  bool is_imported = false;
  for (const auto* symbols : {&image.symbols(), &image.dynamic_symbols()})
    for (const Symbol& s : *symbols) {
      if (!is_monstartup(s)) continue;
      if (s.section == SHN_UNDEF)
        is_imported = true;
      else
        functions.push_back(s.address);
    }
  if ((functions.empty() && !is_imported) || image.code().empty()) return {};
  const ImportTable imports(image);
  return parallel_collect<MonitoredEnd>(program.groups.size(), [&](size_t g, std::vector<MonitoredEnd>& out) {
    if (!may_have_end(image, program.groups[g])) return;
    for (uint32_t part = 0; part < program.groups[g].code.parts.size(); ++part) {
      const Code& code = program.groups[g].code.parts[part];
      for (uint32_t i = 0; i < code.insns.size(); ++i) {
        const Insn& insn = code.insns[i];
        const bool is_direct = insn.flow == Flow::call || insn.flow == Flow::jump;
        if (!is_direct && insn.flow != Flow::call_indirect && insn.flow != Flow::jump_indirect) continue;
        const auto symbol = imports.symbol_called(code, insn);
        if (symbol ? !is_monstartup(image.dynamic_symbols()[*symbol])
                   : !is_direct || std::ranges::find(functions, code.target(insn)) == functions.end())
          continue;
        if (const auto end = end_passed(image, code, part, i)) out.push_back({uint32_t(g), end->first, end->second});
      }
    }
  });
}

}  // namespace profld
