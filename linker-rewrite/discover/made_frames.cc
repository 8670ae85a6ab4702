#include "made_frames.h"

#include <algorithm>

#include "linker-rewrite/unwind/cfa.h"

namespace profld {

namespace {

// The number of rsp and rbp in unwind tables. Their order there is not that of instructions.
uint64_t dwarf_number(uint8_t reg) { return reg == kRsp ? kRegisterRsp : kRegisterRbp; }

void append_row(Bytes& out, const FrameRow& row) {
  if (row.frame_address && row.frame_address->offset >= 0) {
    append<uint8_t>(out, DW_CFA_def_cfa);
    append_uleb(out, dwarf_number(row.frame_address->reg));
    append_uleb(out, uint64_t(row.frame_address->offset));
  } else {  // an expression: nobody evaluates it
    append<uint8_t>(out, DW_CFA_def_cfa_expression);
    append_uleb(out, 1);
    append<uint8_t>(out, DW_OP_lit0);
  }
}

}  // namespace

MadeFrames make_frames(const EhFrame& known, const std::vector<FoundRange>& found) {
  MadeFrames made;
  EhFrame& frames = made.frames;
  frames = known;
  const size_t plain_cie = frames.cies.size();
  frames.cies.push_back({});
  struct Place {
    size_t fde, start, size;
  };
  std::vector<Place> places;
  for (const FoundRange& f : found) {
    Fde fde;
    fde.range = f.range;
    fde.made = true;
    fde.cie = plain_cie;
    fde.cfa_is_rsp_plus_8 = f.is_start;
    fde.no_return_address = f.no_return_address;
    if (f.stays) {
      fde.cie = frames.cies.size();
      frames.cies.push_back({});
      frames.cies.back().unsupported = f.stays;
    }
    const size_t start = made.programs.size();
    OldAddr at = f.range.start;
    for (const FrameRow& row : f.rows) {
      if (row.at > at) append_advance(made.programs, row.at - at);
      at = std::max(at, row.at);
      append_row(made.programs, row);
    }
    places.push_back({frames.fdes.size(), start, made.programs.size() - start});
    frames.fdes.push_back(fde);
  }
  for (const Place& p : places) frames.fdes[p.fde].instructions = ByteView(made.programs).subspan(p.start, p.size);
  std::ranges::stable_sort(frames.fdes, {}, [](const Fde& f) { return f.range.start; });
  frames.reach.clear();
  OldAddr reach;
  for (const Fde& f : frames.fdes) frames.reach.push_back(reach = std::max(reach, f.range.end));
  return made;
}

}  // namespace profld
