// A function whose bytes are used as data must stay where it is, and as it is: a program that copies it, computes a
// checksum of it or patches it would find the jump at its entry. If an instruction reads it and names its address, that
// is easy to see (movability.cc). But mostly a program takes the address, as for any callback, and passes it to a
// function that reads: memcpy, write, mprotect, or one of its own. Only the later use of the pointer tells whether it
// is a callback:
//
//   * Each function that takes the address of another is looked at (pointer_flow.h): does it read or write through that
//     address, or pass it on, and as which argument of which function?
//   * Each function of the program that gets an address in this way is looked at likewise: how does it use that
//     argument? The many functions that never get the address of code cost nothing.
//   * That an argument is read is then noted at the calls that pass it, and so on backwards, until nothing new is
//     found.
//   * What passes the address to code that is in no known function reads it, for all that is known.
//   * Functions of the C library are known by name. A static program contains them, and their code is followed like the
//     program's own, down to the system call. If a resolver chooses one (IFUNC), all functions that it names are
//     followed.
//   * If two addresses of code are compared, subtracted or passed together, and one of them is read, then the bytes
//     between them are read as well. If a number is passed together with an address that is read, so many bytes are
//     read.
//
// All this is done twice: quickly for the whole program, where too many values are taken for addresses, and again for
// the functions where that found something.
//
// A handler of a signal may compare the program counter with the start and the end of a function. To ask which of two
// addresses is the greater one, or to subtract one, makes sense for places in code, and not for callbacks. So a
// function with whose start that is done counts as read, and so does what lies between that start and the next address
// that is compared, but if this is the end of all code, or of the section with most of it: a function's callers are
// asked for so, or which pages the code has, not what it does. One address alone that is compared is looked for: in the
// bounds of files in memory, or among others that are sorted.
//
// The linker's symbol for the start of the program stands for the first code, where it is read together with an end of
// code: a checksum of the program. Then nothing is left to move.
//
// It is enough that one path through a function reads: checksums have loops, and loops may end at once. Some functions
// take either a callback or the address of data in the same argument, and another argument says which. Their callbacks
// stay without need; they are few.
//
// Not seen: addresses that lie in data (but in words that the linker fills in) or come out of a call, pointers in
// structures, arguments beyond the sixth, functions called through pointers, unless the caller names them
// (-mcmodel=large), and those of other libraries. The manual says so.

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "code_dependences.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/sort_unique.h"
#include "linker-rewrite/program/imports.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/semantics.h"
#include "movability.h"
#include "pointer_flow.h"

