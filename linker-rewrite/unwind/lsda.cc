#include "lsda.h"

#include <algorithm>

namespace profld {

namespace {

// Finds out how far the action table, the type table and the specifications reach.
class ActionWalk {
 public:
  // `actions` and `types` are the positions of the action table and of the type table's base.
  ActionWalk(Reader reader, size_t actions, size_t types) : reader_(reader), actions_(actions), types_(types) {}

  // Follows the chain that starts at offset `action` of the action table.
  void follow(uint64_t action) {
    for (;;) {
      reader_.seek(actions_);
      reader_.skip(action);
      if (seen_.size() <= action) seen_.resize(action + 1);
      if (seen_[action]) return;
      seen_[action] = true;
      const int64_t filter = reader_.sleb();
      const uint64_t next_from = reader_.position() - actions_;
      const int64_t next = reader_.sleb();
      actions_size = std::max(actions_size, reader_.position() - actions_);
      if (filter > 0) type_count = std::max(type_count, uint64_t(filter));
      if (filter < 0) follow_spec(~uint64_t(filter));
      if (next == 0) return;
      action = next_from + uint64_t(next);
    }
  }

  size_t actions_size = 0;
  uint64_t type_count = 0;
  size_t specs_size = 0;

 private:
  void follow_spec(uint64_t offset) {
    reader_.seek(types_);
    reader_.skip(offset);
    while (uint64_t type = reader_.uleb()) type_count = std::max(type_count, type);
    specs_size = std::max(specs_size, reader_.position() - types_);
  }

