#include "nearest.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace prof_names {

namespace {

constexpr size_t kNamed = 3;
constexpr size_t kLongest = 200;  // nobody mistypes longer ones
constexpr size_t kTimesAsLong = 8;

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = char(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// How many characters have to be put in, taken out, replaced or exchanged with their neighbours (Damerau and Levenshtein's
// distance, of those that change no character twice).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::move(last);
    last = row;
  }
  return last[b.size()];
}

}  // namespace

Nearest::Nearest(const Pattern& pattern) {
  std::string_view glob = pattern.glob();
  glob = glob.substr(0, glob.find_first_of("(<", 1));
  if (const size_t colons = glob.rfind("::"); colons != std::string_view::npos) glob.remove_prefix(colons + 2);
  for (char c : in_lower_case(glob))
    if (c != '*' && c != '?' && c != '\\') wanted_ += c;
}

Nearest::Nearest(std::string_view word) : wanted_(in_lower_case(word)) {}

void Nearest::add(const Name& name) { add(name.last_part(), name.path()); }

void Nearest::add(std::string_view word, std::string_view shown) {
  const std::string part = in_lower_case(word);
  if (wanted_.empty() || part.empty() || std::max(wanted_.size(), part.size()) > kLongest) return;
  const size_t shorter = std::min(wanted_.size(), part.size()), longer = std::max(wanted_.size(), part.size());
  const size_t farthest = (longer + 2) / 3;
  // One in the other is near, too: sort and sort_names. But a long name, as of a function that a compiler made, has many
  // short ones in it.
  const bool is_inside = shorter > 2 && longer <= kTimesAsLong * shorter &&
                         (part.find(wanted_) != std::string::npos || wanted_.find(part) != std::string::npos);
  if (!is_inside && longer - shorter > farthest) return;
  size_t far = distance(wanted_, part);
  if (far > farthest && !is_inside) return;
  if (is_inside) far = std::min(far, farthest);
  found_.emplace(far, std::string(shown));
  if (found_.size() > kNamed) found_.erase(std::prev(found_.end()));
}

std::string Nearest::question() const {
  std::string text;
  size_t n = 0;
  for (const auto& [far, name] : found_) {
    text += (n == 0 ? "did you mean " : n + 1 == found_.size() ? " or " : ", ") + name;
    ++n;
  }
  return text.empty() ? "" : text + "?";
}

}  // namespace prof_names
