#include "eh_frame.h"

#include <algorithm>
#include <unordered_map>

#include "cfa.h"
#include "linker-rewrite/base/parallel.h"
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

namespace {

constexpr const char* kWhat = "unwind tables (.eh_frame)";

[[noreturn]] void damaged(const char* how) {
  throw Error(std::string("damaged ") + kWhat + ": " + how + "; use an intact file");
}

// What PT_GNU_EH_FRAME leads to.
struct Header {
  std::optional<OldAddr> eh_frame;
  std::vector<OldAddr> fdes;  // those in its table
};

Header read_header(const Image& image, const RelocatedWords& relocated) {
  Header header;
  const Elf64_Phdr* segment = image.segment(PT_GNU_EH_FRAME);
  if (!segment) return header;
  const OldAddr base(segment->p_vaddr);
  auto bytes = image.bytes(base, segment->p_filesz);
  if (!bytes || bytes->size() < 4) return header;
  Reader r(*bytes, "header of the unwind tables (.eh_frame_hdr)");
  const uint8_t version = r.u8(), pointer_encoding = r.u8(), count_encoding = r.u8(), table_encoding = r.u8();
  if (version != 1) return header;
  auto pointer = read_encoded_pointer(r, base, pointer_encoding, relocated);
  if (!pointer || !pointer->value || pointer->indirect) return header;
  header.eh_frame = OldAddr(*pointer->value);

  auto count = read_encoded_pointer(r, base, count_encoding, relocated);
  if (!count || !count->value || table_encoding != (DW_EH_PE_datarel | DW_EH_PE_sdata4)) return header;
  for (uint64_t i = 0; i < *count->value && r.remaining() >= 8; ++i) {
    r.skip(4);
    header.fdes.push_back(base + uint64_t(int64_t(r.read<int32_t>())));
  }
  return header;
}

// Reads the records of one image.
class EhFrameReader {
 public:
  explicit EhFrameReader(const Image& image) : image_(image) { frames_.relocated = RelocatedWords(image); }
  EhFrame read();

 private:
  void locate();
  size_t read_from(size_t start);
  size_t cie_at(size_t position);
  Cie read_cie(size_t position);
  void read_fde(OldAddr record, Reader& r, size_t end, size_t cie);
  // Positions `r` after the length field of the record there. The end of the record, or nullopt at a terminator.
  std::optional<size_t> read_length(Reader& r) const;

