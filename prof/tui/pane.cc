#include "pane.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "libprof/printable.h"
#include "prof/views/run/tree_lines.h"
#include "prof/views/text/names.h"

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

namespace {

constexpr size_t kTabStop = 8;

// Calls `take` with each character and its columns, until that returns false.
template <class Take>
void each_character(const std::string& line, const Take& take) {
  for (size_t at = 0; at < line.size();) {
    const size_t size = std::max<size_t>(prof_text::printable_length(line.data() + at, line.size() - at), 1);
    const std::string character = line.substr(at, size);
    if (!take(character, columns_of(character))) return;
    at += size;
  }
}

}  // namespace

std::string without_tabs(const std::string& line) {
  std::string text;
  size_t columns = 0;
  each_character(line, [&](const std::string& character, size_t width) {
    if (character == "\t") {
      width = kTabStop - columns % kTabStop;
      text.append(width, ' ');
    } else {
      text += character;
    }
    columns += width;
    return true;
  });
  return text;
}

std::vector<std::string> broken(const std::string& text, size_t columns) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string rest = wrapped(text.substr(at, end - at), columns);
    for (size_t newline; (newline = rest.find('\n')) != std::string::npos; rest.erase(0, newline + 1))
      lines.push_back(rest.substr(0, newline));
    at = end + 1;
  }
  return lines;
}

std::string cut_at(const std::string& line, size_t columns) {
  std::string text;
  each_character(line, [&](const std::string& character, size_t width) {
    if (width > columns) return false;
    columns -= width;
    text += character;
    return true;
  });
  return text;
}

namespace {

using Identity = std::tuple<std::string, std::string, uint64_t>;

// By object, name and address. An import stands at other addresses in each module that calls it.
Identity identity_of(const Analysis& analysis, const Function& f) {
  return {analysis.functions.objects()[f.object].name(), f.raw_name, f.is_import ? 0 : f.address};
}

}  // namespace

Look::Look(Analysis of) : analysis(std::move(of)), names(names_of_functions(analysis.functions)) {}

std::vector<uint32_t> same_functions(const Look& before, const Look& after) {
  std::map<Identity, uint32_t> known;
  const std::vector<Function>& now = after.analysis.functions.functions();
  for (uint32_t f = 0; f < now.size(); ++f) known.emplace(identity_of(after.analysis, now[f]), f);
  std::vector<uint32_t> same;
  for (const Function& f : before.analysis.functions.functions()) {
    const auto at = known.find(identity_of(before.analysis, f));
    same.push_back(at == known.end() ? kNoFunction : at->second);
  }
  return same;
}

}  // namespace prof::tui
