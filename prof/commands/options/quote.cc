#include "quote.h"

#include <algorithm>
#include <cstring>

#include "libprof/printable.h"

namespace prof {

// Characters that must not be printed need the quotes $'' of POSIX issue 8, which bash, zsh and ksh have. What prof_text::printable makes of such characters means the same in these quotes.
std::string quoted(const std::string& word) {
  const bool is_one_word = std::ranges::all_of(word, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && std::strchr("_./-+=,@%", c));
  });
  if (is_one_word && !word.empty()) return word;
  const bool is_plain = prof_text::is_printable(word);
  std::string text = is_plain ? "'" : "$'";
  for (char c : is_plain ? word : prof_text::printable(word)) {
    if (c == '\'') text += is_plain ? "'\\'" : "\\";
    text += c;
  }
  return text + "'";
}

}  // namespace prof