namespace profld {

namespace {

// What functions of the C library do with the bytes that their arguments point to.

// Functions of the C library that read, write or protect the bytes that arguments point to: a bit for each, the first
// is bit 0.
inline constexpr uint8_t kFirst = 1, kSecond = 2, kThird = 4;
inline constexpr uint8_t kProtects = 1 << 7;  // only changes what may be done with the bytes, of whole pages
inline constexpr std::pair<std::string_view, uint8_t> kLibraryAccesses[] = {
    {"__memcpy_chk", kFirst | kSecond},
    {"__memmove_chk", kFirst | kSecond},
    {"__mempcpy_chk", kFirst | kSecond},
    {"__memset_chk", kFirst},
    {"__pread64_chk", kSecond},
    {"__pread_chk", kSecond},
    {"__read_chk", kSecond},
    {"bcmp", kFirst | kSecond},
    {"bcopy", kFirst | kSecond},
    {"bzero", kFirst},
    {"fread", kFirst},
    {"fread_unlocked", kFirst},
    {"fwrite", kFirst},
    {"fwrite_unlocked", kFirst},
    {"madvise", kFirst | kProtects},
    {"memccpy", kFirst | kSecond},
    {"memchr", kFirst},
    {"memcmp", kFirst | kSecond},
    {"memcpy", kFirst | kSecond},
    {"memfrob", kFirst},
    {"memmem", kFirst | kThird},
    {"memmove", kFirst | kSecond},
    {"mempcpy", kFirst | kSecond},
    {"memrchr", kFirst},
    {"memset", kFirst},
    {"mlock", kFirst | kProtects},
    {"mprotect", kFirst | kProtects},
    {"mremap", kFirst | kProtects},
    {"msync", kFirst | kProtects},
    {"munmap", kFirst | kProtects},
    {"pkey_mprotect", kFirst | kProtects},
    {"posix_madvise", kFirst | kProtects},
    {"pread", kSecond},
    {"pread64", kSecond},
    {"ptrace", kThird},
    {"pwrite", kSecond},
    {"pwrite64", kSecond},
    {"rawmemchr", kFirst},
    {"read", kSecond},
    {"recv", kSecond},
    {"recvfrom", kSecond},
    {"send", kSecond},
    {"sendto", kSecond},
    {"swab", kFirst | kSecond},
    {"wmemcmp", kFirst | kSecond},
    {"wmemcpy", kFirst | kSecond},
    {"wmemmove", kFirst | kSecond},
    {"write", kSecond},
};

using How = AddressUse::How;
using Asked = AddressUse::Asked;

constexpr uint8_t kAllArguments = (1 << kArguments) - 1;

// An address in one group: see FollowedAddress.
struct Place {
  uint32_t group;
  FollowedAddress address;
  auto operator<=>(const Place&) const = default;
};

// What a call may lead to: groups of the program, and which arguments are read by functions outside it.
struct Callee {
  std::vector<uint32_t> groups;
  uint8_t reads = 0;      // a bit for each argument
  bool protects = false;  // only what may be done with the pages there is changed
};

// Calls `look` with each number in the group's instructions that may be an address of code, or the end of some.
template <class Look>
void for_each_address(const Program& program, const Group& group, Look look) {
  if (program.image->code().empty()) return;
  OldRange all{program.image->code().front().start, program.image->code().back().end + 1};
  for (const Elf64_Phdr& s : program.image->segments())  // gold has data after the code, and etext after that
    if (s.p_type == PT_LOAD && (s.p_flags & PF_X)) all.end = std::max(all.end, OldAddr(s.p_vaddr + s.p_memsz + 1));
  const OldAddr start = program.image->span().start;
  const OldRange words = words_of_linker(*program.image);
  const bool fixed = !program.image->is_position_independent();
  for (const Code& code : group.code.parts) {
    for (const auto& [insn, address] : relocated_numbers(*program.image, code))
      if (all.contains(address)) look(address);
    for (const Insn& insn : code.insns) {
      if (insn.rip_relative) {
        std::optional<OldAddr> a = code.target(insn);
        if (!takes_address(code, insn))
          a = insn.flow == Flow::next ? address_in_word(*program.image, words, *a) : std::nullopt;
        if (a && (all.contains(*a) || *a == start)) look(*a);
        continue;
      }
      if (!fixed || !insn.has_number) continue;
      const ByteView bytes = code.bytes_of(insn);
      if (const auto kept = number_kept_by(bytes)) {
        if (all.contains(OldAddr(*kept)) || OldAddr(*kept) == start) look(OldAddr(*kept));
      } else if (insn.field_size == 0) {
        const auto number = last_number<uint32_t>(bytes);
        if (number && all.contains(OldAddr(*number))) look(OldAddr(*number));
        if (const auto n = last_number<uint64_t>(bytes); n && all.contains(OldAddr(*n))) look(OldAddr(*n));
      }
    }
  }
}

bool starts_function(const Program& program, OldAddr a) {
  const ptrdiff_t r = program.range_of(a);
  return r >= 0 && program.ranges[size_t(r)].range.start == a;
}

// What may be a pointer to a function: one whose start this is, or one that is not known. (What reads from there may go
// on into functions that are.) The start of the program, as well.
bool may_be_function(const Program& program, OldAddr a) {
  return starts_function(program, a) || (program.range_of(a) < 0 && program.image->is_code(a)) ||
         a == program.image->span().start;
}
// A comparison with it may be one with the start of a function: "greater than the number before that".
bool is_before_function(const Program& program, OldAddr a) {
  return !program.image->is_position_independent() && starts_function(program, a + 1);
}

// The end of all code, but for what is in small sections after the one with most of it: .fini, and what programs name.
OldAddr end_of_most_code(const Program& program) {
  OldRange most{OldAddr(0), OldAddr(0)};
  for (const Section& s : program.image->sections()) {
    if (!(s.header.sh_flags & SHF_EXECINSTR) || s.header.sh_size <= most.end - most.start) continue;
    most = {OldAddr(s.header.sh_addr), OldAddr(s.header.sh_addr + s.header.sh_size)};
  }
  return most.end > most.start ? most.end : program.ranges.back().range.end;
}

// Of the addresses that the group's instructions name: starts of functions, and addresses that may say how far one is
// read: those inside functions, ends of code, and code in no function.
std::vector<OldAddr> addresses_of_code(const Program& program, const Group& group, const std::vector<OldAddr>& named) {
  std::vector<OldAddr> addresses;
  for (OldAddr a : named) {
    const ptrdiff_t i = program.range_of(a);
    const CodeRange* r = i >= 0 ? &program.ranges[size_t(i)] : nullptr;
    const bool own_label = r && r->range.start != a && &program.groups[r->group] == &group;
    if (r ? !own_label : program.range_of(a - 1) >= 0 || program.image->is_code(a - 1) || may_be_function(program, a))
      addresses.push_back(a);
  }
  return addresses;
}

// The functions whose start is among the addresses.
std::vector<OldAddr> functions_of(const Program& program, const std::vector<OldAddr>& named) {
  std::vector<OldAddr> functions;
  std::ranges::copy_if(named, std::back_inserter(functions),
                       [&](OldAddr a) { return may_be_function(program, a) || is_before_function(program, a); });
  return functions;
}

// At a fixed address an instruction may hold the address of code, a little more or less, and add an index to it.
void find_absolute_accesses(const Program& program, const Group& group, std::vector<CodeAccess>& found) {
  constexpr unsigned kShortest = 6, kNear = 8;
  for (const Code& code : group.code.parts)
    for (const Insn& insn : code.insns) {
      if (insn.length < kShortest || insn.field_size != 0 || !insn.has_number) continue;
      auto near_code = [&](size_t after) {
        return program.image->is_code(OldAddr(*last_number<uint32_t>(code.bytes_of(insn), after)) + kNear);
      };
      if (!near_code(0) && !near_code(1)) continue;  // after it there may be an immediate
      const Semantics op = semantics_of(code, insn);
      if (op.memory.field == 0 || op.memory_size == 0 || op.action == Action::lea) continue;
      const OldAddr address(uint64_t(op.memory.displacement));
      for (OldAddr a = address; a <= address + kNear; a = a + 1)
        if (const ptrdiff_t r = program.range_of(a); r >= 0 && (found.empty() || found.back().range != uint32_t(r)))
          found.push_back({uint32_t(r), code.address(insn)});
    }
}

// An instruction may hold the whole address of what it reads (movabs, -mcmodel=large), perhaps by a relocation.
void find_far_accesses(const Program& program, const Group& group, std::vector<CodeAccess>& found) {
  constexpr unsigned kShortest = 1 + sizeof(uint64_t);
  for (const Code& code : group.code.parts) {
    const std::vector<std::pair<uint32_t, OldAddr>> relocated = relocated_numbers(*program.image, code);
    for (uint32_t i = 0; i < code.insns.size(); ++i) {
      const Insn& insn = code.insns[i];
      if (insn.length < kShortest || insn.field_size != 0 || !insn.has_number) continue;
      const Semantics op = semantics_of(code, insn);
      const Memory& m = op.memory;
      if (op.memory_size == 0 || m.field != 0 || m.base != kNoRegister || m.index != kNoRegister || !m.understood)
        continue;
      const auto r = std::ranges::find(relocated, i, &std::pair<uint32_t, OldAddr>::first);
      const OldAddr address = r != relocated.end() ? r->second : OldAddr(uint64_t(m.displacement));
      for (OldAddr a = address; a < address + op.memory_size; a = a + 1)
        if (const ptrdiff_t to = program.range_of(a); to >= 0 && (found.empty() || found.back().range != uint32_t(to)))
          found.push_back({uint32_t(to), code.address(insn)});
    }
  }
}

// The uses of one address; `uses` is sorted.
std::span<const AddressUse> uses_of(const std::vector<AddressUse>& uses, FollowedAddress a) {
  const auto first = std::ranges::lower_bound(uses, a, {}, &AddressUse::address);
  const auto end = std::ranges::upper_bound(uses, a, {}, &AddressUse::address);
  return {uses.data() + (first - uses.begin()), size_t(end - first)};
}

class Search {
 public:
  // `quickly`: see Followed.
  Search(const Program& program, const NamedAddresses& named, bool quickly)
      : program_(program), named_(named), quickly_(quickly) {}

