#include "message.h"

#include <cstdio>
#include <system_error>

#include "libprof/printable.h"

namespace prof {

void say(const std::string& text) {
  const std::string line = "prof: " + prof_text::printable(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string system_error(int error) { return std::generic_category().message(error); }

}  // namespace prof
