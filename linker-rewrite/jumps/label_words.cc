// In a program at a fixed address nothing says which words of data are addresses: the linker has put the numbers in and
// thrown the relocations away. A computed goto's table of labels has to be found among all words whose value happens to
// be the address of an instruction. Most such words in a large program are something else, half a dictionary's hash
// or two characters of a text, and changing one of them makes a wrong program.
//
// A function names the address of the table that it jumps through. So a word is a label for certain if an instruction
// of the function names its address, or one a little before it (the first index may be greater than 0, and labels may
// lie in records), or if it follows close upon one that is, or stands right in front of one (an index may be negative). It
// is changed to the address of the label's copy. Any other
// word is left alone, and control that comes from it, if it is a label after all, arrives at the old label and is led
// to the copy from there (entry_jumps.cc).

#include "label_words.h"

#include <algorithm>

namespace profld {

LabelWords tell_label_words(std::vector<std::pair<OldAddr, OldAddr>> words, std::vector<OldAddr> named) {
  constexpr uint64_t kToFirst = 256, kToNext = 64;  // bytes
  std::ranges::sort(words);
  std::ranges::sort(named);
  LabelWords r;
  std::vector<bool> is_certain;
  OldAddr last;  // that is certain
  for (const auto& w : words) {
    const auto after = std::ranges::upper_bound(named, w.first);
    const bool is_named = after != named.begin() && w.first - *std::prev(after) <= kToFirst;
    const bool follows = last != OldAddr() && w.first - last <= kToNext;
    is_certain.push_back(is_named || follows);
    if (is_certain.back()) last = w.first;
  }
  OldAddr next;  // that is certain
  for (size_t i = words.size(); i-- > 0;) {
    if (words[i].first + 8 == next) is_certain[i] = true;
    if (is_certain[i]) next = words[i].first;
  }
  for (size_t i = 0; i < words.size(); ++i) (is_certain[i] ? r.certain : r.doubtful).push_back(words[i]);
  return r;
}

}  // namespace profld
