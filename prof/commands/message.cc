#include "message.h"

#include <cstdio>

#include "libprof/printable.h"

namespace prof {

void say(const std::string& text) {
  const std::string line = "prof: " + prof_text::printable(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void say_all(const std::vector<std::string>& remarks) {
  for (const std::string& remark : remarks) say(remark);
}

}  // namespace prof
