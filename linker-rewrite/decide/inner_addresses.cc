// Some programs know places in their code by address. A handler of SIGSEGV looks the program counter up in a table of
// loads that may fault, and goes on where the table says; valgrind compares it with four labels around a system call.
// In a copy the program counter is another one, and a table that named the copy's instructions would be wrong for what
// is put in front of them (a counter, a hook). So a function stays if data holds an address inside it that no jump is
// known to use. Addresses of entries are no such thing, nor are those that a function's own jumps to labels may read.
//
// What holds an address:
//
//   * a word with a relocation. That is certain.
//   * at a fixed address a word without one that has the number (program/data_references.h). It may be anything else.
//     But what is an address by accident is mostly one between two instructions, and others around it are, too.
//   * four bytes with the distance from their own place (.long place - .), or from where their object begins. Nearly
//     any table of small numbers has some by accident.
//   * at a fixed address four bytes with the number itself.
//
// So words that may be something else are looked at in runs: those that lead to code, with little between them, up to
// the next object. A run is believed if not one of them leads between two instructions, and if it has two that lead to
// instructions; or one, where something names its address. Tables of 16-bit numbers with -1 in them, vectors of the
// same number, tables of functions with numbers beside them, and short texts have such runs by accident. So rows of
// distances must begin where an object does, or not far after, and that object must not be full of other numbers. Not
// all words may be the same, or of few small bytes, or flags or masks, or a text. And a short run amid an object is no
// table if more words of the object lead to code alone, as in large sparse tables of 16-bit numbers.
//
// A word that is the end of a function, where no other one begins, is the end of a range that the program counter is
// compared with. Where one begins, it is that one's address, for all that is known. If the word before it leads to
// another function, the range is that of a whole unit, as OCaml's programs have one for each module: to keep all of
// them would leave nothing to profile, and to keep the last one alone is of no use.
//
// Instructions hold addresses of labels, too. Most of these are for jumps: a function's own, a goto out of a nested
// function, __builtin_longjmp. But what control also runs into from the instruction before it, and what may fault, is
// no such label, or is one for a handler as well: the function stays. A number at a fixed address is not changed in the
// copy, so it stays as well if such a number is compared with a value of eight bytes. Flags and masks are no such
// numbers, nor is what is added in four bytes, or a text that is written in four.
//
// Not seen: distances from elsewhere (from a function's start, from the start of the program), numbers of other sizes,
// and what the program computes. Such tables of the linker's and the compiler's own (unwind tables, jump tables,
// relocations, symbols) are left out.

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "code_dependences.h"
#include "linker-rewrite/base/address.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/sort_unique.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/semantics.h"
#include "pointer_flow.h"

namespace profld {

namespace {

// What is at an address in code.
enum class Place : uint8_t {
  nowhere,  // no code
  outside,  // code in no function
  between,  // two instructions of a function
  entry,    // of a function, or of a part of one
  inside,   // an instruction within a function
  end,      // of a function; no other begins there
};

// How a word may say where something is.
enum class Form : uint8_t { from_itself, from_object, number, long_number };
constexpr Form kForms[] = {Form::from_itself, Form::from_object, Form::number, Form::long_number};

constexpr uint64_t kStep = 4, kLong = 8, kMaxBetween = 32;  // bytes

// Words of one form that lead to code.
struct Run {
  OldAddr first, last;
  bool is_bad = false;                              // one leads between two instructions
  unsigned words = 0;                               // that lead to instructions, or to the end of a function
  std::vector<std::pair<OldAddr, OldAddr>> inside;  // word and target of those that lead inside, or to an end
};

class Finder {
 public:
  Finder(const Program& program, const DataReferences& data)
      : program_(program), image_(*program.image), fixed_(!image_.is_position_independent()), data_(data) {
    for (const auto* table : {&image_.symbols(), &image_.dynamic_symbols()})
      for (const Symbol& s : *table)
        if ((s.type == STT_FUNC || s.type == STT_GNU_IFUNC) && s.section != SHN_UNDEF) entries_.push_back(s.address);
    parallel_sort(entries_);
    jumps_to_labels_.resize(program.groups.size());
    for (size_t g = 0; g < program.groups.size(); ++g)
      jumps_to_labels_[g] = std::ranges::any_of(program.groups[g].indirect.jumps,
                                                [](const IndirectJump& j) { return j.kind == JumpKind::labels; });
  }

