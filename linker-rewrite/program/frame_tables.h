// The frame tables of OCaml programs, as far as copies change them: see frame_tables.cc.

#ifndef LINKER_REWRITE_PROGRAM_FRAME_TABLES_H
#define LINKER_REWRITE_PROGRAM_FRAME_TABLES_H

#include <algorithm>
#include <vector>

#include "linker-rewrite/elf/image.h"

namespace profld {

// The word of a frame descriptor that holds the return address it is for.
struct ReturnWord {
  OldAddr word;
  OldAddr return_address;  // after a call
  FileOffset at;           // where the address is in the file: the word itself, or the addend of its relocation
};

struct FrameTables {
  std::vector<ReturnWord> words;  // ascending by `word`, each once; none if the program is not OCaml's

  bool has(OldAddr word) const {
    const auto it = std::ranges::lower_bound(words, word, {}, &ReturnWord::word);
    return it != words.end() && it->word == word;
  }
};

// Reads all frame tables of the image. Throws Error (Refusal::ocaml_program) if it has some that are not understood.
FrameTables read_frame_tables(const Image& image);

}  // namespace profld

#endif
