#include "simplify.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "brackets.h"
#include "default_arguments.h"

namespace prof_names {

namespace {

// Inline namespaces of libstdc++ and libc++, within std.
constexpr std::string_view kInlineNamespaces[] = {"__cxx11", "__1", "_V2"};

// What people call a template with these arguments.
struct Alias {
  std::string_view whole, name;
};
constexpr Alias kAliases[] = {
    {"std::chrono::duration<long, std::ratio<1l, 1000000000l>>", "std::chrono::nanoseconds"},
    {"std::chrono::duration<long, std::ratio<1l, 1000000l>>", "std::chrono::microseconds"},
    {"std::chrono::duration<long, std::ratio<1l, 1000l>>", "std::chrono::milliseconds"},
    {"std::chrono::duration<long>", "std::chrono::seconds"},
};

// std::string of std::basic_string<char>, std::wostream of std::basic_ostream<wchar_t>; "" if it is no such template.
std::string character_alias(std::string_view name, const std::vector<std::string>& arguments) {
  constexpr std::string_view kBasic = "std::basic_";
  if (!name.starts_with(kBasic) || arguments.size() != 1) return "";
  constexpr std::string_view kPrefixes[][2] = {
      {"char", ""}, {"wchar_t", "w"}, {"char8_t", "u8"}, {"char16_t", "u16"}, {"char32_t", "u32"}};
  for (const auto& [type, prefix] : kPrefixes)
    if (arguments[0] == type) return "std::" + std::string(prefix) + std::string(name.substr(kBasic.size()));
  return "";
}

std::string joined(std::string_view name, const std::vector<std::string>& arguments) {
  std::string text = std::string(name) + "<";
  for (const std::string& argument : arguments) text += (&argument == arguments.data() ? "" : ", ") + argument;
  return text + ">";
}

class Simplifier {
 public:
  Simplifier(std::string_view text, const Brackets& brackets) : text_(text), brackets_(brackets) {}

  // What lies between two positions that are in the same brackets.
  std::string between(size_t from, size_t to) const {
    std::string out;
    for (size_t at = from; at < to;) at = step(at, out);
    return out;
  }

 private:
  // Adds what stands for the text at `at`; returns where to go on.
  size_t step(size_t at, std::string& out) const {
    if (const size_t end = brackets_.end_of_operator(at)) {
      out += text_.substr(at, end - at);
      return end;
    }
    const size_t end = brackets_.end_of(at);
    if (end && text_.substr(at).starts_with("[abi:")) return end + 1;
    if (end && text_[at] == '<') {
      add_template(at, end, out);
      return end + 1;
    }
    if (is_of_identifier(text_[at])) {
      size_t behind = at;
      while (behind < text_.size() && is_of_identifier(text_[behind])) ++behind;
      if (is_inline_namespace(at, behind, out)) return behind + 2;
      out += text_.substr(at, behind - at);
      return behind;
    }
    out += text_[at];
    return at + 1;
  }

  // The name that a text ends with, without template arguments: std::vector.
  static std::string_view last_path(std::string_view out) {
    size_t start = out.size();
    while (start > 0 && (is_of_identifier(out[start - 1]) || out[start - 1] == ':')) --start;
    return out.substr(start);
  }

  bool is_inline_namespace(size_t at, size_t behind, std::string_view out) const {
    return std::ranges::find(kInlineNamespaces, text_.substr(at, behind - at)) != std::end(kInlineNamespaces) &&
           text_.substr(behind).starts_with("::") && last_path(out).starts_with("std::");
  }

  // The arguments in the brackets from `start` to `end`, behind the name that `out` ends with.
  void add_template(size_t start, size_t end, std::string& out) const {
    std::vector<std::string> arguments;
    std::vector<size_t> ends = brackets_.commas(start + 1, end);
    ends.push_back(end);
    size_t from = start + 1;
    for (size_t comma : ends) {
      arguments.push_back(trimmed(between(from, comma)));
      from = comma + 1;
    }
    const std::string name(last_path(out));
    leave_out_defaults(name, arguments);
    std::string whole = joined(name, arguments);
    if (const std::string alias = character_alias(name, arguments); !alias.empty()) whole = alias;
    for (const Alias& alias : kAliases)
      if (whole == alias.whole) whole = alias.name;
    out.resize(out.size() - name.size());
    out += whole;
  }

  static std::string trimmed(const std::string& text) {
    const size_t first = text.find_first_not_of(' ');
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
  }

  std::string_view text_;
  const Brackets& brackets_;
};

}  // namespace

std::string simplified(const std::string& demangled) {
  if (demangled.find_first_of("<[:") == std::string::npos) return demangled;
  const std::optional<Brackets> brackets = Brackets::find(demangled);
  return brackets ? Simplifier(demangled, *brackets).between(0, demangled.size()) : demangled;
}

}  // namespace prof_names
