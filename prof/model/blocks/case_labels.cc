#include "case_labels.h"

#include <string_view>

namespace prof {

namespace {

constexpr const char* kBlanks = " \t\f\v";

// Takes comments and blanks at its ends away from a line. `inside`: of a comment that goes on in the next.
std::string without_comments(std::string_view line, bool& inside) {
  std::string text;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const std::string_view two = line.substr(i, 2);
    if (inside) {
      if (two != "*/") continue;
      inside = false;
      ++i;
    } else if (quote == 0 && two == "/*") {
      inside = true;
      ++i;
    } else if (quote == 0 && two == "//") {
      break;
    } else {
      if (line[i] == '\\' && quote != 0 && i + 1 < line.size()) {
        text += line[i];
        ++i;
      } else if (line[i] == quote) {
        quote = 0;
      } else if (quote == 0 && (line[i] == '"' || line[i] == '\'')) {
        quote = line[i];
      }
      text += line[i];
    }
  }
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool is_label(std::string_view line) {
  for (const std::string_view word : {"case", "default"}) {
    if (!line.starts_with(word) || line.find(':') == std::string_view::npos) continue;
    const char next = line.size() > word.size() ? line[word.size()] : ' ';
    if (next == ' ' || next == '\t' || next == ':' || next == '(' || next == '\'' || next == '-') return true;
  }
  return false;
}

// "int n;": nothing is called or assigned.
bool is_declaration(std::string_view line) {
  return line.ends_with(";") && line.find_first_of("(=:+-/%&|^!~?\"'") == std::string_view::npos &&
         line.find(' ') != std::string_view::npos;
}

}  // namespace

std::map<uint32_t, uint32_t> case_labels(const std::vector<std::string>& text,
                                         const std::function<bool(uint32_t)>& has_code) {
  std::map<uint32_t, uint32_t> found;
  std::vector<uint32_t> open;  // labels whose code was not met
  bool is_comment = false;
  for (uint32_t number = 1; number <= text.size(); ++number) {
    const std::string line = without_comments(text[number - 1], is_comment);
    if (has_code(number)) {
      for (const uint32_t label : open) found[label] = number;
      open.clear();
    } else if (is_label(line)) {
      open.push_back(number);
    } else if (!line.empty() && line != "{" && line != "[[fallthrough]];" && !is_declaration(line)) {
      open.clear();
    }
  }
  return found;
}

}  // namespace prof