  std::vector<InnerAddress> find() {
    if (image_.code().empty()) return {};
    code_ = {image_.code().front().start, image_.code().back().end};
    look_at_code();
    std::vector<InnerAddress> in_code = std::exchange(found_, {});
    find_relocated();
    find_starts();
    find_tables();
    find_words();
    found_.insert(found_.end(), in_code.begin(), in_code.end());
    return std::move(found_);
  }

 private:
  Place place_of(OldAddr a) const {
    if (a < code_.start || a > code_.end) return Place::nowhere;
    const ptrdiff_t i = program_.range_of(a);
    if (i >= 0 && program_.ranges[size_t(i)].range.start == a) return Place::entry;
    if (std::ranges::binary_search(entries_, a)) return Place::entry;
    if (i < 0) return program_.range_of(a - 1) >= 0 ? Place::end : image_.is_code(a) ? Place::outside : Place::nowhere;
    return program_.code(program_.ranges[size_t(i)]).is_target(a) ? Place::inside : Place::between;
  }

  // The function that `target` is inside or at the end of stays.
  void hold(OldAddr target, OldAddr at, std::vector<InnerAddress>& out) const {
    const ptrdiff_t i = program_.range_of(target) >= 0 ? program_.range_of(target) : program_.range_of(target - 1);
    if (!jumps_to_labels_[program_.ranges[size_t(i)].group]) out.push_back({uint32_t(i), at});
  }

  // Whether the end of a function is that of a range in it. `before`, `after`: what the words around lead to, which may
  // be no code.
  bool ends_own_range(OldAddr before, OldAddr end, OldAddr after) const {
    if (!code_.contains(before)) return !code_.contains(after) || after < end;  // else a range begins here
    const ptrdiff_t i = program_.range_of(before), own = program_.range_of(end - 1);
    return before < end && i >= 0 && program_.ranges[size_t(i)].group == program_.ranges[size_t(own)].group;
  }

  bool ends_section(OldAddr a) const {
    return !image_.is_code(a) || std::ranges::any_of(image_.sections(), [&](const Section& s) {
      return (s.header.sh_flags & SHF_EXECINSTR) && OldAddr(s.header.sh_addr) + s.header.sh_size == a;
    });
  }

  // What a word with a relocation leads to, if that is known.
  std::optional<OldAddr> target_of(const Relocation& r) const {
    const auto& symbols = image_.dynamic_symbols();
    if (r.type == R_X86_64_RELATIVE) return OldAddr(uint64_t(r.addend));
    if (r.type != R_X86_64_64 && r.type != R_X86_64_GLOB_DAT) return std::nullopt;
    if (r.symbol >= symbols.size() || symbols[r.symbol].section == SHN_UNDEF) return std::nullopt;
    return symbols[r.symbol].address + (r.type == R_X86_64_64 ? uint64_t(r.addend) : 0);
  }

  // What the word with a relocation at an address leads to.
  OldAddr word_at(OldAddr at) const {
    const Relocation* r = image_.relocation_at(at);
    return r ? target_of(*r).value_or(OldAddr()) : OldAddr();
  }
  // The nearest one before an address that leads to code, if it is not far.
  OldAddr word_before(OldAddr at) const {
    for (uint64_t distance = kLong; distance <= kMaxBetween; distance += kLong)
      if (const OldAddr target = word_at(at - distance); code_.contains(target)) return target;
    return {};
  }

  void find_relocated() {
    for (const Relocation& r : image_.relocations()) {
      const std::optional<OldAddr> target = target_of(r);
      if (!target || program_.frame_tables.has(r.where)) continue;
      const Place place = place_of(*target);
      if (place == Place::end) {
        const bool is_alone = r.type == R_X86_64_GLOB_DAT;  // in a table of the linker's
        if (!ends_section(*target) &&
            (is_alone || ends_own_range(word_before(r.where), *target, word_at(r.where + kLong))))
          hold(*target, r.where, found_);
      } else if (place == Place::inside || place == Place::between) {
        hold(*target, r.where, found_);
      }
    }
  }

