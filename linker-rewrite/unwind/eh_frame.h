// Reading .eh_frame (System V ABI, x86-64 supplement 4.2; LSB Core, 10.6; DWARF 5, 6.4), and the encoded pointers in it
// and in tables of exception handlers. It holds two kinds of records: an FDE (frame description entry) for every
// contiguous range of code, and CIEs (common information entries), each with what many FDEs have in common.

#ifndef LINKER_REWRITE_UNWIND_EH_FRAME_H
#define LINKER_REWRITE_UNWIND_EH_FRAME_H

#include <dwarf.h>

#include <optional>
#include <string>
#include <vector>

#include "linker-rewrite/base/reason.h"
#include "linker-rewrite/elf/image.h"

namespace profld {

// Pointers as unwind tables hold them (LSB Core, 10.5.1): a byte, the encoding, says how many bytes follow, what to add
// to them, and whether the result is the address itself or that of a word which holds it ("indirect").
//
// The bytes in the file need not be what the unwinder sees: in a position-independent program an absolute pointer is
// filled in by a relocation when the program starts, and the file holds any value. Therefore reading needs to know the
// relocations. Writing never makes new ones: in a copy's table a pointer is the distance from itself to the target. If
// only the dynamic linker knows the target, it is the distance to the word in the original's table, which is relocated
// as before.

// The relocations of an image, by the address of the word that they fill in.
class RelocatedWords {
 public:
  RelocatedWords() = default;
  explicit RelocatedWords(const Image& image);

  struct Word {
    OldAddr where;
    // The value that the word will hold; nullopt if only the dynamic linker knows it (a symbol of another library, or
    // an unusual type).
    std::optional<uint64_t> value;
  };
  const Word* find(OldAddr where) const;         // the relocation at exactly this address, or null
  bool any(OldAddr start, uint64_t size) const;  // true if a word that starts in [start, start + size) is relocated

 private:
  std::vector<Word> words_;  // sorted by address
};

struct EncodedPointer {
  OldAddr at;             // where its bytes begin
  uint8_t size = 0;       // of them; 0 for LEB128
  bool absolute = false;  // the bytes are the address, nothing is added
  bool indirect = false;  // `value` is the address of a word that holds the address
  // The address that the unwinder computes, before it follows an indirect pointer; 0 means null. nullopt: only known at
  // run time (then 8 absolute bytes at `at` hold it).
  std::optional<uint64_t> value;
};

// Reads a pointer with a reader whose first byte lies at `base`. nullopt if the encoding is not understood, or x86-64
// does not have it (textrel, datarel, funcrel); throws Error past the end.
std::optional<EncodedPointer> read_encoded_pointer(Reader& reader, OldAddr base, uint8_t encoding,
                                                   const RelocatedWords& relocated);

// Reads a number in the format of `encoding` (its low 4 bits) and adds nothing to it.
std::optional<uint64_t> read_encoded_number(Reader& reader, uint8_t encoding);

// Number of bytes of a pointer in this encoding, if it is fixed.
std::optional<uint8_t> encoded_size(uint8_t encoding);

// Appends `target` as 4 bytes in the encoding DW_EH_PE_pcrel | DW_EH_PE_sdata4. The first byte of `out` lies at `base`.
// Address 0 is null. Throws Error if the target is 2 GiB away or more.
void append_relative_pointer(Bytes& out, NewAddr base, NewAddr target);

// The difference of two addresses as 4 signed bytes. Throws Error if it does not fit.
int32_t distance(NewAddr from, NewAddr to);

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
