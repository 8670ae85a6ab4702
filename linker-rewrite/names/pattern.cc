#include "pattern.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "demangle.h"
#include "parts.h"

namespace prof_names {

namespace {

// Demanglers write > > and >>.
std::string with_joined_brackets(const std::string& text) {
  std::string joined;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != ' ' || !joined.ends_with('>') || i + 1 == text.size() || text[i + 1] != '>') joined += text[i];
  return joined;
}

// A part of a path without template arguments, parameters and qualifiers: f of f<int>(int) const; and of Rust's <A as
// B>, which is A's own part of a trait, A.
std::string bare(std::string_view part, const Brackets& brackets, size_t offset) {
  if (part.starts_with('<')) {
    const size_t end = std::min(part.find(" as "), part.size() - 1);
    const std::string inner(part.substr(1, end - 1));
    const std::optional<Brackets> of_inner = Brackets::find(inner);
    return of_inner && !inner.empty() ? bare(inner, *of_inner, 0) : inner;
  }
  std::string text;
  for (size_t at = 0; at < part.size(); ++at) {
    if (const size_t end = brackets.end_of_operator(offset + at)) {
      text += part.substr(at, end - offset - at);
      at = end - offset - 1;
      continue;
    }
    const size_t close = brackets.end_of(offset + at);
    if (close && part[at] == '(' && at > 0) break;
    if (!close) {
      text += part[at];
      continue;
    }
    if (part[at] != '<') text += part.substr(at, close - offset + 1 - at);
    at = close - offset;
  }
  // operator<< <int>; and the :: before Rust's f::<T>
  while (text.ends_with(' ') || text.ends_with(':')) text.pop_back();
  return std::string(without_clone(text));  // of Fortran and Ada
}

// `bare_parts`: how many parts of the path, the last ones, go without template arguments.
PathForm form_of(std::string_view name, const Parts& parts, const Brackets& brackets, size_t bare_parts) {
  PathForm form = {};
  const size_t first_bare = parts.path.size() - std::min(bare_parts, parts.path.size());
  for (size_t i = 0; i < parts.path.size(); ++i) {
    if (i > 0) form.text += parts.separator;
    form.starts.push_back(form.text.size());
    const std::string_view part = parts.path[i];
    form.text += i < first_bare ? std::string(part) : bare(part, brackets, size_t(part.data() - name.data()));
  }
  form.path_end = form.text.size();
  form.text += parts.parameters;
  form.parameters_end = form.text.size();
  form.qualifiers_end = form.parameters_end + std::min(parts.rest.find(" ["), parts.rest.size());
  form.text += parts.rest;
  return form;
}

}  // namespace

Name::Name(std::string symbol, Languages languages) : symbol_(std::move(symbol)) {
  const std::string demangled_name = demangled(symbol_, languages);
  whole_ = with_joined_brackets(demangled_name);
  simplified_ = prof_names::simplified(demangled_name);
  if (demangled_name == symbol_) {
    const std::string stem(without_clone(symbol_));
    without_arguments_.push_back({stem, {0}, stem.size(), stem.size(), stem.size()});
    return;
  }
  add_forms(whole_);
  if (simplified_ != whole_) add_forms(simplified_);
}

void Name::add_forms(const std::string& text) {
  const std::optional<Brackets> brackets = Brackets::find(text);
  if (!brackets) {
    without_arguments_.push_back({text, {0}, text.size(), text.size(), text.size()});
    return;
  }
  const Parts parts = parts_of(text, *brackets);
  without_arguments_.push_back(form_of(text, parts, *brackets, parts.path.size()));
  if (text.find('<') == std::string::npos) return;
  with_arguments_.push_back(form_of(text, parts, *brackets, 0));
  with_arguments_.push_back(form_of(text, parts, *brackets, 1));
}

std::string_view Name::path() const {
  const PathForm& form = without_arguments_.back();
  return std::string_view(form.text).substr(0, form.path_end);
}

std::string_view Name::last_part() const { return path().substr(without_arguments_.back().starts.back()); }

namespace {

// As it is copied from a table: what was inlined and what was not go by one name.
std::string without_inlined(const std::string& glob) {
  const std::string mark = " " + std::string(kInlined);
  return glob.ends_with(mark) ? glob.substr(0, glob.size() - mark.size()) : glob;
}

}  // namespace

Pattern::Pattern(const std::string& glob)
    : glob_(without_inlined(glob)),
      normal_(with_joined_brackets(glob_)),
      plain_length_(std::min(normal_.find_first_of("*?[\\"), normal_.size())),
      has_parenthesis_(glob_.find('(') != std::string::npos),
      has_arguments_(glob_.find('<') != std::string::npos),
      has_blank_(glob_.find(' ') != std::string::npos) {}

bool Pattern::matches_text(std::string_view text) const {
  if (text == normal_) return true;
  if (plain_length_ == normal_.size() || !text.starts_with(std::string_view(normal_).substr(0, plain_length_)))
    return false;
  return fnmatch(normal_.c_str(), std::string(text).c_str(), 0) == 0;
}

bool Pattern::matches_form(const PathForm& form) const {
  const std::string_view text = form.text;
  for (size_t start : form.starts) {
    if (matches_text(text.substr(start, form.path_end - start))) return true;
    if (has_parenthesis_ && form.path_end < form.parameters_end)
      for (size_t end : {form.parameters_end, form.qualifiers_end, text.size()})
        if (matches_text(text.substr(start, end - start))) return true;
    if (normal_.starts_with('*')) return false;  // which stands for the parts before, too
  }
  return false;
}

bool Pattern::matches(const Name& name) const {
  if (matches_text(name.symbol())) return true;
  if (normal_ == name.whole() || normal_ == name.simplified()) return true;
  if (has_blank_ && (matches_text(name.whole()) || matches_text(name.simplified()))) return true;
  const auto is_form = [&](const PathForm& form) { return matches_form(form); };
  return std::ranges::any_of(name.without_arguments(), is_form) ||
         (has_arguments_ && std::ranges::any_of(name.with_arguments(), is_form));
}

Filter::Filter(const std::vector<std::string>& only, const std::vector<std::string>& except)
    : only_(only.begin(), only.end()), except_(except.begin(), except.end()) {}

bool Filter::selects(std::span<const Name> names) const {
  const auto is_meant_by = [&](const std::vector<Pattern>& patterns) {
    return std::ranges::any_of(names, [&](const Name& name) {
      return std::ranges::any_of(patterns, [&](const Pattern& pattern) { return pattern.matches(name); });
    });
  };
  return (only_.empty() || is_meant_by(only_)) && !is_meant_by(except_);
}

namespace {

constexpr size_t kNamed = 3;
constexpr size_t kLongest = 200;  // nobody mistypes longer ones
constexpr size_t kTimesAsLong = 8;

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = char(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// How many characters have to be put in, taken out, replaced or exchanged with their neighbours (Damerau and
// Levenshtein's distance, of those that change no character twice).
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
  // One in the other is near, too: sort and sort_names. But a long name, as of a function that a compiler made, has
  // many short ones in it.
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