  // What instructions name: places in code, and numbers that may be addresses of data.
  void look_at_code() {
    struct Named {
      std::optional<InnerAddress> inner;
      OldAddr start;
    };
    const auto named = parallel_collect<Named>(program_.groups.size(), [&](size_t g, std::vector<Named>& out) {
      std::vector<OldAddr> numbers;
      std::vector<InnerAddress> inner;
      for (const Code& code : program_.groups[g].code.parts)
        for (const Insn& insn : code.insns)
          if (insn.rip_relative) {
            find_named_by(g, code, insn, inner);
          } else if (fixed_ && insn.field_size == 0 && insn.has_number) {
            const ByteView bytes = code.bytes_of(insn);
            const OldAddr small(last_number<uint32_t>(bytes).value_or(0)),
                large(last_number<uint64_t>(bytes).value_or(0));
            if (!image_.span().contains(small) && !image_.span().contains(large)) continue;
            append_numbers(g, code, insn, {small, large}, numbers);
            const std::optional<uint64_t> kept = number_kept_by(bytes);
            const OldAddr a = kept ? OldAddr(*kept) : small;
            if (!image_.span().contains(a) || code_.contains(a)) continue;
            if (kept || semantics_of(code, insn).memory.displacement == int64_t(a.value))
              out.push_back({std::nullopt, a});
          }
      if (!numbers.empty()) find_compared(program_.groups[g], std::move(numbers), inner);
      for (const InnerAddress& a : inner) out.push_back({a, {}});
    });
    for (const Named& n : named)
      if (!n.inner)
        starts_.push_back(n.start);
      else
        found_.push_back({n.inner->range, n.inner->at, true});
  }

  // An instruction that control runs into, and that may fault, is no label for jumps, or not for them alone.
  bool may_fault(OldAddr a) const {
    const Code& code = program_.code(program_.ranges[size_t(program_.range_of(a))]);
    const auto i = code.index(a);
    if (!i || *i == 0) return false;
    const Flow before = code.insns[*i - 1].flow;
    if (before == Flow::jump || before == Flow::jump_indirect || before == Flow::ret || before == Flow::stop)
      return false;
    const Semantics op = semantics_of(code, code.insns[*i]);
    const bool on_stack = op.memory.base == kRsp || op.memory.base == kRbp;
    return op.memory_size != 0 && op.action != Action::lea && !on_stack && !op.memory.rip_relative;
  }

  bool is_base_of_table(size_t g, OldAddr label) const {
    return std::ranges::any_of(program_.groups[g].indirect.tables, [&](const JumpTable& t) { return t.base == label; });
  }

  void find_named_by(size_t g, const Code& code, const Insn& insn, std::vector<InnerAddress>& out) const {
    const OldAddr label = code.target(insn);
    if (!code_.contains(label) || !takes_address(code, insn) || place_of(label) != Place::inside) return;
    if (!is_base_of_table(g, label) && may_fault(label)) hold(label, code.address(insn), out);
  }

  // `last`: what its last bytes say as numbers.
  void append_numbers(size_t g, const Code& code, const Insn& insn, std::initializer_list<OldAddr> last,
                      std::vector<OldAddr>& numbers) const {
    for (OldAddr n : last) {
      if (!code_.contains(n) || is_base_of_table(g, n)) continue;
      if (is_of_small_bytes(n.value) || is_of_small_bytes(n.value + 1) || is_of_few_bits(n.value)) continue;
      if (place_of(n) != Place::inside && place_of(n + 1) != Place::inside) continue;
      const Semantics op = semantics_of(code, insn);  // the bytes may be no number
      if (compares_half(op) || adds_half(op)) continue;
      if ((op.immediate_field != 0 && OldAddr(uint64_t(op.immediate)) == n) ||
          (op.memory.field != 0 && OldAddr(uint64_t(op.memory.displacement)) == n))
        numbers.push_back(n);
    }
  }

