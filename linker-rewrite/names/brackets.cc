#include "brackets.h"

#include <algorithm>

namespace prof_names {

namespace {

constexpr size_t kLongest = 1 << 16, kDeepest = 200;

constexpr std::string_view kOpening = "<([{", kClosing = ">)]}";

// With brackets, or what looks like them, in their names. The longest first.
constexpr std::string_view kOperators[] = {"<=>", "<<=", ">>=", "->*", "()", "[]", "->",  "<<",
                                           ">>",  "<=",  ">=",  "<",   ">",  ",",  "\"\""};
constexpr std::string_view kWord = "operator";

}  // namespace

// Of the word at `at` with the signs after it, if it is `operator'; else 0.
size_t Brackets::operator_length(size_t at) const {
  const std::string_view rest = text_.substr(at);
  if (!rest.starts_with(kWord) || (at > 0 && is_of_identifier(text_[at - 1]))) return 0;
  const std::string_view after = rest.substr(kWord.size());
  if (after.empty() || is_of_identifier(after[0])) return 0;
  for (std::string_view sign : kOperators)
    if (after.starts_with(sign)) return kWord.size() + sign.size();
  return kWord.size();
}

// Whether the parentheses that end before `at` are those of a value, as in (5)>>(2), and not those of a type, as in
// function<int (A)>.
bool Brackets::is_behind_operand(size_t at) const {
  if (at == 0 || text_[at - 1] != ')') return false;
  const std::string_view before = text_.substr(0, last_start_);
  if (before.ends_with(", ")) return true;
  return !before.empty() && !is_of_identifier(before.back()) &&
         std::string_view(" >)]}*&").find(before.back()) == std::string_view::npos;
}

// The position after what begins at `at` and holds no brackets although it may look so; `at` itself if nothing does.
size_t Brackets::skipped(size_t at) const {
  const std::string_view rest = text_.substr(at);
  if (rest.starts_with("->")) return at + 2;
  if (rest.size() > 2 && rest[0] == '\'' && rest[2] == '\'') return at + 3;
  if (rest[0] == '"')
    if (const size_t end = rest.find('"', 1); end != std::string_view::npos) return at + end + 1;
  if (!is_behind_operand(at)) return at;
  for (std::string_view sign : {">>(", ">=("})
    if (rest.starts_with(sign)) return at + 2;
  if (rest[0] != '<') return at;
  return at + (rest.starts_with("<<") || rest.starts_with("<=") ? 2 : 1);
}

bool Brackets::match() {
  std::vector<uint32_t> open;
  for (size_t at = 0; at < text_.size();) {
    if (const size_t length = operator_length(at)) {
      operators_[at] = uint32_t(at + length);
      at += length;
      // After operator() a < is a bracket, and so is a parenthesis.
      if (at < text_.size() && text_[at] == '<') {
        open.push_back(uint32_t(at));
        ++at;
      }
      continue;
    }
    if (const size_t next = skipped(at); next != at) {
      at = next;
      continue;
    }
    const char c = text_[at];
    if (kOpening.find(c) != std::string_view::npos) {
      if (open.size() == kDeepest) return false;
      open.push_back(uint32_t(at));
    } else if (const size_t kind = kClosing.find(c); kind != std::string_view::npos) {
      const bool fits = !open.empty() && text_[open.back()] == kOpening[kind];
      if (fits) {
        last_start_ = open.back();
        ends_[last_start_] = uint32_t(at);
        open.pop_back();
      } else if (c != '>') {
        return false;
      }
    }
    ++at;
  }
  return open.empty();
}

std::optional<Brackets> Brackets::find(std::string_view text) {
  if (text.size() > kLongest) return std::nullopt;
  Brackets brackets(text);
  if (!brackets.match()) return std::nullopt;
  return brackets;
}

std::vector<size_t> Brackets::commas(size_t from, size_t to) const {
  std::vector<size_t> found;
  for (size_t at = from; at < to; ++at) {
    if (operators_[at]) {
      at = operators_[at] - 1;
    } else if (ends_[at]) {
      at = ends_[at];
    } else if (text_[at] == ',') {
      found.push_back(at);
    }
  }
  return found;
}

}  // namespace prof_names
