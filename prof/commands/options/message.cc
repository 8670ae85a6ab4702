#include "message.h"

#include <unistd.h>

#include <cstdio>
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

}  // namespace prof
