// The linker's stubs, which lead to the functions of other files, come in many forms:
//
//   jmp *word(%rip)                                     GNU ld, gold, lld; after it what binds the word lazily
//   endbr64; [bnd] jmp *word(%rip)                      the same for IBT and for MPX, wild
//   endbr64; mov $number, %r11d; jmp *word(%rip)        mold
//   mov word(%rip), %r11; jmp 1f                        lld -z retpolineplt -z now
//   mov word(%rip), %r11; call 2f; jmp ...; push ...    lld -z retpolineplt
//       1: call 2f; ...     2: mov %r11, (%rsp); ret    what both lead to
//
// So a stub is told by what it does, not by how it is written: from its start control comes to the function whose
// address is in a word, with the stack as it was. On the way nothing may change but r11, which the ABI leaves to stubs:
// what changes another register, the flags or memory is a function that jumps to another one.

#include "imports.h"

#include "linker-rewrite/x86/decode_cache.h"
#include "linker-rewrite/x86/encoding.h"

namespace profld {

namespace {

constexpr unsigned kMaxInstructions = 12;  // of a stub, with what it leads to

// Follows a stub, instruction by instruction.
class StubWalk {
 public:
  StubWalk(const Image& image, OldAddr stub) : image_(image), at_(stub) {}

  std::optional<OldAddr> got_entry() {
    for (unsigned i = 0; i < kMaxInstructions; ++i) {
      const ByteView bytes = image_.bytes_from(at_);
      const CachedInsn* in = DecodeCache::of_this_thread().find(bytes);
      if (!in || in->unusable || !in->has_semantics) return std::nullopt;
      const OldAddr next = at_ + in->insn.length;
      switch (in->insn.flow) {
        case Flow::next:
          if (!step(*in, bytes, next)) return std::nullopt;
          at_ = next;
          break;
        case Flow::call:
          if (has_pushed_) return std::nullopt;
          has_pushed_ = true;
          top_ = std::nullopt;
          [[fallthrough]];
        case Flow::jump:
          at_ = next + uint64_t(in->immediate.read(bytes.data()));
          break;
        case Flow::jump_indirect:
          if (has_pushed_) return std::nullopt;
          if (in->insn.rip_relative) return next + uint64_t(in->displacement.read(bytes.data()));
          return is_r11(in->semantics.from) ? relocated(r11_) : std::nullopt;
        case Flow::ret:
          return has_pushed_ && in->immediate.size == 0 ? relocated(top_) : std::nullopt;
        default:
          return std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  static bool is_r11(const Operand& o) { return o.type == Operand::Type::reg && o.reg == kR11; }

  // False if a stub has no such instruction.
  bool step(const CachedInsn& in, ByteView bytes, OldAddr next) {
    const Semantics& s = in.semantics;
    if (in.is_no_operation() || starts_with_endbr64(bytes)) return true;
    if (s.action != Action::move && s.action != Action::lea) return false;
    if (is_r11(s.to)) {
      const bool is_word = s.action == Action::move && s.from.size == sizeof(uint64_t) && s.memory.rip_relative;
      r11_ = is_word ? std::optional(next + uint64_t(in.displacement.read(bytes.data()))) : std::nullopt;
      return true;
    }
    const bool is_top = has_pushed_ && s.to.type == Operand::Type::memory && s.to.size == sizeof(uint64_t) &&
                        s.memory.understood && s.memory.base == kRsp && s.memory.index == kNoRegister &&
                        in.displacement.read(bytes.data()) == 0;
    if (is_top) top_ = is_r11(s.from) ? r11_ : std::nullopt;
    return is_top;
  }

  // Functions, too, load words of their data that way.
  std::optional<OldAddr> relocated(std::optional<OldAddr> word) const {
    return word && image_.relocation_at(*word) ? word : std::nullopt;
  }

  const Image& image_;
  OldAddr at_;
  bool has_pushed_ = false;
  std::optional<OldAddr> r11_, top_;  // which word was loaded from there: into r11, to the top of the stack
};

}  // namespace

std::optional<OldAddr> got_entry_of_stub(const Image& image, OldAddr stub) { return StubWalk(image, stub).got_entry(); }

const Symbol* symbol_of_got_entry(const Image& image, OldAddr got_entry) {
  const Relocation* r = image.relocation_at(got_entry);
  return r && r->symbol < image.dynamic_symbols().size() ? &image.dynamic_symbols()[r->symbol] : nullptr;
}

ImportTable::ImportTable(const Image& image) : image_(image) {
  if (image.is_static()) return;
  const std::vector<Symbol>& symbols = image.dynamic_symbols();
  for (const Relocation& r : image.relocations()) {
    if (r.packed || (r.type != R_X86_64_JUMP_SLOT && r.type != R_X86_64_GLOB_DAT)) continue;
    if (r.symbol == 0 || r.symbol >= symbols.size()) continue;
    const Symbol& s = symbols[r.symbol];
    if (s.section == SHN_UNDEF && !s.name.empty()) of_word_.emplace(r.where, r.symbol);
  }
}

std::optional<uint32_t> ImportTable::symbol_called(const Code& code, const Insn& insn) const {
  std::optional<OldAddr> word;
  if (insn.flow == Flow::call_indirect || insn.flow == Flow::jump_indirect) {
    if (insn.rip_relative) word = code.target(insn);
  } else if (insn.flow != Flow::next && insn.flow != Flow::ret && insn.flow != Flow::stop) {
    word = got_entry_of_stub(image_, code.target(insn));
  }
  const auto symbol = word ? of_word_.find(*word) : of_word_.end();
  return symbol != of_word_.end() ? std::optional(symbol->second) : std::nullopt;
}

}  // namespace profld
