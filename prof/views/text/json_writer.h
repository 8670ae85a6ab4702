// JSON, written as a stream: a document of a million nodes that is built in memory first takes gigabytes. Commas come
// by themselves. Lines are broken where the caller says so.

#ifndef PROF_VIEWS_TEXT_JSON_WRITER_H
#define PROF_VIEWS_TEXT_JSON_WRITER_H

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "output.h"

namespace prof {

// The name of a member, known when prof is compiled: short, and without anything to escape.
class JsonName {
 public:
  static constexpr size_t kLongest = 48;

  template <size_t kSize>
  consteval JsonName(const char (&text)[kSize]) : text_(text, kSize - 1) {
    if (text_.size() > kLongest || !is_plain(text_)) throw "a name that JsonWriter::any_name is for";
  }
  std::string_view text() const { return text_; }

  // Whether a text needs no escapes.
  static constexpr bool is_plain(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  }

 private:
  std::string_view text_;
};

class JsonWriter {
 public:
  explicit JsonWriter(Output& out) : out_(out) {}

  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }
  // The value of a member.
  void begin_object(JsonName its_name) {
    name(its_name);
    begin_object();
  }
  void begin_array(JsonName its_name) {
    name(its_name);
    begin_array();
  }

  // What comes next, a value of an array or a member of an object, begins a line.
  void new_line() { begins_line_ = true; }

  // Of the member whose value comes next.
  void name(JsonName name);
  void any_name(std::string_view text);

  // A number is as short as it can be without being another. Texts are whatever bytes a symbol table holds: what is not
  // ASCII is escaped, controls with it, and what is not UTF-8 replaced.
  void value(std::string_view text);
  void value(double number);
  // With so many places.
  void value(double number, int places);
  void null();
  template <class T>
  requires std::is_integral_v<T>
  void value(T number) {
    if constexpr (std::is_same_v<T, bool>)
      logical(number);
    else if constexpr (std::is_signed_v<T>)
      integer(number);
    else
      natural(number);
  }

  template <class T>
  void member(JsonName its_name, const T& its_value) {
    if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>) {
      natural_member(its_name, its_value);
    } else {
      name(its_name);
      value(its_value);
    }
  }

 private:
  void begin(char bracket);
  void end(char bracket);
  std::string_view separator();
  void begin_item();
  void quoted(std::string_view text);
  void logical(bool is_true);
  void integer(int64_t number);
  void natural(uint64_t number);
  void natural_member(JsonName its_name, uint64_t number);
  char* begin_member(JsonName its_name, char* to);

  Output& out_;
  bool is_first_ = true;  // of what it is in
  bool has_name_ = false;
  bool begins_line_ = false;
};

}  // namespace prof

#endif
