// Numbers and bytes as text: in hexadecimal, in lower case, and how many there are of something, in words.

#ifndef TEXT_NUMBERS_H
#define TEXT_NUMBERS_H

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace prof_text {

// "1 function was", "2 functions were"
inline std::string count_of(uint64_t n, std::string_view one, std::string_view several) {
  return std::to_string(n).append(" ").append(n == 1 ? one : several);
}

// "1 call", "2 calls"
inline std::string count_of(uint64_t n, std::string_view thing) { return count_of(n, thing, std::string(thing) + "s"); }

// Without zeros in front: "1139".
inline std::string hexadecimal_digits(uint64_t number) {
  char digits[16];
  return {digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr};
}

// "0x1139"
inline std::string hexadecimal(uint64_t number) { return "0x" + hexadecimal_digits(number); }

// Two digits for each byte: a build-id.
inline std::string hexadecimal_of(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  digits.reserve(2 * bytes.size());
  for (const char c : bytes) {
    digits += kDigits[static_cast<unsigned char>(c) >> 4];
    digits += kDigits[c & 15];
  }
  return digits;
}

}  // namespace prof_text

#endif
