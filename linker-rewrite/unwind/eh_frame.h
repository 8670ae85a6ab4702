// Reading .eh_frame (System V ABI, x86-64 supplement 4.2; LSB Core, 10.6; DWARF 5, 6.4). It holds two kinds of records:
// an FDE (frame description entry) for every contiguous range of code, and CIEs (common information entries), each with
// what many FDEs have in common.

#ifndef LINKER_REWRITE_UNWIND_EH_FRAME_H
#define LINKER_REWRITE_UNWIND_EH_FRAME_H

#include <optional>
#include <string>
#include <vector>

#include "encoded_pointer.h"
#include "linker-rewrite/base/reason.h"
#include "linker-rewrite/elf/image.h"

namespace profld {

struct Cie {
  std::string augmentation;
  uint64_t code_alignment = 1;
  int64_t data_alignment = -8;
  uint64_t return_register = 16;
  uint8_t fde_encoding = DW_EH_PE_absptr;
  uint8_t lsda_encoding = DW_EH_PE_omit;
  // The personality routine of exception handling: its address, or that of a word that holds it; 0 if none.
  OldAddr personality;
  bool personality_indirect = false;
  bool signal_frame = false;
  ByteView instructions;              // initial CFA program, in the image's bytes
  OldAddr instructions_at;            // its address
  std::optional<Reason> unsupported;  // why frames with this CIE cannot be described anew; none if they can
};

struct Fde {
  OldRange range;
  size_t cie = 0;  // index in EhFrame::cies
  OldAddr record;  // address of the FDE itself
  OldAddr lsda;    // 0 if none
  ByteView instructions;
  OldAddr instructions_at;
  // What the CFA program says about the very first instruction:
  bool cfa_is_rsp_plus_8 = false;  // as at the entry of a function; cold fragments usually differ
  bool no_return_address = false;  // rip is undefined: outermost frame (_start)
  bool made = false;               // by discover/, for code that no table describes: it is not in the file
};

// The whole section. It refers to the image's bytes, so the image must live longer.
struct EhFrame {
  std::vector<Cie> cies;
  std::vector<Fde> fdes;       // sorted by range.start, may overlap; without ranges that are empty or no code
  std::vector<OldAddr> reach;  // for each FDE, the highest end among its range and those before it
  RelocatedWords relocated;
  // The FDE that covers `address`, or null. If there are several, the one that starts last, which is also the
  // unwinder's choice.
  const Fde* find(OldAddr address) const;
  // Index of the first FDE that overlaps or follows `address`.
  size_t first_reaching(OldAddr address) const;
};

// Reads the section .eh_frame, or where there are no sections, what PT_GNU_EH_FRAME points to. An image without unwind
// tables gives none. Throws Error if the tables are damaged.
EhFrame read_eh_frame(const Image& image);

// True if the CFA is rsp+8 when control is at `address` inside `fde`, as it must be at a tail jump. nullopt if the
// program of the FDE is not understood.
std::optional<bool> frame_is_empty_at(const EhFrame& frames, const Fde& fde, OldAddr address);

}  // namespace profld

#endif
