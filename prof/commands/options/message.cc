#include "message.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

#include "libprof/printable.h"
#include "prof/views/text/names.h"
#include "prof/views/text/output.h"

namespace prof {

void say(const std::string& text) {
  std::optional<size_t> columns;
  if (const std::optional<TerminalSize> terminal = terminal_size(STDERR_FILENO)) columns = terminal->columns;
  // Paths and options are there to be copied.
  const std::string lines = wrapped("prof: " + prof_text::printable(text), columns, LongWords::kept);
  std::fwrite(lines.data(), 1, lines.size(), stderr);
}

void say_all(const std::vector<std::string>& remarks) {
  for (const std::string& remark : remarks) say(remark);
}

// Characters that must not be printed need the quotes $'' of POSIX issue 8, which bash, zsh and ksh have. What
// prof_text::printable makes of such characters means the same in these quotes.
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