  static bool compares_half(const Semantics& op) { return op.action == Action::compare && op.to.size < kLong; }
  static bool adds_half(const Semantics& op) {
    const bool is_sum = op.action == Action::lea && (op.memory.base != kNoRegister || op.memory.index != kNoRegister);
    return (is_sum || op.action == Action::add || op.action == Action::subtract) && op.to.size < kLong;
  }
  static bool writes_half(const Semantics& op) {
    return op.action == Action::move && op.to.type == Operand::Type::memory && op.to.size < kLong;
  }
  template <class Is>
  static bool is_at(const Group& group, OldAddr at, const Is& is) {
    return std::ranges::any_of(group.code.parts, [&](const Code& code) {
      const auto i = code.index(at);
      return i && is(semantics_of(code, code.insns[*i]));
    });
  }

  // Numbers that are compared, or kept where they may be compared later. Most are neither, which is found out quickly.
  void find_compared(const Group& group, std::vector<OldAddr> numbers, std::vector<InnerAddress>& out) const {
    sort_unique(numbers);
    Followed followed{.addresses = std::move(numbers), .quickly = true};
    const auto compared = [&](const AddressUse& u) -> std::optional<OldAddr> {
      if (u.how != AddressUse::How::compared || is_at(group, u.at, compares_half)) return std::nullopt;
      const OldAddr a = followed.addresses[u.address - kArguments];
      if (place_of(a) == Place::inside) return a;
      const bool is_before = u.asked == AddressUse::Asked::order && place_of(a) != Place::entry;
      return is_before && place_of(a + 1) == Place::inside ? std::optional(a + 1) : std::nullopt;
    };
    if (std::ranges::any_of(follow_addresses(program_, group, followed),
                            [&](const AddressUse& u) { return compared(u).has_value(); })) {
      followed.quickly = false;
      for (const AddressUse& u : follow_addresses(program_, group, followed))
        if (const auto a = compared(u)) hold(*a, u.at, out);
    }
    const auto may_be_label_of_handler = [&](OldAddr a) { return place_of(a) == Place::inside && may_fault(a); };
    if (std::ranges::none_of(followed.addresses, may_be_label_of_handler)) return;
    followed.quickly = false;
    followed.where_kept = true;
    for (const AddressUse& u : follow_addresses(program_, group, followed))
      if (const OldAddr a = followed.addresses[u.address - kArguments];
          may_be_label_of_handler(a) && !(is_text(a.value) && is_at(group, u.at, writes_half)))
        hold(a, u.at, out);
  }

  // Where objects begin: as far as the analysis of jumps knows, sections, and numbers in code that may be addresses.
  void find_starts() {
    starts_.insert(starts_.end(), data_.object_starts.begin(), data_.object_starts.end());
    for (const Section& s : image_.sections())
      if (s.header.sh_flags & SHF_ALLOC) sections_.emplace_back(s.header.sh_addr);
    std::ranges::sort(sections_);
    starts_.insert(starts_.end(), sections_.begin(), sections_.end());
    parallel_sort(starts_);
    starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
  }

  // What is left out: code, and what has a meaning of its own.
  void find_tables() {
    std::vector<OldRange> tables = image_.code();
    const auto add = [&](uint64_t start, uint64_t size) { tables.push_back({OldAddr(start), OldAddr(start) + size}); };
    add(image_.span().start.value, sizeof(Elf64_Ehdr) + image_.header().e_phnum * sizeof(Elf64_Phdr));
    for (const Section& s : image_.sections())
      if ((s.header.sh_flags & SHF_ALLOC) && (s.header.sh_type != SHT_PROGBITS || s.name.starts_with(".eh_frame") ||
                                              s.name.starts_with(".gcc_except_table")))
        add(s.header.sh_addr, s.header.sh_size);
    constexpr std::pair<int64_t, int64_t> kTables[] = {
        {DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}, {DT_RELR, DT_RELRSZ}, {DT_STRTAB, DT_STRSZ}};
    for (const auto& [tag, size_tag] : kTables)
      if (const auto start = image_.dynamic_value(tag), size = image_.dynamic_value(size_tag); start && size)
        add(*start, *size);
    if (const auto symbols = image_.dynamic_value(DT_SYMTAB))
      add(*symbols, image_.dynamic_symbols().size() * sizeof(Elf64_Sym));
    for (const Elf64_Phdr& s : image_.segments())
      if (s.p_type == PT_GNU_EH_FRAME || s.p_type == PT_NOTE || s.p_type == PT_DYNAMIC || s.p_type == PT_INTERP)
        add(s.p_vaddr, s.p_filesz);
    OldAddr first_record(UINT64_MAX), last_record;
    for (const Fde& f : program_.frames->fdes)
      if (!f.made) first_record = std::min(first_record, f.record), last_record = std::max(last_record, f.record);
    if (last_record > first_record) add(first_record.value, last_record - first_record);
    for (const Group& g : program_.groups)
      for (const JumpTable& t : g.indirect.tables) add(t.first.value, t.likely * t.entry_size);
    std::ranges::sort(tables, {}, &OldRange::start);
    for (OldRange t : tables)
      if (!tables_.empty() && t.start <= tables_.back().end)
        tables_.back().end = std::max(tables_.back().end, t.end);
      else
        tables_.push_back(t);
  }

