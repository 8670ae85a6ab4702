#include "query.h"

#include <algorithm>

namespace prof::tui {

namespace {

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
char small(char c) { return is_capital(c) ? char(c - 'A' + 'a') : c; }

}  // namespace

Query::Query(std::string text) : text_(std::move(text)), has_capitals_(std::ranges::any_of(text_, is_capital)) {}

std::optional<size_t> Query::find_in(const std::string& text) const {
  if (text_.empty()) return {};
  const auto same = [&](char a, char b) { return has_capitals_ ? a == b : small(a) == b; };
  const auto at = std::search(text.begin(), text.end(), text_.begin(), text_.end(), same);
  if (at == text.end()) return {};
  return size_t(at - text.begin());
}

}  // namespace prof::tui
