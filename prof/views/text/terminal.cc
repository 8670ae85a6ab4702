#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace prof {

namespace {

// COLUMNS; 0 if it is no number.
size_t columns_of_environment() {
  const char* const text = std::getenv("COLUMNS");
  if (!text) return 0;
  const std::string_view digits = text;
  size_t columns = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), columns);
  return error == std::errc() && end == digits.data() + digits.size() ? columns : 0;
}

}  // namespace

std::optional<TerminalSize> terminal_size(int descriptor) {
  if (!isatty(descriptor)) return {};
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0) size = {};
  const size_t columns = columns_of_environment();
  return TerminalSize{size.ws_row > 0 ? size.ws_row : size_t(24), columns > 0       ? columns
                                                                  : size.ws_col > 0 ? size.ws_col
                                                                                    : size_t(80)};
}

}  // namespace prof