  // All other data, object by object.
  void find_words() {
    std::vector<OldRange> rest, objects;
    for (const Elf64_Phdr& s : image_.segments())
      if (s.p_type == PT_LOAD) append_uncovered(rest, {OldAddr(s.p_vaddr), OldAddr(s.p_vaddr) + s.p_filesz}, tables_);
    for (OldRange r : rest) {
      auto start = std::ranges::upper_bound(starts_, r.start);
      for (; start != starts_.end() && *start < r.end; ++start) {
        objects.push_back({r.start, *start});
        r.start = *start;
      }
      objects.push_back(r);
    }
    const std::vector<InnerAddress> found =
        parallel_collect<InnerAddress>(objects.size(), [&](size_t i, std::vector<InnerAddress>& out) {
          const OldRange object = objects[i];
          for (Form form : kForms) {
            if (!fixed_ && (form == Form::number || form == Form::long_number)) continue;
            find_words_of(object, form, object.start, out);
            const OldAddr aligned(align_up(object.start.value, form == Form::long_number ? kLong : kStep));
            if (aligned != object.start && aligned < object.end) find_words_of(object, form, aligned, out);
          }
        });
    found_.insert(found_.end(), found.begin(), found.end());
  }

  void find_words_of(OldRange object, Form form, OldAddr from, std::vector<InnerAddress>& out) const {
    const uint64_t size = form == Form::long_number ? kLong : kStep;
    // The first word may be longer than its object: code may name its end less a number as well.
    const uint64_t room = std::max(size, object.end > from ? object.end - from : 0);
    const ByteView all = image_.bytes_from(from), bytes = all.first(std::min<uint64_t>(room, all.size()));
    Run run;
    std::vector<Run> runs;
    const auto end_run = [&] {
      if (!run.inside.empty()) runs.push_back(std::move(run));
      run = {};
    };
    // Most objects have no run that could be believed, which shows at their start.
    const bool begins_with_object = form == Form::from_object || form == Form::number;
    if (begins_with_object && from != object.start) return;
    if (form == Form::number && !std::ranges::binary_search(sections_, object.start)) return;
    const uint64_t begins_within = begins_with_object ? 0 : form == Form::from_itself ? kMaxBetween : bytes.size();
    const OldAddr base = form == Form::from_itself ? from : form == Form::from_object ? object.start : OldAddr();
    const auto number_at = [&](const uint8_t* p) { return size == kLong ? load<int64_t>(p) : load<int32_t>(p); };
    const auto target_at = [&](OldAddr at, int64_t n) {
      return base + (form == Form::from_itself ? at - from : 0) + uint64_t(n);
    };
    const auto word_target = [&](OldAddr at) {
      const auto word = image_.bytes(at, size);
      return word ? target_at(at, number_at(word->data())) : OldAddr();
    };
    const auto before = [&](OldAddr at) {
      for (uint64_t distance = size; distance <= kMaxBetween; distance += size)
        if (const OldAddr target = word_target(at - distance); code_.contains(target)) return target;
      return OldAddr();
    };
    for (uint64_t i = 0; i + size <= bytes.size(); i += size) {
      const int64_t n = number_at(bytes.data() + i);
      const OldAddr at = from + i, target = target_at(at, n);
      const bool is_nowhere = target < code_.start || target > code_.end;
      if (run.first == OldAddr() && runs.empty() && at - object.start > begins_within) break;
      if (n == 0 || (is_nowhere && run.first == OldAddr())) continue;
      const Place place = is_nowhere ? Place::nowhere : place_of(target);
      if (place == Place::nowhere && run.first != OldAddr() && !may_be_between(n)) end_run();
      if (place == Place::nowhere || program_.frame_tables.has(at) || image_.relocation_at(at)) continue;
      if (at > run.last + kMaxBetween) end_run();
      if (run.first == OldAddr()) run.first = at;
      run.last = at;
      run.is_bad |= place == Place::between;
      run.words += place == Place::entry || place == Place::inside || place == Place::end;
      if (place == Place::inside || (place == Place::end && ends_own_range(before(at), target, word_target(at + size))))
        run.inside.emplace_back(at, target);
    }
    end_run();
    choose(object, form, runs, out);
  }

