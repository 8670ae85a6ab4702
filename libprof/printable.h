// Text that others chose, made fit to be printed: names of symbols, files, threads and programs hold any bytes, and a
// terminal obeys some of them. An ESC begins a command, a newline a faked row, and a control of Unicode turns the order
// of what follows around.
//
// There is one escape for all of prof, profld and libprof: a byte that is not to be printed becomes \xHH, and a
// backslash becomes \\, so that every text can be told from every other. Escaped are
//
//     control characters      below 0x20, newline and tab too, and 0x7f
//     those of Unicode        U+0080 to U+009F, the separators of lines and the changes of direction
//     what is no UTF-8        (RFC 3629, section 4), byte by byte
//
// JSON has escapes of its own.

#ifndef LIBPROF_PRINTABLE_H
#define LIBPROF_PRINTABLE_H

#include <stddef.h>
#include <stdint.h>

#if __STDC_HOSTED__
#include <string>
#include <string_view>
#endif

namespace prof_text {

// Whether a code point is a control: of the terminal (C1), of lines or of direction (Unicode, UAX #9).
inline bool is_control(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

// The length in bytes of the character at `p`, of which `size` > 0 bytes are there; 0 if its first byte is to be
// escaped.
inline size_t printable_length(const char* p, size_t size) {
  const auto byte = [&](size_t i) { return uint32_t(static_cast<unsigned char>(p[i])); };
  const uint32_t first = byte(0);
  if (first < 0x80) return is_control(first) ? 0 : 1;
  const size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length == 0 || length > size) return 0;
  uint32_t c = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    c = c << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < kSmallest[length] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff || is_control(c)) return 0;
  return length;
}

// Calls `put(bytes, size)` with the pieces of the text as it is to be printed.
template <class Put>
void put_printable(const char* text, size_t size, const Put& put) {
  const char* const digits = "0123456789abcdef";
  for (size_t i = 0; i < size;) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = printable_length(text + i, size - i);
    const char escape[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    if (length == 0) {
      put(escape, sizeof escape);
    } else if (byte == '\\') {
      put("\\\\", size_t(2));
    } else {
      put(text + i, length);
    }
    i += length ? length : 1;
  }
}

#if __STDC_HOSTED__

inline std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  put_printable(text.data(), text.size(), [&](const char* bytes, size_t size) { result.append(bytes, size); });
  return result;
}

// Whether every character is printed as it is, or is a backslash.
inline bool is_printable(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = printable_length(text.data() + i, text.size() - i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

// At most the first `size` bytes of printable text, and no part of a character.
inline std::string shortened(std::string text, size_t size) {
  if (size >= text.size()) return text;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  text.resize(size);
  return text;
}

#endif

}  // namespace prof_text

#endif
