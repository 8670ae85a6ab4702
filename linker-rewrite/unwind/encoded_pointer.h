// Pointers as unwind tables hold them (LSB Core, 10.5.1): a byte, the encoding, says how many bytes follow, what to add
// to them, and whether the result is the address itself or that of a word which holds it ("indirect").
//
// The bytes in the file need not be what the unwinder sees: in a position-independent program an absolute pointer is
// filled in by a relocation when the program starts, and the file holds any value. Therefore reading needs to know the
// relocations. Writing never makes new ones: in a copy's table a pointer is the distance from itself to the target. If
// only the dynamic linker knows the target, it is the distance to the word in the original's table, which is relocated
// as before.

#ifndef LINKER_REWRITE_UNWIND_ENCODED_POINTER_H
#define LINKER_REWRITE_UNWIND_ENCODED_POINTER_H

#include <dwarf.h>

#include <optional>
#include <string>
#include <vector>

#include "linker-rewrite/elf/image.h"

namespace profld {

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

}  // namespace profld

#endif
