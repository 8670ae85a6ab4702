#include "json_writer.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <string>

#include "numbers.h"

namespace prof {

// Most of a document are names and numbers, so the two go out as one.

namespace {

constexpr size_t kMaxBeforeName = 2, kMaxAroundName = 3, kMaxDigits = 20;
constexpr size_t kLongestName = kMaxBeforeName + kMaxAroundName + JsonName::kLongest;

}  // namespace

void JsonWriter::name(JsonName name) {
  char piece[kLongestName];
  out_.text({piece, size_t(begin_member(name, piece) - piece)});
  has_name_ = true;
}

void JsonWriter::natural_member(JsonName its_name, uint64_t number) {
  char piece[kLongestName + kMaxDigits];
  char* digits = begin_member(its_name, piece);
  out_.text({piece, size_t(std::to_chars(digits, piece + sizeof piece, number).ptr - piece)});
}

// What stands before its value. Returns the end of that.
char* JsonWriter::begin_member(JsonName its_name, char* to) {
  to = std::ranges::copy(separator(), to).out;
  *to++ = '"';
  to = std::ranges::copy(its_name.text(), to).out;
  *to++ = '"';
  *to++ = ':';
  return to;
}

void JsonWriter::any_name(std::string_view text) {
  value(text);
  out_.byte(':');
  has_name_ = true;
}

void JsonWriter::value(std::string_view text) {
  begin_item();
  quoted(text);
}

void JsonWriter::value(double number) {
  begin_item();
  char digits[40];
  out_.text({digits, size_t(std::to_chars(digits, digits + sizeof digits, number).ptr - digits)});
}

void JsonWriter::value(double number, int places) {
  begin_item();
  out_.text(decimal(number, places));
}

void JsonWriter::null() {
  begin_item();
  out_.text("null");
}

void JsonWriter::begin(char bracket) {
  begin_item();
  out_.byte(bracket);
  is_first_ = true;
}

void JsonWriter::end(char bracket) {
  out_.byte(bracket);
  is_first_ = false;
}

std::string_view JsonWriter::separator() {
  constexpr std::string_view kLine = ",\n";
  const std::string_view text = kLine.substr(is_first_ ? 1 : 0, size_t(!is_first_) + size_t(begins_line_));
  is_first_ = begins_line_ = false;
  return text;
}

// A member begins with its name.
void JsonWriter::begin_item() {
  if (!has_name_) out_.text(separator());
  has_name_ = false;
}

void JsonWriter::quoted(std::string_view text) {
  if (!JsonName::is_plain(text))
    return out_.text(nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  out_.byte('"');
  out_.text(text);
  out_.byte('"');
}

void JsonWriter::logical(bool is_true) {
  begin_item();
  out_.text(is_true ? "true" : "false");
}

void JsonWriter::integer(int64_t number) {
  begin_item();
  out_.text(std::to_string(number));
}

void JsonWriter::natural(uint64_t number) {
  begin_item();
  out_.number(number);
}

}  // namespace prof