  Reader reader_;
  size_t actions_, types_;
  std::vector<bool> seen_;
};

// The type table's entries; false if they are not understood.
bool read_types(const EhFrame& frames, ByteView bytes, OldAddr base, size_t types_at, uint8_t encoding, uint64_t count,
                Lsda& lsda) {
  const auto size = encoded_size(encoding);
  if (!size || count > types_at / *size || (encoding & 0x70) == DW_EH_PE_aligned) return false;
  lsda.types_indirect = encoding & DW_EH_PE_indirect;
  std::vector<EncodedPointer> entries;
  for (uint64_t i = 1; i <= count; ++i) {
    Reader r(bytes, "exception table");
    r.seek(types_at - i * *size);
    auto p = read_encoded_pointer(r, base, encoding, frames.relocated);
    if (!p) return false;
    entries.push_back(*p);
  }
  // Only the dynamic linker knows some of the types: then refer to the words that it fills in, in all entries alike.
  if (std::ranges::any_of(entries, [](const EncodedPointer& p) { return !p.value; })) {
    if (lsda.types_indirect || *size != 8) return false;
    lsda.types_indirect = true;
    for (EncodedPointer& p : entries)
      if (p.value != 0) p.value = p.at.value;
  }
  for (const EncodedPointer& p : entries) lsda.types.emplace_back(*p.value);
  return true;
}

bool read(const Image& image, const EhFrame& frames, const Fde& fde, Lsda& lsda) {
  const OldAddr base = fde.lsda;
  const ByteView bytes = image.bytes_from(base);
  Reader r(bytes, "exception table");

  OldAddr pads_start = fde.range.start;
  if (const uint8_t encoding = r.u8(); encoding != DW_EH_PE_omit) {
    auto p = read_encoded_pointer(r, base, encoding, frames.relocated);
    if (!p || !p->value || p->indirect) return false;
    pads_start = OldAddr(*p->value);
  }
  const uint8_t type_encoding = r.u8();
  lsda.has_types = type_encoding != DW_EH_PE_omit;
  size_t types_at = bytes.size();
  if (lsda.has_types) {
    const uint64_t offset = r.uleb();
    if (offset > r.remaining()) return false;
    types_at = r.position() + offset;
  }
  const uint8_t number_encoding = r.u8();
  if (number_encoding & 0xf0) return false;
  const uint64_t call_sites_size = r.uleb();
  if (call_sites_size > r.remaining()) return false;
  const size_t actions_at = r.position() + call_sites_size;
  if (actions_at > types_at) return false;

  ActionWalk actions(r, actions_at, types_at);
  Reader sites(bytes.first(actions_at), "exception table");
  sites.seek(r.position());
  while (!sites.at_end()) {
    auto start = read_encoded_number(sites, number_encoding), length = read_encoded_number(sites, number_encoding),
         pad = read_encoded_number(sites, number_encoding);
    const uint64_t action = sites.uleb();
    if (!start || !length || !pad) return false;
    if (*start > fde.range.size() || *length > fde.range.size() - *start) return false;
    CallSite site{{fde.range.start + *start, fde.range.start + *start + *length}, OldAddr(), action};
    if (*pad != 0) {
      site.landing_pad = pads_start + *pad;
      if (!image.is_code(site.landing_pad)) return false;
    }
    if (!lsda.call_sites.empty() && site.range.start < lsda.call_sites.back().range.start) return false;
    if (action != 0) actions.follow(action - 1);
    lsda.call_sites.push_back(site);
  }
  if (!lsda.has_types && (actions.type_count != 0 || actions.specs_size != 0)) return false;
  if (lsda.has_types) {
    if (!read_types(frames, bytes, base, types_at, type_encoding, actions.type_count, lsda)) return false;
    if (actions_at + actions.actions_size > types_at - actions.type_count * *encoded_size(type_encoding)) return false;
    lsda.exception_specs = bytes.subspan(types_at, actions.specs_size);
  }
  lsda.actions = bytes.subspan(actions_at, actions.actions_size);
  return true;
}

size_t uleb_size(uint64_t v) {
  size_t n = 1;
  while (v >>= 7) ++n;
  return n;
}

}  // namespace

std::optional<Lsda> read_lsda(const Image& image, const EhFrame& frames, const Fde& fde) {
  try {
    std::optional<Lsda> lsda(std::in_place);
    if (!read(image, frames, fde, *lsda)) lsda.reset();
    return lsda;
  } catch (const Error&) {  // something is cut off
    return std::nullopt;
  }
}

NewAddr PartCopy::map(OldAddr a) const {
  a = std::max(a, part.start);
  if (a >= part.end) return end();
  return copy ? copy->address(a) : unmoved(a);
}

NewAddr PartCopy::end() const {
  if (!copy) return unmoved(part.end);
  return part.end == copy->original.end ? copy->start + (copy->size - copy->out_of_line) : copy->address(part.end);
}

namespace {

// A call site of the original, for new code.
struct NewCallSite {
  NewRange code;
  const CallSite* original;
};

// `function`: the start of the code that the FDE is for.
void append_lsda(Bytes& out, NewAddr base, const Lsda& lsda, NewAddr function, std::span<const NewCallSite> sites,
                 const CopyMap& copies) {
  auto new_pad = [&](OldAddr pad) {
    const RangeCopy* copy = copies.find(pad);
    return copy ? copy->address(pad) : unmoved(pad);
  };
  // Landing pads are counted from the function's start, unless one lies there (offset 0 means none) or before it.
  NewAddr lowest_pad(UINT64_MAX);
  for (const CallSite& s : lsda.call_sites)
    if (s.landing_pad != OldAddr()) lowest_pad = std::min(lowest_pad, new_pad(s.landing_pad));
  const bool explicit_start = lowest_pad <= function;
  const NewAddr pads_start = explicit_start ? lowest_pad - 1 : function;

  Bytes call_sites;
  for (const NewCallSite& s : sites) {
    const OldAddr pad = s.original->landing_pad;
    append_uleb(call_sites, s.code.start - function);
    append_uleb(call_sites, s.code.end - s.code.start);
    append_uleb(call_sites, pad == OldAddr() ? 0 : new_pad(pad) - pads_start);
    append_uleb(call_sites, s.original->action);
  }

  if (explicit_start) {
    out.push_back(DW_EH_PE_pcrel | DW_EH_PE_sdata4);
    append_relative_pointer(out, base, pads_start);
  } else {
    out.push_back(DW_EH_PE_omit);
  }
  if (lsda.has_types) {
    out.push_back(DW_EH_PE_pcrel | DW_EH_PE_sdata4 | (lsda.types_indirect ? DW_EH_PE_indirect : 0));
    // The distance to the type table's base, which has to be aligned. The distance depends on its own size.
    const size_t content = 1 + uleb_size(call_sites.size()) + call_sites.size() + lsda.actions.size();
    const size_t types = 4 * lsda.types.size();
    for (size_t n = 1;; ++n) {
      const uint64_t unaligned = base.value + out.size() + n + content;
      const uint64_t to_base = align_up(unaligned, 4) - unaligned + content + types;
      if (uleb_size(to_base) > n) continue;
      for (size_t i = 0; i < n; ++i) out.push_back(uint8_t((to_base >> (7 * i) & 0x7f) | (i + 1 < n ? 0x80 : 0)));
      break;
    }
  } else {
    out.push_back(DW_EH_PE_omit);
  }
  out.push_back(DW_EH_PE_uleb128);
  append_uleb(out, call_sites.size());
  append_bytes(out, call_sites);
  append_bytes(out, lsda.actions);
  if (lsda.has_types) {
    while ((base.value + out.size()) % 4 != 0) out.push_back(0);
    for (size_t i = lsda.types.size(); i > 0; --i) append_relative_pointer(out, base, unmoved(lsda.types[i - 1]));
    append_bytes(out, lsda.exception_specs);
  }
}

}  // namespace

void append_lsda(Bytes& out, NewAddr base, const Lsda& lsda, const PartCopy& part, const CopyMap& copies) {
  std::vector<NewCallSite> sites;
  for (const CallSite& s : lsda.call_sites) {
    const OldRange range{std::max(s.range.start, part.part.start), std::min(s.range.end, part.part.end)};
    if (range.start > range.end || (range.start == range.end && s.range.size() != 0)) continue;
    sites.push_back({{part.map(range.start), part.map(range.end)}, &s});
  }
  append_lsda(out, base, lsda, part.start(), sites, copies);
}

void append_lsda(Bytes& out, NewAddr base, const Lsda& lsda, const RangeCopy& copy,
                 std::span<const PlacedRecord> records, const CopyMap& copies) {
  std::vector<NewCallSite> sites;
  auto site = lsda.call_sites.begin();
  for (const PlacedRecord& r : records) {
    while (site != lsda.call_sites.end() && site->range.end <= r.place) ++site;
    if (site == lsda.call_sites.end()) break;
    if (!site->range.contains(r.place)) continue;
    const NewRange code{copy.start + r.at, copy.start + r.at + r.size};
    if (!sites.empty() && sites.back().original == &*site && sites.back().code.end == code.start)
      sites.back().code.end = code.end;
    else
      sites.push_back({code, &*site});
  }
  append_lsda(out, base, lsda, copy.start + records.front().at, sites, copies);
}

}  // namespace profld
