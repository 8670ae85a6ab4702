// Fields of CSV (RFC 4180).

#ifndef TEXT_CSV_H
#define TEXT_CSV_H

#include <string>
#include <string_view>

namespace prof_text {

// In quotes only where it has to be.
inline std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace prof_text

#endif
