// Words in data that look like addresses of labels, in a program without relocations.

#ifndef LINKER_REWRITE_JUMPS_LABEL_WORDS_H
#define LINKER_REWRITE_JUMPS_LABEL_WORDS_H

#include <utility>
#include <vector>

#include "linker-rewrite/base/address.h"

namespace profld {

struct LabelWords {
  std::vector<std::pair<OldAddr, OldAddr>> certain, doubtful;  // address of the word, label; sorted by the first
};

// Tells words that are labels of a function from those that may only look like it. `words` have the addresses of labels
// of one function as values; `named` are the addresses that instructions of this function name. Neither need be sorted.
LabelWords tell_label_words(std::vector<std::pair<OldAddr, OldAddr>> words, std::vector<OldAddr> named);

}  // namespace profld

#endif
