#include "symspec.h"

#include <algorithm>
#include <charconv>

#include "prof/read/error.h"
#include "prof/read/file.h"

namespace prof::gprof {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The name without its parameters: std::sort<int*> of std::sort<int*>(int*, int*).
std::string_view without_parameters(std::string_view name) {
  if (!name.ends_with(')')) return name;
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return name.substr(0, i);
  }
  return name;
}

}  // namespace

Symspec::Symspec(std::string text) : text_(std::move(text)) {
  // The last colon that stands alone: those of C++'s names come in pairs.
  size_t colon = text_.rfind(':');
  while (colon != std::string::npos && colon > 0 && text_[colon - 1] == ':')
    colon = colon < 2 ? std::string::npos : text_.rfind(':', colon - 2);
  std::string rest = text_;
  if (colon != std::string::npos) {
    file_ = text_.substr(0, colon);
    rest = text_.substr(colon + 1);
  } else if (text_.find('.') != std::string::npos) {
    file_ = text_;
    rest.clear();
  }
  if (!rest.empty() && is_digit(rest[0])) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), line_);
    if (error != std::errc() || end != rest.data() + rest.size()) throw Error(text_ + ": has no number of a line");
  } else {
    name_ = rest;
  }
}

bool Symspec::matches_file(std::string_view path) const {
  if (file_.empty() || file_ == path) return true;
  return path.substr(path.rfind('/') + 1) == file_;
}

bool Symspec::matches_name(const NamedPlace& place) const {
  return name_.empty() || name_ == place.symbol || name_ == place.name || name_ == without_parameters(place.name);
}

bool Symspec::matches(const NamedPlace& place) const {
  return matches_name(place) && matches_file(place.file) && (line_ == 0 || line_ == place.line);
}

bool Symspec::has_file(const std::vector<NamedPlace>& places) const {
  return std::any_of(places.begin(), places.end(), [&](const NamedPlace& place) { return matches_file(place.file); });
}

}  // namespace prof::gprof