  template <class Number>
  static Number load(const uint8_t* at) {
    Number n;
    std::memcpy(&n, at, sizeof n);
    return n;
  }

  // In a table of addresses there may be flags as well, and addresses of data.
  bool may_be_between(int64_t n) const {
    constexpr int64_t kMaxFlags = 1 << 16;
    return (n > -kMaxFlags && n < kMaxFlags) || image_.span().contains(OldAddr(uint64_t(n)));
  }

  bool is_empty(OldRange range) const {
    constexpr uint64_t kMax = 64;  // bytes
    if (range.start >= range.end) return true;
    const auto bytes = range.size() <= kMax ? image_.bytes(range.start, range.size()) : std::nullopt;
    return bytes && std::ranges::all_of(*bytes, [](uint8_t b) { return b == 0; });
  }

  bool may_fault_or_wait(const Code& code, const Insn& insn) const {
    if (insn.flow == Flow::stop || is_system_call(code.bytes_of(insn))) return true;
    const Semantics op = semantics_of(code, insn);
    return op.memory_size != 0 && op.action != Action::lea;
  }
  // An instruction that a signal is likely to stop at, or the one after it.
  bool may_be_stopped_at(OldAddr a) const {
    const ptrdiff_t range = program_.range_of(a);
    if (range < 0) return false;
    const Code& code = program_.code(program_.ranges[size_t(range)]);
    const size_t i = code.covering(a);
    return may_fault_or_wait(code, code.insns[i]) || (i > 0 && may_fault_or_wait(code, code.insns[i - 1]));
  }

  // A number of few small bytes: flags, a count. Hardly ever the address of an instruction.
  static bool is_of_small_bytes(uint64_t n) {
    constexpr uint8_t kSmall = 16;
    unsigned zero = 0, small = 0;
    for (unsigned byte = 0; byte < kStep; ++byte) {
      const uint8_t b = uint8_t(n >> 8 * byte);
      zero += b == 0 && byte < kStep - 1;  // in small programs the last one is always 0
      small += b < kSmall;
    }
    return small == kStep || zero > 1;
  }
  // Flags, or a mask: few of its bits differ from its sign, or those that do are in a row. Hardly ever an address, or a
  // distance.
  static bool is_of_few_bits(uint64_t n) {
    constexpr int kFew = 3;
    const uint64_t bits = int64_t(n) < 0 ? ~n : n;
    const uint64_t row = bits | (bits - 1);  // with ones for the zeros below
    return std::popcount(bits) <= kFew || (row & (row + 1)) == 0;
  }
  // Three letters, or less, and the end of the text.
  static bool is_text(uint64_t n) {
    while (uint8_t(n) >= ' ' && uint8_t(n) <= '~') n >>= 8;
    return n == 0;
  }

