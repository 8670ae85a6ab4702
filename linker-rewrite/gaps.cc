// Compilers and linkers align functions, and fill the room before them with instructions that do nothing or with zeros.
// That is room for jumps to copies. It is padding if control cannot come to it, and if nothing names it:
//
//   * no-operations behind a function that moved: its old code is dead.
//   * no-operations in unknown code (start-up code has no unwind tables), behind an instruction that passes control on
//     for good, up to an aligned address or the next function. Such code is decoded blindly: a byte that looks like a
//     no-operation is no proof of anything there, one of several bytes is.
//   * zeros between two sections.

#include "gaps.h"

#include <algorithm>

#include "decoder.h"

namespace profld {

namespace {

constexpr uint64_t kCodeAlignment = 16;  // of functions, in hand-written code too

bool is_no_operation(const ZydisDecodedInstruction& in) {
  return in.mnemonic == ZYDIS_MNEMONIC_NOP || in.mnemonic == ZYDIS_MNEMONIC_INT3;
}

bool ends_control(const ZydisDecodedInstruction& in) {
  return in.mnemonic == ZYDIS_MNEMONIC_JMP || in.mnemonic == ZYDIS_MNEMONIC_RET || in.mnemonic == ZYDIS_MNEMONIC_HLT ||
         in.mnemonic == ZYDIS_MNEMONIC_UD2;
}

// Addresses in gaps that something names.
std::vector<OldAddr> find_named(const Program& program, const std::vector<OldRange>& gaps) {
  const Image& image = *program.image;
  std::vector<OldAddr> named;
  auto name = [&](OldAddr a) {
    if (image.is_code(a) && find_range(program.ranges, a) < 0) named.push_back(a);
  };
  for (const Group& g : program.groups)
    for (const Code& c : g.code.parts)
      for (const Insn& insn : c.insns)
        if (insn.field_size != 0 && !c.range.contains(c.target(insn))) name(c.target(insn));
  for (const auto* table : {&image.symbols(), &image.dynamic_symbols()})
    for (const Symbol& s : *table) name(s.address);
  for (const Relocation& r : image.relocations()) name(OldAddr(uint64_t(r.addend)));
  for (OldRange gap : gaps)
    decode_blindly(image, gap, [&](OldAddr at, const ZydisDecodedInstruction& in) {
      if (in.raw.imm[0].is_relative) name(at + in.length + uint64_t(in.raw.imm[0].value.s));
    });
  name(image.entry());
  std::ranges::sort(named);
  return named;
}

// The end of the no-operations that start at `at`, at most `limit`.
OldAddr end_of_no_operations(const Image& image, OldAddr at, OldAddr limit, bool* several_bytes) {
  while (at < limit) {
    const ByteView b = *image.bytes(at, std::min<uint64_t>(limit - at, ZYDIS_MAX_INSTRUCTION_LENGTH));
    ZydisDecodedInstruction in;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder(), nullptr, b.data(), b.size(), &in))) break;
    if (!is_no_operation(in)) break;
    *several_bytes |= in.length > 2;
    at += in.length;
  }
  return at;
}

// By address.
std::vector<const Section*> executable_sections(const Image& image) {
  std::vector<const Section*> sections;
  for (const Section& s : image.sections())
    if ((s.header.sh_flags & SHF_EXECINSTR) && s.header.sh_size != 0) sections.push_back(&s);
  std::ranges::stable_sort(sections, {}, [](const Section* s) { return s->header.sh_addr; });
  return sections;
}

class Finder {
 public:
  Finder(const Program& program, const std::vector<OldRange>& gaps)
      : program_(program),
        image_(*program.image),
        gaps_(gaps),
        stubs_(linkage_stubs(image_)),
        named_(find_named(program, gaps)) {}