  const Image& image_;
  ByteView bytes_;
  OldAddr base_;
  // Where to start reading.
  std::vector<size_t> starts_;
  // More records may follow a terminator: linkers concatenate inputs that each end with one. If there is a section
  // header, which says where the table ends, we just read on. Else we stop, and go on at the records after it that the
  // header's table lists.
  bool section_ = false;
  EhFrame frames_;
  std::unordered_map<size_t, size_t> cies_;  // position -> index
};

void EhFrameReader::locate() {
  Header header = read_header(image_, frames_.relocated);
  if (const Section* s = image_.section(".eh_frame"); s && s->header.sh_type != SHT_NOBITS) {
    const OldRange range{OldAddr(s->header.sh_addr), OldAddr(s->header.sh_addr + s->header.sh_size)};
    auto view = image_.bytes(range.start, s->header.sh_size);
    if (view && (!header.eh_frame || range.contains(*header.eh_frame))) {
      base_ = range.start;
      bytes_ = *view;
      section_ = true;
      starts_ = {0};
      return;
    }
  }
  if (!header.eh_frame) return;
  // The whole segment, as far as the file has it.
  for (const Elf64_Phdr& s : image_.segments())
    if (s.p_type == PT_LOAD && header.eh_frame->value - s.p_vaddr < s.p_filesz) base_ = OldAddr(s.p_vaddr);
  bytes_ = image_.bytes_from(base_);
  header.fdes.push_back(*header.eh_frame);
  std::ranges::sort(header.fdes);
  for (OldAddr a : header.fdes)
    if (a >= base_ && a - base_ < bytes_.size()) starts_.push_back(a - base_);
}

std::optional<size_t> EhFrameReader::read_length(Reader& r) const {
  uint64_t length = r.u32();
  if (length == 0) return std::nullopt;
  if (length == 0xffffffff) length = r.u64();
  if (length > r.remaining()) damaged("a record is longer than the table");
  return r.position() + length;
}

// Reads records from a position on. Returns where it stopped.
size_t EhFrameReader::read_from(size_t start) {
  Reader r(bytes_, kWhat);
  r.seek(start);
  while (r.remaining() >= 4) {
    const OldAddr record = base_ + r.position();
    auto end = read_length(r);
    if (!end) {
      if (!section_) break;
      continue;
    }
    // Always 4 bytes, with the long form of the length too: 0 in a CIE, in an FDE the distance back to its CIE.
    const size_t id_at = r.position();
    if (const uint32_t id = r.u32(); id != 0) {
      if (id > id_at) damaged("a record refers to a place before the table");
      Reader fde(bytes_.first(*end), kWhat);
      fde.seek(r.position());
      read_fde(record, fde, *end, cie_at(id_at - id));
    }
    r.seek(*end);
  }
  return r.position();
}

EhFrame EhFrameReader::read() {
  locate();
  size_t done = 0;
  for (size_t start : starts_)
    if (start >= done) done = read_from(start);

  auto& fdes = frames_.fdes;
  // Records with the same start keep their order.
  std::vector<std::pair<OldAddr, uint32_t>> order(fdes.size());
  for (uint32_t i = 0; i < fdes.size(); ++i) order[i] = {fdes[i].range.start, i};
  if (!std::ranges::is_sorted(order)) {
    parallel_sort(order);
    std::vector<Fde> sorted;
    sorted.reserve(fdes.size());
    for (const auto& [start, i] : order) sorted.push_back(fdes[i]);
    fdes = std::move(sorted);
  }
  OldAddr reach;
  frames_.reach.reserve(fdes.size());
  for (const Fde& f : fdes) frames_.reach.push_back(reach = std::max(reach, f.range.end));
  parallel_for(fdes.size(), [&](size_t i) {
    Fde& f = fdes[i];
    if (auto row = row_at(frames_, f, f.range.start)) {
      f.cfa_is_rsp_plus_8 = row->is_empty_frame();
      f.no_return_address = row->return_address_undefined;
    }
  });
  return std::move(frames_);
}

size_t EhFrameReader::cie_at(size_t position) {
  auto [it, is_new] = cies_.try_emplace(position, frames_.cies.size());
  if (is_new) frames_.cies.push_back(read_cie(position));
  return it->second;
}

Cie EhFrameReader::read_cie(size_t position) {
  Reader whole(bytes_, kWhat);
  whole.seek(position);
  auto end = read_length(whole);
  if (!end || whole.u32() != 0) damaged("a record refers to something that is no CIE");
  Reader r(bytes_.first(*end), kWhat);
  r.seek(whole.position());

  Cie cie;
  const uint8_t version = r.u8();
  if (version != 1 && version != 3 && version != 4) damaged("a CIE of unknown version");
  cie.augmentation = r.c_string();
  const std::string& augmentation = cie.augmentation;
  if (augmentation == "eh") {  // GCC 2
    r.skip(8);
    cie.unsupported = ReasonCode::unwind_outdated;
  }
  if (version == 4 && (r.u8() != 8 || r.u8() != 0)) damaged("a CIE for another kind of addresses");
  cie.code_alignment = r.uleb();
  cie.data_alignment = r.sleb();
  cie.return_register = version == 1 ? r.u8() : r.uleb();

  if (augmentation.starts_with('z')) {
    const uint64_t size = r.uleb();
    if (size > r.remaining()) r.fail();
    const size_t instructions = r.position() + size;
    for (char letter : augmentation.substr(1)) {
      if (letter == 'R') {
        cie.fde_encoding = r.u8();
      } else if (letter == 'L') {
        cie.lsda_encoding = r.u8();
      } else if (letter == 'S') {
        cie.signal_frame = true;
      } else if (letter == 'P') {
        const uint8_t encoding = r.u8();
        auto p = read_encoded_pointer(r, base_, encoding, frames_.relocated);
        if (!p) throw refusal(Refusal::unknown_unwind_pointers, "(personality routine)");
        // The word in the CIE that the dynamic linker fills in holds the address.
        const bool word = !p->value && !p->indirect && p->size == 8;
        if (!p->value && !word) cie.unsupported = ReasonCode::personality_unknown;
        cie.personality = word ? p->at : OldAddr(p->value.value_or(0));
        cie.personality_indirect = word || p->indirect;
      } else if (letter != 'B') {  // B: a key for signed return addresses; nothing on x86-64
        cie.unsupported = ReasonCode::unwind_extension;
        break;
      }
    }
    r.seek(instructions);
  } else if (!augmentation.empty() && augmentation != "eh") {
    throw refusal(Refusal::unknown_unwind_tables, "(augmentation)");
  }
  cie.instructions_at = base_ + r.position();
  cie.instructions = r.take(r.remaining());

  if (cie.return_register != kRegisterRip) cie.unsupported = ReasonCode::unwind_not_understood;
  CfaReader program(frames_, cie, OldAddr());
  for (CfaInstruction i; program.next(i);) continue;
  if (program.why() && !cie.unsupported) cie.unsupported = program.why();
  return cie;
}

void EhFrameReader::read_fde(OldAddr record, Reader& r, size_t end, size_t index) {
  const Cie& cie = frames_.cies[index];
  Fde fde;
  fde.record = record;
  fde.cie = index;
  auto start = read_encoded_pointer(r, base_, cie.fde_encoding, frames_.relocated);
  if (!start || !start->value || start->indirect) throw refusal(Refusal::unknown_unwind_pointers);
  auto size = read_encoded_number(r, cie.fde_encoding);
  if (!size) throw refusal(Refusal::unknown_unwind_sizes);
  fde.range.start = OldAddr(*start->value);
  fde.range.end = fde.range.start + *size;
  // Linkers leave empty ranges, and address 0, for code that they threw away.
  if (fde.range.end <= fde.range.start || !image_.is_code(fde.range.start) || !image_.is_code(fde.range.end - 1))
    return;

  if (cie.augmentation.starts_with('z')) {
    const uint64_t augmentation_size = r.uleb();
    if (augmentation_size > r.remaining()) r.fail();
    const size_t instructions = r.position() + augmentation_size;
    if (cie.lsda_encoding != DW_EH_PE_omit && augmentation_size != 0) {
      auto lsda = read_encoded_pointer(r, base_, cie.lsda_encoding, frames_.relocated);
      if (!lsda || !lsda->value || lsda->indirect) throw refusal(Refusal::unknown_unwind_pointers, "(LSDA)");
      fde.lsda = OldAddr(*lsda->value);
    }
    r.seek(instructions);
  }
  fde.instructions_at = base_ + r.position();
  fde.instructions = r.take(end - r.position());
  frames_.fdes.push_back(fde);
}

}  // namespace

EhFrame read_eh_frame(const Image& image) { return EhFrameReader(image).read(); }

const Fde* EhFrame::find(OldAddr address) const {
  auto after = std::ranges::upper_bound(fdes, address, {}, [](const Fde& f) { return f.range.start; });
  for (size_t i = size_t(after - fdes.begin()); i > 0; --i) {
    if (fdes[i - 1].range.contains(address)) return &fdes[i - 1];
    if (reach[i - 1] <= address) break;  // none of those before reaches so far
  }
  return nullptr;
}

size_t EhFrame::first_reaching(OldAddr address) const {
  return size_t(std::ranges::upper_bound(reach, address) - reach.begin());
}

std::optional<bool> frame_is_empty_at(const EhFrame& frames, const Fde& fde, OldAddr address) {
  auto row = row_at(frames, fde, address);
  if (!row) return std::nullopt;
  return row->is_empty_frame();
}

}  // namespace profld
