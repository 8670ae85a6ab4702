#include "message.h"

#include <cstdio>
#include <system_error>

namespace prof {

void say(const std::string& text) {
  std::string line = "prof: " + text;
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string system_error(int error) { return std::generic_category().message(error); }

}  // namespace prof
