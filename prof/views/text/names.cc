#include "names.h"

#include <langinfo.h>
#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "linker-rewrite/names/parts.h"

namespace prof {

namespace {

using prof_names::Brackets;

constexpr size_t kMinColumns = 8;

// What stands for something that was left out.
struct Ellipsis {
  std::string_view arguments, parameters, middle;
};
constexpr Ellipsis kAscii = {"<...>", "(...)", "..."}, kUtf8 = {"‹…›", "(…)", "…"};

// A character of a text in UTF-8: its bytes, and the columns that it takes.
struct Character {
  size_t size, columns;
};

// wcwidth, which knows wide and combining characters, goes by the locale. `text` begins with a character.
Character character_at(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t size = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (size == 1 || size > text.size()) return {1, 1};
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t());
  auto code = static_cast<uint32_t>(lead & (0xff >> (size + 1)));
  for (size_t i = 1; i < size; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  if (!utf8) return {size, 1};
  const locale_t before = uselocale(utf8);
  const int columns = wcwidth(wchar_t(code));
  uselocale(before);
  return {size, columns < 0 ? 1 : size_t(columns)};
}

// Where the template arguments of a name are, and how deep in others.
struct Arguments {
  size_t start, end;  // of < and after >
  size_t depth;       // 1 for the outermost
};

std::vector<Arguments> template_arguments(std::string_view name, const Brackets& brackets) {
  std::vector<Arguments> found;
  std::vector<size_t> open;  // ends
  for (size_t at = 0; at < name.size(); ++at) {
    while (!open.empty() && open.back() <= at) open.pop_back();
    const size_t end = brackets.end_of(at);
    if (!end || name[at] != '<') continue;
    open.push_back(end);
    found.push_back({at, end + 1, open.size()});
  }
  return found;
}

// The name with `ellipsis` for the template arguments of this depth.
std::string without_arguments(std::string_view name, const std::vector<Arguments>& all, size_t depth,
                              std::string_view ellipsis) {
  std::string text;
  size_t from = 0;
  for (const Arguments& arguments : all) {
    if (arguments.depth != depth || columns_of(std::string(ellipsis)) >= arguments.end - arguments.start) continue;
    text += name.substr(from, arguments.start - from);
    text += ellipsis;
    from = arguments.end;
  }
  return text += name.substr(from);
}

// The name with `ellipsis` for all that is in parentheses, but for (anonymous namespace) and (inlined).
std::string without_parameters(std::string_view name, std::string_view ellipsis) {
  const std::optional<Brackets> brackets = Brackets::find(name);
  if (!brackets) return std::string(name);
  std::string text;
  for (size_t at = 0; at < name.size(); ++at) {
    const size_t end = brackets->end_of(at);
    const std::string_view rest = name.substr(at);
    if (end > at + 1 && name[at] == '(' && !rest.starts_with("(anonymous ") &&
        !rest.starts_with(prof_names::kInlined)) {
      text += ellipsis;
      at = end;
    } else {
      text += name[at];
    }
  }
  return text;
}

// What is left of a name when nothing can be left out any more: a beginning and, twice as long, an end.
std::string without_middle(std::string_view name, size_t columns, std::string_view ellipsis) {
  const size_t room = columns - columns_of(std::string(ellipsis)), before = room / 3;
  size_t head = 0, used = 0;
  while (head < name.size()) {
    const Character next = character_at(name.substr(head));
    if (used + next.columns > before) break;
    used += next.columns;
    head += next.size;
  }
  size_t tail = name.size();
  for (size_t at = name.size(); at-- > head;) {
    if ((static_cast<unsigned char>(name[at]) & 0xc0) == 0x80) continue;  // within a character
    const Character next = character_at(name.substr(at));
    if (used + next.columns > room) break;
    used += next.columns;
    tail = at;
  }
  return std::string(name.substr(0, head)) + std::string(ellipsis) + std::string(name.substr(tail));
}

}  // namespace

size_t columns_of(const std::string& text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) {
    const Character next = character_at(std::string_view(text).substr(at));
    columns += next.columns;
    at += next.size;
  }
  return columns;
}

bool has_utf8_locale() {
  static const bool is_utf8 = [] {
    const locale_t users = newlocale(LC_CTYPE_MASK, "", locale_t());
    if (!users) return false;
    const bool found = std::strcmp(nl_langinfo_l(CODESET, users), "UTF-8") == 0;
    freelocale(users);
    return found;
  }();
  return is_utf8;
}