  std::vector<Padding> find() {
    for (OldRange gap : gaps_) {
      behind_function(gap);
      decode_blindly(image_, gap, [&](OldAddr at, const ZydisDecodedInstruction& in) {
        if (ends_control(in)) behind_unknown_code(at + in.length, gap.end);
      });
    }
    between_sections();
    std::ranges::stable_sort(found_, {}, [](const Padding& p) { return p.range.start; });
    std::vector<Padding> result;
    for (const Padding& p : found_)
      if (result.empty() || result.back().range.end <= p.range.start) result.push_back(p);
    return result;
  }

 private:
  OldAddr next_named(OldAddr from, OldAddr limit) const {
    auto it = std::ranges::lower_bound(named_, from);
    return it != named_.end() ? std::min(*it, limit) : limit;
  }

  void behind_function(OldRange gap) {
    const ptrdiff_t before = find_range(program_.ranges, gap.start - 1);
    if (before < 0) return;
    bool several_bytes = false;
    const OldAddr end = end_of_no_operations(image_, gap.start, next_named(gap.start, gap.end), &several_bytes);
    if (end > gap.start) found_.push_back({{gap.start, end}, before});
  }

  void behind_unknown_code(OldAddr start, OldAddr limit) {
    bool several_bytes = false;
    const OldAddr end = end_of_no_operations(image_, start, limit, &several_bytes);
    if (!several_bytes || (end != limit && end.value % kCodeAlignment != 0) || next_named(start, end) != end) return;
    if (std::ranges::any_of(stubs_, [&](OldRange s) { return s.contains(start); })) return;
    found_.push_back({{start, end}, -1});
  }

  void between_sections() {
    const Section* last = nullptr;
    for (const Section* s : executable_sections(image_)) {
      const OldAddr end(s->header.sh_addr);
      if (const OldAddr start = last ? OldAddr(last->header.sh_addr + last->header.sh_size) : end;
          start < end && end - start < s->header.sh_addralign && find_range(program_.ranges, start) < 0)
        if (auto fill = image_.bytes(start, end - start);
            fill && std::ranges::all_of(*fill, [](uint8_t byte) { return byte == 0; }))
          found_.push_back({{start, end}, -1});
      last = s;
    }
  }

  const Program& program_;
  const Image& image_;
  const std::vector<OldRange>& gaps_;
  const std::vector<OldRange> stubs_;
  const std::vector<OldAddr> named_;  // sorted
  std::vector<Padding> found_;
};

}  // namespace

std::vector<OldRange> find_gaps(const Program& program) {
  std::vector<OldRange> gaps;
  for (OldRange code : program.image->code()) {
    OldAddr at = code.start;
    for (const CodeRange& r : program.ranges) {
      if (r.range.end <= at || r.range.start >= code.end) continue;
      if (r.range.start > at) gaps.push_back({at, r.range.start});
      at = r.range.end;
    }
    if (at < code.end) gaps.push_back({at, code.end});
  }
  return gaps;
}

// Decoding finds the right track by itself after a few instructions, and functions start at aligned addresses: so it is
// tried from each of these, until it falls in with what has been decoded already.
void decode_blindly(const Image& image, OldRange range,
                    const std::function<void(OldAddr, const ZydisDecodedInstruction&)>& found) {
  auto bytes = image.bytes(range.start, range.size());
  if (!bytes) return;
  std::vector<bool> decoded(bytes->size());
  for (uint64_t from = 0; from < bytes->size();
       from = align_up((range.start + from).value + 1, kCodeAlignment) - range.start.value)
    for (uint64_t at = from; at < bytes->size() && !decoded[at];) {
      decoded[at] = true;
      ZydisDecodedInstruction in;
      if (!ZYAN_SUCCESS(
              ZydisDecoderDecodeInstruction(&decoder(), nullptr, bytes->data() + at, bytes->size() - at, &in)))
        break;
      found(range.start + at, in);
      at += in.length;
    }
}

std::vector<Padding> find_padding(const Program& program, const std::vector<OldRange>& gaps) {
  return Finder(program, gaps).find();
}

}  // namespace profld