  // Follows the addresses that `groups` take.
  void run(const std::vector<uint32_t>& groups) {
    look_at(groups);
    for (uint32_t g : groups)
      for (size_t i = 0; i < functions_[g].followed.addresses.size(); ++i) follow({g, FollowedAddress(kArguments + i)});
    while (!wanted_.empty()) {
      const std::vector<Place> wanted(wanted_.begin(), wanted_.end());
      wanted_.clear();
      std::vector<uint32_t> callees;
      for (const Place& p : wanted) {
        functions_[p.group].followed.arguments |= uint8_t(1u << p.address);
        if (callees.empty() || callees.back() != p.group) callees.push_back(p.group);
      }
      look_at(callees);
      for (const Place& p : wanted) follow(p);
    }
  }

  // Whether one of the addresses that the group takes is read or compared, or its pages are changed.
  bool has_found(uint32_t g) const {
    return std::ranges::any_of(std::array{&read_, &remapped_, &compared_}, [&](const std::set<Place>* found) {
      const auto first = found->lower_bound({g, kArguments});
      return first != found->end() && first->group == g;
    });
  }

  // Finds the code that is read through addresses that the group takes.
  void collect(uint32_t g, std::vector<CodeAccess>& found) {
    if (!has_found(g)) return;
    const Group& group = program_.groups[g];
    const Followed followed{.addresses = addresses_of_code(program_, group, named_[g])};
    const std::vector<AddressUse> all_uses = follow_addresses(program_, group, followed);
    for (size_t i = 0; i < followed.addresses.size(); ++i) {
      const OldAddr start = followed.addresses[i];
      const auto uses = uses_of(all_uses, FollowedAddress(kArguments + i));
      // Who makes all code writable may look for places to patch, which are listed (patch_sites.cc).
      const bool is_all = start == program_.image->span().start;
      const auto reading =
          std::ranges::find_if(uses, [&](const AddressUse& u) { return reads(u) || (!is_all && remaps(u)); });
      if (!may_be_function(program_, start) || reading == uses.end()) continue;
      OldRange range{start, start + 1};
      for (const AddressUse& u : uses) {
        if (reads(u)) range.end = std::max(range.end, start + u.extent);
        if (u.how != How::bounded) continue;
        const OldAddr other = followed.addresses[u.other - kArguments];
        range = {std::min(range.start, other), std::max(range.end, other)};
      }
      for (size_t r = first_range(range.start); r < program_.ranges.size(); ++r) {
        if (program_.ranges[r].range.start >= range.end) break;
        found.push_back({uint32_t(r), reading->at});
      }
    }
    collect_compared(followed.addresses, all_uses, found);
  }

