#include "json_text.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace prof {

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string json_number(double n) {
  char digits[40];
  return {digits, std::to_chars(digits, digits + sizeof digits, n).ptr};
}

}  // namespace prof