  // Which of the runs in an object are believed. The first of them begins the table, if there is one.
  void choose(OldRange object, Form form, const std::vector<Run>& runs, std::vector<InnerAddress>& out) const {
    const bool has_table = form != Form::from_itself || (!runs.empty() && begins_table(object, runs));
    unsigned in_runs = 0, others = 0;
    for (const Run& run : runs) (run.words < 2 || run.is_bad ? others : in_runs) += run.words;
    const auto is_accident = [&](const Run& run) {
      constexpr unsigned kShort = 3;  // words
      return form == Form::long_number && run.first != object.start && run.words <= kShort && others > in_runs;
    };
    for (const Run& run : runs) {
      const bool is_believed = run.words < 2 ? is_single_word(object, form, run)
                                             : has_table && !is_accident(run) && is_run_of(object, form, run);
      if (is_believed && !run.is_bad)
        for (const auto& [word, target] : run.inside) hold(target, word, out);
    }
  }

  // Rows of distances begin where the object does, or a few fields after, and there are not many other numbers there.
  // There may be names.
  bool begins_table(OldRange object, const std::vector<Run>& runs) const {
    constexpr size_t kMaxOthers = 8;  // for each word that leads to code
    if (runs.front().first - object.start > kMaxBetween) return false;
    size_t words = 0, others = 0;
    for (const Run& run : runs) words += run.is_bad ? 0 : run.words;
    const ByteView all = image_.bytes_from(object.start);
    const ByteView bytes = all.first(std::min<uint64_t>(object.size(), all.size()));
    for (size_t i = 0; i + kStep <= bytes.size(); i += kStep) others += !is_text(read_entry(&bytes[i], kStep, false));
    return others <= kMaxOthers * words;
  }

  bool is_run_of(OldRange object, Form form, const Run& run) const {
    constexpr size_t kVector = 4;  // words of the same number
    std::vector<uint64_t> numbers;
    for (const auto& [word, target] : run.inside)
      numbers.push_back(form == Form::from_itself   ? target - word
                        : form == Form::from_object ? target - object.start
                                                    : target.value);
    const bool is_same = std::ranges::all_of(numbers, [&](uint64_t n) { return n == numbers.front(); });
    const bool is_vector = is_same && run.words == numbers.size() && numbers.size() >= kVector;
    if (is_vector || std::ranges::all_of(numbers, is_of_small_bytes) || std::ranges::all_of(numbers, is_of_few_bits))
      return false;
    switch (form) {
      case Form::from_itself:
        return true;
      case Form::from_object:
        return run.first == object.start && begins_table(object, {run});
      case Form::number:
        return run.first == object.start && std::ranges::binary_search(sections_, object.start);
      case Form::long_number:
        return run.first.value % kLong == 0 || run.first == object.start;
    }
    return false;
  }

  // Of a word that is alone the address must be named, and a distance must be all of the object and lead to what can
  // fault.
  bool is_single_word(OldRange object, Form form, const Run& run) const {
    if (form == Form::number || form == Form::from_object || run.inside.empty()) return false;
    const auto [word, target] = run.inside.front();
    if (word != object.start || !std::ranges::binary_search(starts_, word)) return false;
    if (is_of_few_bits(form == Form::from_itself ? target - word : target.value)) return false;
    if (form == Form::long_number)
      return !is_of_small_bytes(target.value) &&
             (!is_text(target.value) || (word.value % kLong == 0 && may_be_stopped_at(target)));
    const ptrdiff_t i = program_.range_of(target);
    if (i < 0 || object.size() < kStep || !is_empty({word + kStep, object.end})) return false;
    const Code& code = program_.code(program_.ranges[size_t(i)]);
    return may_fault_or_wait(code, code.insns[code.covering(target)]);
  }

  const Program& program_;
  const Image& image_;
  const bool fixed_;
  const DataReferences& data_;
  OldRange code_;                      // from the first to the last
  std::vector<OldAddr> entries_;       // of functions, by symbols; ascending
  std::vector<bool> jumps_to_labels_;  // by group
  std::vector<OldAddr> starts_;        // of objects in data; ascending
  std::vector<OldAddr> sections_;      // their starts; ascending
  std::vector<OldRange> tables_;       // what is left out; ascending, no two of them adjacent
  std::vector<InnerAddress> found_;
};

}  // namespace

std::vector<InnerAddress> find_inner_addresses(const Program& program, const DataReferences& data) {
  return Finder(program, data).find();
}

}  // namespace profld
