// Which of the starts that were found are those of functions, and which may lie inside of one. See doubts.cc.

#ifndef LINKER_REWRITE_DISCOVER_DOUBTS_H
#define LINKER_REWRITE_DISCOVER_DOUBTS_H

#include <map>
#include <vector>

#include "search.h"

namespace profld {

struct Verdict {
  bool is_function = false;  // else control comes there from another part of the same function
  bool is_doubtful = false;  // it may be either: it has to stay
};

// A verdict for each of `starts`, in their order. `undescribed`: see roots.h.
std::vector<Verdict> judge(const Image& image, const std::vector<OldRange>& undescribed,
                           const std::map<OldAddr, Start>& starts);

}  // namespace profld

#endif
