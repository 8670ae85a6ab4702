#include "text_columns.h"

#include <algorithm>

#include "names.h"

namespace prof {

namespace {

constexpr size_t kTabStop = 8;
// What is left for names, before columns are left out, and for lines of more than a name.
constexpr size_t kMinName = 16, kMinBelow = 36;
constexpr size_t kMinColumns = 8;

// As printf's %*s: at least `width` wide, flushed right.
std::string right(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

size_t width_of(const TextColumn& column) {
  size_t width = column.title.size();
  for (const std::string& cell : column.cells) width = std::max(width, cell.size());
  return width;
}

size_t sum_of(const std::vector<size_t>& widths) {
  size_t sum = 2 * (widths.size() - 1);
  for (const size_t width : widths) sum += width;
  return sum;
}

size_t start_of_name(size_t used) { return (used / kTabStop + 1) * kTabStop; }

// Takes columns away until there is so much room for names.
void leave_out(std::vector<TextColumn>& columns, std::vector<size_t>& widths, size_t least, size_t terminal) {
  while (start_of_name(sum_of(widths)) + least > terminal) {
    const auto by_rank = [](const TextColumn& a, const TextColumn& b) { return a.rank < b.rank; };
    const auto last = std::max_element(columns.begin(), columns.end(), by_rank);
    if (last->rank == 0) return;
    widths.erase(widths.begin() + (last - columns.begin()));
    columns.erase(last);
  }
}

std::string fitted_to(const TextWithName& text, size_t columns) {
  const std::string whole = text.before + text.name + text.after;
  if (columns_of(whole) <= columns) return whole;
  const size_t room = columns - std::min(columns, columns_of(text.before));
  if (text.name.empty() || room < 2 * kMinColumns) return middle_cut(whole, columns);
  const std::string after = middle_cut(text.after, room - kMinColumns);
  return text.before + fitted(text.name, room - columns_of(after)) + after;
}

}  // namespace

void print_columns(std::vector<TextColumn> columns, const std::vector<NamedLine>& lines, std::optional<size_t> terminal,
                   Output& out) {
  std::vector<size_t> widths;
  for (const TextColumn& column : columns) widths.push_back(width_of(column));
  if (terminal) {
    const bool has_below = std::any_of(lines.begin(), lines.end(), [](const NamedLine& l) { return !l.below.empty(); });
    leave_out(columns, widths, has_below ? std::min(kMinBelow, *terminal / 2) : kMinName, *terminal);
  }
  const size_t used = sum_of(widths), start = start_of_name(used);
  const size_t room = terminal ? std::max(*terminal, start + kMinColumns) - start : 0;

  for (size_t c = 0; c < columns.size(); ++c) out.text((c ? "  " : "") + right(columns[c].title, widths[c]));
  out.text("\tName\n");
  for (size_t line = 0; line < lines.size(); ++line) {
    for (size_t c = 0; c < columns.size(); ++c) out.text((c ? "  " : "") + right(columns[c].cells[line], widths[c]));
    const NamedLine& named = lines[line];
    out.text("\t" +
             (!terminal           ? named.name
              : named.is_function ? fitted(named.name, room)
                                  : middle_cut(named.name, room)) +
             "\n");
    for (const TextWithName& text : named.below) {
      out.text(std::string(used, ' ') + "\t");
      out.text((terminal ? fitted_to(text, room) : text.before + text.name + text.after) + "\n");
    }
  }
}

}  // namespace prof
