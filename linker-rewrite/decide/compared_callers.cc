// A function may ask who called it: whether its return address lies in the program's text, in a section of trusted
// functions, after a certain function. If its caller is a copy, the address lies in none of these. So the callers stay.
//
//   * Functions that read the word of the stack with their return address are few (x86/return_slot.h). That address is
//     followed in each (pointer_flow.h), and through the functions that get it as an argument. It counts if its order
//     to an address that the code names is asked for, or its distance from one.
//   * If the program names the end of a part of its code anywhere (etext, __stop_X), which is for no other purpose, it
//     also counts if the other is what some variable holds, and if the return address goes to where it is not followed:
//     to memory, the caller, another file. Otherwise it does not: the C library asks which file an address lies in, and
//     copies lie in the right one; others keep it with what they allocate.
//   * That it is equal to something never counts: that is how callers are told apart.
//   * Who jumps to such a function at its end (a tail call) hands its own return address on: its callers stay, too.
//   * Such a function may be called through a pointer, if its address is anywhere: then each function that calls
//     through pointers may be its caller.
//
// Not seen: return addresses of other functions (backtrace, __builtin_return_address(1)).

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "code_dependences.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/sort_unique.h"
#include "linker-rewrite/program/imports.h"
#include "linker-rewrite/x86/return_slot.h"
#include "pointer_flow.h"

namespace profld {

namespace {

using How = AddressUse::How;

// Where a part of the code ends that symbols may bound: addresses that are used for nothing else.
std::vector<OldAddr> bounds_of_code(const Image& image) {
  std::vector<OldAddr> bounds;
  for (const Section& s : image.sections()) {
    if (!(s.header.sh_flags & SHF_EXECINSTR)) continue;
    const OldAddr end(s.header.sh_addr + s.header.sh_size);
    const auto is_of_identifier = [](char c) {
      return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    };
    const bool has_symbols = !s.name.empty() && std::ranges::all_of(s.name, is_of_identifier);
    if (has_symbols) bounds.push_back(end);
  }
  for (const Elf64_Phdr& s : image.segments())
    if (s.p_type == PT_LOAD && (s.p_flags & PF_X) && s.p_memsz != 0) bounds.emplace_back(s.p_vaddr + s.p_memsz);
  sort_unique(bounds);
  return bounds;
}

// Whether the code or the data names one of them, but for the end of what gprof is to watch.
bool names_end_of_code(const Program& program, const NamedAddresses& addresses) {
  const Image& image = *program.image;
  const std::vector<OldAddr> bounds = bounds_of_code(image);
  std::optional<std::vector<MonitoredEnd>> monitored;  // few programs name a bound
  const auto is_bound = [&](OldAddr a) { return std::ranges::binary_search(bounds, a); };
  for (size_t g = 0; g < addresses.size(); ++g)
    for (OldAddr a : addresses[g]) {
      if (!is_bound(a)) continue;
      if (!monitored) monitored = find_monitored_ends(program);
      if (std::ranges::none_of(*monitored, [&](const auto& m) { return m.group == g && m.end == a; })) return true;
    }
  const std::vector<Symbol>& symbols = image.dynamic_symbols();
  for (const Relocation& r : image.relocations()) {
    uint64_t target = uint64_t(r.addend);
    if (r.symbol != 0 && r.symbol < symbols.size()) target += symbols[r.symbol].address.value;
    if (r.type != R_X86_64_IRELATIVE && is_bound(OldAddr(target))) return true;
  }
  if (image.is_position_independent()) return false;
  for (const Section& s : image.sections()) {  // without the dynamic linker's tables, which name what the linker made
    if (s.header.sh_type != SHT_PROGBITS || (s.header.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) != SHF_ALLOC) continue;
    const ByteView bytes = image.file().subspan(s.header.sh_offset, s.header.sh_size);
    Reader words(bytes.subspan(std::min<uint64_t>(align_up(s.header.sh_addr, 8) - s.header.sh_addr, bytes.size())),
                 "data");
    while (words.remaining() >= sizeof(uint64_t))
      if (is_bound(OldAddr(words.u64()))) return true;
  }
  return false;
}

class CallerSearch {
 public:
  CallerSearch(const Program& program, const NamedAddresses& named) : program_(program), named_(named) {}

  // The groups that ask about their return addresses, and where.
  std::map<uint32_t, OldAddr> run() {
    const auto readers = parallel_collect<uint32_t>(program_.groups.size(), [&](size_t g, std::vector<uint32_t>& out) {
      if (may_read_return_slot(program_.groups[g].code.parts)) out.push_back(uint32_t(g));
    });
    std::map<uint32_t, OldAddr> found;
    for (const auto& [group, use] : uses_in(readers, false))
      if (const auto at = ordered_at(use)) found.emplace(group, *at);
    if (!readers.empty() && names_end())
      for (const auto& [group, use] : uses_in(readers, true)) found.emplace(group, use.at);
    return found;
  }

