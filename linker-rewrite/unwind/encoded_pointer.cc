#include "encoded_pointer.h"

#include <algorithm>

#include "linker-rewrite/base/refusal.h"

namespace profld {

namespace {

constexpr uint8_t kFormat = 0x0f, kApplication = 0x70;

std::optional<uint64_t> relocated_value(const Image& image, const Relocation& r) {
  if (r.type == R_X86_64_RELATIVE) return uint64_t(r.addend);
  if (r.type != R_X86_64_64 || r.symbol >= image.dynamic_symbols().size()) return std::nullopt;
  // The dynamic linker may bind a symbol to another library's definition unless it is the program's own.
  const Symbol& s = image.dynamic_symbols()[r.symbol];
  if (s.section == SHN_UNDEF || image.link_type() == LinkType::shared_library) return std::nullopt;
  return s.address.value + uint64_t(r.addend);
}

}  // namespace

RelocatedWords::RelocatedWords(const Image& image) {
  words_.reserve(image.relocations().size());
  for (const Relocation& r : image.relocations()) words_.push_back({r.where, relocated_value(image, r)});
  std::ranges::sort(words_, {}, &Word::where);
}

const RelocatedWords::Word* RelocatedWords::find(OldAddr where) const {
  auto it = std::ranges::lower_bound(words_, where, {}, &Word::where);
  return it != words_.end() && it->where == where ? &*it : nullptr;
}

bool RelocatedWords::any(OldAddr start, uint64_t size) const {
  auto it = std::ranges::lower_bound(words_, start, {}, &Word::where);
  return it != words_.end() && it->where - start < size;
}

std::optional<uint8_t> encoded_size(uint8_t encoding) {
  if (encoding == DW_EH_PE_omit) return std::nullopt;
  switch (encoding & kFormat) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_signed:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      return uint8_t(8);
    case DW_EH_PE_udata4:
    case DW_EH_PE_sdata4:
      return uint8_t(4);
    case DW_EH_PE_udata2:
    case DW_EH_PE_sdata2:
      return uint8_t(2);
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> read_encoded_number(Reader& reader, uint8_t encoding) {
  switch (encoding & kFormat) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_signed:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      return reader.u64();
    case DW_EH_PE_udata4:
      return reader.u32();
    case DW_EH_PE_sdata4:
      return uint64_t(int64_t(reader.read<int32_t>()));
    case DW_EH_PE_udata2:
      return reader.u16();
    case DW_EH_PE_sdata2:
      return uint64_t(int64_t(reader.read<int16_t>()));
    case DW_EH_PE_uleb128:
      return reader.uleb();
    case DW_EH_PE_sleb128:
      return uint64_t(reader.sleb());
    default:
      return std::nullopt;
  }
}

std::optional<EncodedPointer> read_encoded_pointer(Reader& reader, OldAddr base, uint8_t encoding,
                                                   const RelocatedWords& relocated) {
  if (encoding == DW_EH_PE_omit) return std::nullopt;
  const uint8_t application = encoding & kApplication;
  EncodedPointer p;
  p.indirect = encoding & DW_EH_PE_indirect;
  if (application == DW_EH_PE_aligned) {
    // A whole word at the next multiple of 8; the rest of the encoding does not count.
    reader.skip(align_up(base.value + reader.position(), 8) - (base.value + reader.position()));
    encoding = DW_EH_PE_absptr;
    p.indirect = false;
  } else if (application != 0 && application != DW_EH_PE_pcrel) {
    return std::nullopt;
  }
  p.absolute = application != DW_EH_PE_pcrel;
  p.at = base + reader.position();
  const std::optional<uint64_t> number = read_encoded_number(reader, encoding);
  if (!number) return std::nullopt;
  p.size = encoded_size(encoding).value_or(0);

  if (const RelocatedWords::Word* word = relocated.find(p.at)) {
    if (!p.absolute || p.size != 8) return std::nullopt;
    p.value = word->value;
    return p;
  }
  p.value = *number == 0 || p.absolute ? *number : p.at.value + *number;
  return p;
}

int32_t distance(NewAddr from, NewAddr to) {
  int64_t d = int64_t(to - from);
  if (d != int32_t(d)) throw refusal(Refusal::unwind_tables_too_far);
  return int32_t(d);
}

void append_relative_pointer(Bytes& out, NewAddr base, NewAddr target) {
  append<int32_t>(out, target == NewAddr() ? 0 : distance(base + out.size(), target));
}

}  // namespace profld