namespace {

// " [libz]" for " [libz.so.1]".
std::string without_version(std::string_view library) {
  std::string text(library.substr(0, library.find(".so")));
  if (text.size() != library.size()) text += ']';
  return text;
}

// The beginning of a library.
std::string cut_library(const std::string& text, size_t room, std::string_view ellipsis) {
  if (columns_of(text) <= room) return text;
  const std::string end = std::string(ellipsis) + ']';
  std::string cut;
  size_t used = columns_of(end);
  for (size_t at = 0; at < text.size();) {
    const Character next = character_at(std::string_view(text).substr(at));
    if ((used += next.columns) > room) break;
    cut += text.substr(at, next.size);
    at += next.size;
  }
  return cut + end;
}

std::string fitted_function(const std::string& name, size_t columns, const Ellipsis& ellipsis) {
  columns = std::max(columns, kMinColumns);
  auto fits = [&](const std::string& text) { return columns_of(text) <= columns; };
  if (fits(name)) return name;
  const std::optional<Brackets> of_all = Brackets::find(name);
  if (!of_all) return without_middle(name, columns, ellipsis.middle);

  const prof_names::Parts parts = prof_names::parts_of(name, *of_all);
  // What is around the name of a function that returns a pointer to a function has two sides, and stays.
  const bool has_plain_type = !parts.type.ends_with('*') && !parts.type.ends_with('&');
  std::string text = has_plain_type ? name.substr(parts.type.size()) : name;
  if (fits(text)) return text;

  if (const std::optional<Brackets> brackets = Brackets::find(text)) {
    const std::vector<Arguments> arguments = template_arguments(text, *brackets);
    size_t deepest = 0;
    for (const Arguments& a : arguments) deepest = std::max(deepest, a.depth);
    std::string shorter;
    for (size_t depth = deepest;
         depth > 0 && !fits(shorter = without_arguments(text, arguments, depth, ellipsis.arguments));)
      --depth;
    if (deepest > 0) text = shorter;
    if (fits(text)) return text;
  }
  text = without_parameters(text, ellipsis.parameters);
  return fits(text) ? text : without_middle(text, columns, ellipsis.middle);
}

}  // namespace

std::string fitted(const std::string& name, size_t columns, bool utf8) {
  columns = std::max(columns, kMinColumns);
  const Ellipsis& ellipsis = utf8 ? kUtf8 : kAscii;
  if (columns_of(name) <= columns) return name;
  const size_t at = name.ends_with(']') ? name.rfind(" [") : std::string::npos;
  if (at == std::string::npos || at == 0 || columns < 2 * kMinColumns) return fitted_function(name, columns, ellipsis);
  const std::string function = name.substr(0, at);
  std::string library = without_version(std::string_view(name).substr(at));
  const size_t left = columns - std::min(columns, columns_of(function));
  library = cut_library(library, std::max({left, columns / 3, kMinColumns}), ellipsis.middle);
  return fitted_function(function, columns - columns_of(library), ellipsis) + library;
}

std::string middle_cut(const std::string& text, size_t columns, bool utf8) {
  columns = std::max(columns, kMinColumns);
  return columns_of(text) <= columns ? text : without_middle(text, columns, (utf8 ? kUtf8 : kAscii).middle);
}

std::string wrapped(const std::string& line, std::optional<size_t> columns, LongWords long_words) {
  if (!columns || columns_of(line) <= *columns) return line + "\n";
  constexpr size_t kIndentation = 2;
  std::string text;
  size_t used = 0;  // of the line that is being written
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    const size_t room = *columns - std::min(*columns, text.empty() ? 0 : kIndentation);
    std::string word = line.substr(at, end - at);
    // A word that is too long for any line is cut, here rather than on the next line if much of it has room.
    if (long_words == LongWords::cut && columns_of(word) > room)
      word = middle_cut(word, used < *columns / 2 && !text.empty() ? *columns - used - 1 : room);
    if (text.empty()) {
      used = columns_of(word);
    } else if (used + 1 + columns_of(word) <= *columns) {
      text += ' ';
      used += 1 + columns_of(word);
    } else {
      text += '\n' + std::string(kIndentation, ' ');
      used = kIndentation + columns_of(word);
    }
    text += word;
    at = end + 1;
  }
  return text + "\n";
}

}  // namespace prof