  // The group of the function that a call or a jump to `target` of another function leads to: directly, or through a
  // linker's stub or a word for a symbol of this file. nullopt if there is none.
  std::optional<uint32_t> callee(OldAddr target, bool through_pointer) const {
    const auto word = through_pointer ? std::optional(target) : got_entry_of_stub(*program_.image, target);
    if (word) {
      const Relocation* relocation = program_.image->relocation_at(*word);
      const Symbol* symbol = symbol_of_got_entry(*program_.image, *word);
      if (relocation && relocation->type == R_X86_64_RELATIVE)
        target = OldAddr(uint64_t(relocation->addend));
      else if (symbol && symbol->section != SHN_UNDEF)
        target = symbol->address;
      else
        return std::nullopt;
    }
    const ptrdiff_t i = program_.range_of(target);
    if (i < 0 || program_.ranges[size_t(i)].range.start != target) return std::nullopt;
    return program_.ranges[size_t(i)].group;
  }

 private:
  // Of the return address, in each of the groups.
  std::vector<std::pair<uint32_t, AddressUse>> uses_in(const std::vector<uint32_t>& groups, bool where_kept) const {
    using Use = std::pair<uint32_t, AddressUse>;
    const Followed followed{.addresses = {kReturnAddress}, .where_kept = where_kept, .notes_order = true};
    return parallel_collect<Use>(
        groups.size(),
        [&](size_t i, std::vector<Use>& out) {
          for (const AddressUse& u : follow_addresses(program_, program_.groups[groups[i]], followed))
            out.emplace_back(groups[i], u);
        },
        1);
  }

  bool names_end() {
    if (!names_end_) names_end_ = names_end_of_code(program_, named_);
    return *names_end_;
  }

  // Where the order of the value is asked for, if that is how it is used.
  std::optional<OldAddr> ordered_at(const AddressUse& u) {
    if (u.how == How::ordered_to_named) return u.at;
    if (u.how == How::ordered && names_end()) return u.at;
    if (u.how != How::passed) return std::nullopt;
    const auto group = callee(u.callee, u.through_pointer);
    return group ? of_argument({*group, u.argument}) : std::nullopt;
  }

  std::optional<OldAddr> of_argument(std::pair<uint32_t, uint8_t> argument) {
    const auto [it, added] = arguments_.try_emplace(argument);
    if (!added) return it->second;
    const Followed followed{.addresses = {}, .arguments = uint8_t(1u << argument.second), .notes_order = true};
    std::optional<OldAddr> at;
    for (const AddressUse& u : follow_addresses(program_, program_.groups[argument.first], followed))
      if (!at) at = ordered_at(u);
    return arguments_[argument] = at;
  }

  const Program& program_;
  const NamedAddresses& named_;
  std::optional<bool> names_end_;
  std::map<std::pair<uint32_t, uint8_t>, std::optional<OldAddr>> arguments_;  // of groups
};

bool is_jump(const Insn& insn) {
  return insn.flow == Flow::jump || insn.flow == Flow::jump_if ||
         (insn.flow == Flow::jump_indirect && insn.rip_relative);
}

bool is_call(const Insn& insn) {
  return insn.flow == Flow::call || (insn.flow == Flow::call_indirect && insn.rip_relative);
}

}  // namespace

void keep_compared_callers(Program& program, const DataReferences& data, const NamedAddresses& addresses) {
  CallerSearch search(program, addresses);
  std::map<uint32_t, OldAddr> asking = search.run();
  if (asking.empty()) return;

  // All calls and jumps between functions.
  struct Way {
    uint32_t from, to;
    bool is_jump;
  };
  const auto ways = parallel_collect<Way>(program.groups.size(), [&](size_t g, std::vector<Way>& out) {
    for (const Code& code : program.groups[g].code.parts)
      for (const Insn& insn : code.insns) {
        if (!is_jump(insn) && !is_call(insn)) continue;
        const auto to = search.callee(code.target(insn), insn.rip_relative);
        if (to && (*to != g || is_call(insn))) out.push_back({uint32_t(g), *to, is_jump(insn)});
      }
  });
  for (bool more = true; more;) {
    more = false;
    for (const Way& w : ways)
      if (const auto to = asking.find(w.to); w.is_jump && to != asking.end())
        more |= asking.emplace(w.from, to->second).second;
  }
  const auto keep = [&](uint32_t group, OldAddr at) { program.groups[group].stay({ReasonCode::caller_compared, at}); };
  for (const Way& w : ways)
    if (const auto to = asking.find(w.to); !w.is_jump && to != asking.end()) keep(w.from, to->second);

  // Those whose address is in data or in code.
  std::optional<OldAddr> by_pointer;
  const auto named = [&](OldAddr a) {
    const auto group = search.callee(a, false);
    const auto it = group ? asking.find(*group) : asking.end();
    if (it != asking.end() && !by_pointer) by_pointer = it->second;
  };
  for (const auto& [word, target] : data.code_pointers) named(target);
  for (const Relocation& r : program.image->relocations())
    if (r.type == R_X86_64_64 && r.symbol < program.image->dynamic_symbols().size())
      if (const Symbol& s = program.image->dynamic_symbols()[r.symbol]; s.section != SHN_UNDEF) named(s.address);
  for (const std::vector<OldAddr>& of_group : addresses)
    for (OldAddr a : of_group) named(a);
  if (!by_pointer) return;
  for (uint32_t g = 0; g < program.groups.size(); ++g)
    for (const Code& code : program.groups[g].code.parts)
      if (std::ranges::any_of(code.insns, [](const Insn& i) {
            return (i.flow == Flow::call_indirect || i.flow == Flow::jump_indirect) && !i.rip_relative;
          }))
        keep(g, *by_pointer);
}

}  // namespace profld
