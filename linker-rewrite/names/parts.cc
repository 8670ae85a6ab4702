#include "parts.h"

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

// Of the word at `at` with the signs after it, if it is `operator`; else 0.
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
bool Brackets::is_after_operand(size_t at) const {
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
  if (!is_after_operand(at)) return at;
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

namespace {

// What may stand after the parameters of a function.
constexpr std::string_view kQualifiers[] = {"const", "volatile", "&&", "&", "noexcept"};

class Reader {
 public:
  Reader(std::string_view text, const Brackets& brackets) : text_(text), brackets_(brackets) {}

  Parts read() {
    find_top_level();
    Span function = {0, end_without_rest()};
    Span parameters = parameters_before(function.end);
    if (parameters.start < parameters.end) {
      function.end = parameters.start;
      // int (*f(int))(char): f returns a pointer to a function.
      if (const Span inner = returned_pointer(function); inner.start < inner.end) return of_declarator(inner);
    }
    const size_t start = start_of_path(function);
    Parts parts;
    parts.type = text_.substr(0, start);
    split({start, function.end}, parts);
    parts.parameters = text_.substr(parameters.start, parameters.end - parameters.start);
    parts.rest = text_.substr(std::max(parameters.end, function.end));
    return parts;
  }

 private:
  struct Span {
    size_t start = 0, end = 0;
  };

  // Brackets, operators and blanks that are in no bracket.
  struct Token {
    enum class Kind { bracket, operator_name, blank } kind;
    Span span;
  };

  void find_top_level() {
    for (size_t at = 0; at < text_.size(); ++at) {
      if (const size_t end = brackets_.end_of_operator(at)) {
        tokens_.push_back({Token::Kind::operator_name, {at, end}});
        at = end - 1;
      } else if (const size_t close = brackets_.end_of(at)) {
        tokens_.push_back({Token::Kind::bracket, {at, close + 1}});
        at = close;
      } else if (text_[at] == ' ') {
        tokens_.push_back({Token::Kind::blank, {at, at + 1}});
      }
    }
  }

  // Without clones, libraries and kInlined, then without qualifiers, each with the blank before it.
  size_t end_without_rest() const {
    size_t end = text_.size();
    for (size_t i = tokens_.size(); i-- > 1;) {
      const Token &bracket = tokens_[i], &blank = tokens_[i - 1];
      if (bracket.kind != Token::Kind::bracket || bracket.span.end != end) break;
      const std::string_view text = text_.substr(bracket.span.start, end - bracket.span.start);
      if (text[0] != '[' && text != kInlined) break;
      if (blank.kind != Token::Kind::blank || blank.span.end != bracket.span.start) break;
      end = blank.span.start;
      --i;
    }
    return end;
  }

  size_t without_qualifiers(size_t end) const {
    for (bool found = true; found;) {
      found = false;
      for (std::string_view qualifier : kQualifiers) {
        if (!text_.substr(0, end).ends_with(qualifier)) continue;
        const size_t start = end - qualifier.size();
        if (start == 0 || text_[start - 1] != ' ') continue;
        end = start - 1;
        found = true;
      }
    }
    return end;
  }

  // Empty, at the end, if there are none.
  Span parameters_before(size_t end) const {
    const size_t close = without_qualifiers(end);
    for (const Token& token : tokens_) {
      if (token.kind != Token::Kind::bracket || token.span.end != close || token.span.start == 0) continue;
      if (text_[token.span.start] == '(') return token.span;
    }
    return {end, end};
  }

  Span returned_pointer(const Span& function) const {
    for (const Token& token : tokens_) {
      if (token.kind != Token::Kind::bracket || token.span.end != function.end) continue;
      const std::string_view inside = text_.substr(token.span.start);
      if (inside.starts_with("(*") || inside.starts_with("(&")) return {token.span.start + 2, token.span.end - 1};
    }
    return {};
  }

  // The parts of what stands in the parentheses; what is around them is of the return type.
  Parts of_declarator(const Span& inner) const {
    Parts parts;
    parts.type = text_.substr(0, inner.start);
    parts.rest = text_.substr(inner.end);
    Span path = inner;
    for (size_t at = inner.start; at < inner.end; ++at) {
      const size_t close = brackets_.end_of(at);
      if (!close) continue;
      if (text_[at] == '(' && close + 1 == inner.end && at > inner.start) {
        parts.parameters = text_.substr(at, inner.end - at);
        path.end = at;
      }
      at = close;
    }
    split(path, parts);
    return parts;
  }

  // Whether the blank belongs to qualifiers within a path: f(int) const::{lambda()#1}.
  bool is_before_qualifier(size_t blank) const {
    const std::string_view after = text_.substr(blank + 1);
    return std::ranges::any_of(kQualifiers, [&](std::string_view qualifier) {
      if (!after.starts_with(qualifier)) return false;
      const std::string_view next = after.substr(qualifier.size());
      return next.starts_with("::") || (next.starts_with(" ") && is_before_qualifier(blank + 1 + qualifier.size()));
    });
  }

  // Where the part of the path ends that begins with the name of an operator: `operator std::string`, `operator<<
  // <int>`.
  size_t end_of_part(size_t start, size_t end) const {
    size_t at = brackets_.end_of_operator(start);
    const bool is_conversion = text_[at - 1] == 'r';
    for (; at < end; ++at) {
      if (text_[at] == '(' || (!is_conversion && text_.substr(at).starts_with("::"))) return at;
      if (const size_t close = brackets_.end_of(at)) at = close;
    }
    return end;
  }

  // After the last blank, of those before the name of an operator, and not of qualifiers. "virtual thunk to f()" is no
  // return type: the thunk is another function than f.
  size_t start_of_path(const Span& function) const {
    size_t start = function.start;
    for (const Token& token : tokens_) {
      if (token.span.start >= function.end) break;
      if (token.kind == Token::Kind::operator_name && end_of_part(token.span.start, function.end) == function.end)
        break;
      if (token.kind != Token::Kind::blank || is_before_qualifier(token.span.start)) continue;
      if (text_.substr(token.span.end).starts_with("thunk to ")) return function.start;
      start = token.span.end;
    }
    return start;
  }

  // Rust's f::<T> is one part.
  bool is_separator(size_t at, size_t end, std::string_view separator) const {
    const std::string_view rest = text_.substr(at, end - at);
    return rest.starts_with(separator) && !rest.substr(separator.size()).starts_with('<');
  }

  void split(const Span& path, Parts& parts) const {
    for (std::string_view separator : {"::", "."}) {
      parts.path.clear();
      parts.separator = separator;
      size_t start = path.start;
      for (size_t at = path.start; at < path.end; ++at) {
        if (brackets_.end_of_operator(at)) {
          at = end_of_part(at, path.end) - 1;
        } else if (const size_t close = brackets_.end_of(at)) {
          at = close;
        } else if (at > start && is_separator(at, path.end, separator)) {
          parts.path.push_back(text_.substr(start, at - start));
          start = at + separator.size();
          at = start - 1;
        }
      }
      parts.path.push_back(text_.substr(start, path.end - start));
      if (parts.path.size() > 1) return;
    }
    parts.separator = "::";
  }

  std::string_view text_;
  const Brackets& brackets_;
  std::vector<Token> tokens_;
};

}  // namespace

Parts parts_of(std::string_view name, const Brackets& brackets) { return Reader(name, brackets).read(); }

}  // namespace prof_names