  void collect_compared(const std::vector<OldAddr>& addresses, const std::vector<AddressUse>& all_uses,
                        std::vector<CodeAccess>& found) {
    struct Compared {
      OldAddr address, at;
      bool is_distance;
    };
    std::vector<Compared> compared;
    const auto is_read = [&](FollowedAddress a) {
      return std::ranges::any_of(uses_of(all_uses, a), [&](const AddressUse& u) { return reads(u) || remaps(u); });
    };
    for (size_t i = 0; i < addresses.size(); ++i) {
      const auto uses = uses_of(all_uses, FollowedAddress(kArguments + i));
      // What reads compares as well, to know where to stop.
      if (is_read(FollowedAddress(kArguments + i))) continue;
      if (std::ranges::any_of(uses, [&](const AddressUse& u) { return u.how == How::bounded && is_read(u.other); }))
        continue;
      // Sorted containers order any pointer that they get. Who asks what lies in a function passes its end as well.
      const auto use = std::ranges::find_if(uses, [&](const AddressUse& u) {
        const auto is_range = [&](const AddressUse& v) { return v.how == How::bounded && v.at == u.at; };
        return compares(u) && (u.how != How::passed || std::ranges::any_of(uses, is_range));
      });
      if (use == uses.end()) continue;
      const OldAddr a = addresses[i];
      compared.push_back({!starts_function(program_, a) && is_before_function(program_, a) ? a + 1 : a, use->at,
                          std::ranges::any_of(uses, [](const AddressUse& u) { return u.asked == Asked::distance; })});
    }
    const OldAddr end_of_most = compared.empty() ? OldAddr(0) : end_of_most_code(program_);
    for (const Compared& c : compared) {
      const OldAddr start = c.address;
      const auto next = std::ranges::upper_bound(compared, start, {}, &Compared::address);
      if (!starts_function(program_, start) || (next == compared.end() && !c.is_distance)) continue;
      OldAddr end = start + 1;
      const OldAddr end_of_all = start < end_of_most ? end_of_most : program_.ranges.back().range.end;
      if (next != compared.end() && next->address < end_of_all) end = next->address;
      for (size_t r = first_range(start); r < program_.ranges.size() && program_.ranges[r].range.start < end; ++r)
        found.push_back({uint32_t(r), c.at, true});
    }
  }

