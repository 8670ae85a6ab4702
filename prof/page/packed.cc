#include "packed.h"

#include "prof/read/error.h"

namespace prof {

namespace {

constexpr int kLevel = 4;  // half the time of the usual 6, for a fiftieth more bytes
constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Three bytes as four letters.
void append_letters(std::string& text, uint32_t three) {
  for (int shift = 18; shift >= 0; shift -= 6) text += kLetters[(three >> shift) & 63];
}

uint32_t byte_of(char c) { return static_cast<unsigned char>(c); }

// Of the whole groups of three bytes; a last one that is not whole is left out.
std::string letters_of(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i + 3 <= bytes.size(); i += 3)
    append_letters(text, byte_of(bytes[i]) << 16 | byte_of(bytes[i + 1]) << 8 | byte_of(bytes[i + 2]));
  return text;
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text = letters_of(bytes);
  const size_t rest = bytes.size() % 3, missing = 3 - rest;
  if (rest == 0) return text;
  // What is missing of the last three bytes is zero; that much of the last four letters is replaced.
  std::string last(bytes.substr(bytes.size() - rest));
  text += letters_of(last.append(missing, '\0'));
  return text.replace(text.size() - missing, missing, missing, '=');
}

Packed::Packed(Output& out) : out_(out) {
  if (deflateInit(&stream_, kLevel) != Z_OK) throw Error(out.name() + ": cannot compress: out of memory");
}

Packed::~Packed() { deflateEnd(&stream_); }

void Packed::document(std::string_view json) {
  std::string length;
  for (int shift = 0; shift < 32; shift += 8) length += char((json.size() >> shift) & 255);
  compress(length, Z_NO_FLUSH);
  compress(json, Z_NO_FLUSH);
}

void Packed::column(std::string_view name, uint64_t count) {
  end_column();
  heading_ = char(name.size());
  heading_ += name;
  append(heading_, count);
}

void Packed::append(std::string& text, uint64_t number) {
  for (; number >= 128; number >>= 7) text += char((number & 127) | 128);
  text += char(number);
}

void Packed::end_column() {
  if (heading_.empty()) return;
  append(heading_, column_.size());
  compress(heading_, Z_NO_FLUSH);
  compress(column_, Z_NO_FLUSH);
  heading_.clear();
  column_.clear();
}

void Packed::finish() {
  end_column();
  compress({}, Z_FINISH);
  out_.text(base64(letters_));
  letters_.clear();
}

void Packed::compress(std::string_view bytes, int flush) {
  do {
    const std::string_view some = bytes.substr(0, 1 << 30);  // more than zlib counts
    bytes.remove_prefix(some.size());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(some.data()));
    stream_.avail_in = uInt(some.size());
    char compressed[1 << 16];
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(compressed);
      stream_.avail_out = sizeof compressed;
      deflate(&stream_, flush);
      write_letters({compressed, sizeof compressed - stream_.avail_out});
    } while (stream_.avail_out == 0);
  } while (!bytes.empty());
}

void Packed::write_letters(std::string_view more) {
  letters_ += more;
  out_.text(letters_of(letters_));
  letters_.erase(0, letters_.size() / 3 * 3);
}

}  // namespace prof