 private:
  struct Function {
    Followed followed;
    std::vector<AddressUse> uses;
  };

  void look_at(const std::vector<uint32_t>& groups) {
    std::vector<Function> looked_at(groups.size());
    for (size_t i = 0; i < groups.size(); ++i) looked_at[i].followed = functions_[groups[i]].followed;
    parallel_for(
        groups.size(),
        [&](size_t i) {
          const Group& group = program_.groups[groups[i]];
          Followed& f = looked_at[i].followed;
          f.addresses = functions_of(program_, named_[groups[i]]);
          f.quickly = quickly_;
          looked_at[i].uses = follow_addresses(program_, group, f);
        },
        1);
    for (size_t i = 0; i < groups.size(); ++i) functions_[groups[i]] = std::move(looked_at[i]);
  }

  void follow(const Place& place) {
    for (const AddressUse& u : uses_of(functions_[place.group].uses, place.address)) {
      if (u.how == How::accessed) spread(place, read_);
      if (u.how == How::remapped) spread(place, remapped_);
      if (u.how == How::compared && u.asked != Asked::equality) spread(place, compared_);
      if (u.how != How::passed) continue;
      const Callee& callee = callee_of(u);
      if (callee.reads >> u.argument & 1) spread(place, callee.protects ? remapped_ : read_);
      for (uint32_t g : callee.groups) {
        const Place argument{g, u.argument};
        const auto [passed_by, added] = passed_by_.try_emplace(argument);
        passed_by->second.push_back(place);
        if (added) wanted_.insert(argument);
        for (auto* found : {&read_, &remapped_, &compared_})
          if (found->contains(argument)) spread(place, *found);
      }
    }
  }

  // Adds the place, and all places that pass their address to it.
  void spread(const Place& place, std::set<Place>& found) {
    std::vector<Place> pending{place};
    while (!pending.empty()) {
      const Place p = pending.back();
      pending.pop_back();
      if (!found.insert(p).second) continue;
      if (const auto from = passed_by_.find(p); from != passed_by_.end())
        pending.insert(pending.end(), from->second.begin(), from->second.end());
    }
  }

  bool reads(const AddressUse& u) {
    if (u.how != How::passed) return u.how == How::accessed;
    const Callee& callee = callee_of(u);
    return (!callee.protects && (callee.reads >> u.argument & 1)) || is_found_in(read_, callee, u);
  }
  bool remaps(const AddressUse& u) {
    if (u.how != How::passed) return u.how == How::remapped;
    const Callee& callee = callee_of(u);
    return (callee.protects && (callee.reads >> u.argument & 1)) || is_found_in(remapped_, callee, u);
  }
  bool compares(const AddressUse& u) {
    return u.how == How::passed ? is_found_in(compared_, callee_of(u), u)
                                : u.how == How::compared && u.asked != Asked::equality;
  }
  static bool is_found_in(const std::set<Place>& found, const Callee& callee, const AddressUse& u) {
    return std::ranges::any_of(callee.groups, [&](uint32_t g) { return found.contains({g, u.argument}); });
  }
  // The first range that does not end before `a`.
  size_t first_range(OldAddr a) const {
    return size_t(std::ranges::upper_bound(program_.ranges, a, {}, [](const CodeRange& r) { return r.range.end; }) -
                  program_.ranges.begin());
  }

  const Callee& callee_of(const AddressUse& u) {
    const auto [it, added] = callees_.try_emplace({u.callee, u.through_pointer});
    Callee& callee = it->second;
    if (!added) return callee;
    const auto got_entry = u.through_pointer ? std::optional(u.callee) : got_entry_of_stub(*program_.image, u.callee);
    const Relocation* relocation = got_entry ? program_.image->relocation_at(*got_entry) : nullptr;
    if (!got_entry) {
      add_function(u.callee, callee);
    } else if (relocation && relocation->type == R_X86_64_IRELATIVE) {
      Callee resolver;
      add_function(OldAddr(uint64_t(relocation->addend)), resolver);
      for (uint32_t g : resolver.groups)
        for (OldAddr a : functions_of(program_, named_[g])) add_function(a, callee);
      callee.reads |= resolver.reads;
    } else if (relocation && relocation->type == R_X86_64_RELATIVE) {
      add_function(OldAddr(uint64_t(relocation->addend)), callee);
    } else if (const Symbol* symbol = symbol_of_got_entry(*program_.image, *got_entry)) {
      const auto known =
          std::ranges::find(kLibraryAccesses, symbol->name, &std::pair<std::string_view, uint8_t>::first);
      if (symbol->section != SHN_UNDEF)
        add_function(symbol->address, callee);
      else if (known != std::end(kLibraryAccesses))
        callee.reads = known->second & ~kProtects, callee.protects = known->second & kProtects;
    }
    return callee;
  }

  void add_function(OldAddr a, Callee& callee) const {
    if (starts_function(program_, a))
      callee.groups.push_back(program_.ranges[size_t(program_.range_of(a))].group);
    else if (!only_returns(a))
      callee.reads = kAllArguments;  // code that is not known may read whatever it gets
  }

  // musl's _init and _fini, which no table describes, only push and pop something.
  bool only_returns(OldAddr a) const {
    constexpr unsigned kMax = 8;  // instructions
    for (unsigned i = 0; i < kMax && program_.image->is_code(a); ++i) {
      const CachedInsn* in = DecodeCache::of_this_thread().find(program_.image->bytes_from(a));
      if (!in || in->unusable || !in->has_semantics) return false;
      if (in->insn.flow == Flow::ret) return true;
      const Action action = in->semantics.action;
      if (in->insn.flow != Flow::next || (action != Action::push && action != Action::pop)) return false;
      a = a + in->insn.length;
    }
    return false;
  }

  const Program& program_;
  const NamedAddresses& named_;
  const bool quickly_;
  std::unordered_map<uint32_t, Function> functions_;  // by group; groups that were looked at
  std::map<Place, std::vector<Place>> passed_by_;     // for an argument: what is passed as it
  std::set<Place> wanted_;                            // arguments that are not followed yet
  std::set<Place> read_, remapped_, compared_;
  std::map<std::pair<OldAddr, bool>, Callee> callees_;  // by AddressUse::callee and through_pointer
};

}  // namespace

NamedAddresses addresses_named(const Program& program) {
  NamedAddresses named(program.groups.size());
  parallel_for(program.groups.size(), [&](size_t g) {
    for_each_address(program, program.groups[g], [&](OldAddr a) { named[g].push_back(a); });
    sort_unique(named[g]);
  });
  return named;
}

std::vector<CodeAccess> find_code_accesses(const Program& program, const NamedAddresses& named) {
  const bool is_fixed = !program.image->is_position_independent();
  std::vector<CodeAccess> found;
  if (is_fixed || program.image->has_text_relocations())
    found = parallel_collect<CodeAccess>(program.groups.size(), [&](size_t g, std::vector<CodeAccess>& out) {
      if (is_fixed) find_absolute_accesses(program, program.groups[g], out);
      find_far_accesses(program, program.groups[g], out);
    });
  std::vector<uint32_t> groups;
  for (uint32_t g = 0; g < program.groups.size(); ++g)
    if (!functions_of(program, named[g]).empty()) groups.push_back(g);
  Search quick(program, named, true);
  quick.run(groups);
  std::erase_if(groups, [&](uint32_t g) { return !quick.has_found(g); });
  Search thorough(program, named, false);
  thorough.run(groups);
  for (uint32_t g : groups) thorough.collect(g, found);
  return found;
}

}  // namespace profld
