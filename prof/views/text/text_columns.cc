#include "text_columns.h"

#include <algorithm>
#include <utility>

#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"
#include "names.h"

namespace prof {

namespace {

constexpr size_t kTabStop = 8;
// What is left for names, before columns are left out, and for lines of more than a name.
constexpr size_t kMinName = 16, kMinBelow = 36;
constexpr size_t kMinColumns = 8;

// As printf's %*s: at least `width` wide, flushed right.
std::string right(const std::string& text, size_t width) {
  const size_t columns = columns_of(text);
  return columns < width ? std::string(width - columns, ' ') + text : text;
}

size_t width_of(const TextColumn& column) {
  size_t width = column.title.size();
  for (const std::string& cell : column.cells) width = std::max(width, columns_of(cell));
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

ColumnLines::ColumnLines(std::vector<TextColumn> columns, bool has_below, std::optional<size_t> terminal)
    : columns_(std::move(columns)) {
  for (const TextColumn& column : columns_) widths_.push_back(width_of(column));
  if (!terminal) return;
  leave_out(columns_, widths_, has_below ? std::min(kMinBelow, *terminal / 2) : kMinName, *terminal);
  const size_t start = start_of_name(sum_of(widths_));
  room_ = std::max(*terminal, start + kMinColumns) - start;
}

std::string ColumnLines::cells(const std::string& (*of)(const TextColumn&, size_t), size_t line) const {
  std::string text;
  for (size_t c = 0; c < columns_.size(); ++c) text += (c ? "  " : "") + right(of(columns_[c], line), widths_[c]);
  return text + "\t";
}

std::string ColumnLines::titles() const {
  return cells([](const TextColumn& column, size_t) -> const std::string& { return column.title; }, 0) + "Name";
}

size_t ColumnLines::start_of_names() const { return start_of_name(sum_of(widths_)); }

std::string ColumnLines::at(size_t line, const NamedLine& named) const {
  const std::string text =
      cells([](const TextColumn& column, size_t l) -> const std::string& { return column.cells[l]; }, line);
  if (!room_) return text + named.name;
  return text + (named.is_function ? fitted(named.name, *room_) : middle_cut(named.name, *room_));
}

std::string ColumnLines::below(const TextWithName& text) const {
  return std::string(sum_of(widths_), ' ') + "\t" +
         (room_ ? fitted_to(text, *room_) : text.before + text.name + text.after);
}

void print_columns(std::vector<TextColumn> columns, const std::vector<NamedLine>& lines, std::optional<size_t> terminal,
                   Output& out) {
  const bool has_below = std::any_of(lines.begin(), lines.end(), [](const NamedLine& l) { return !l.below.empty(); });
  const ColumnLines texts(std::move(columns), has_below, terminal);
  out.text(texts.titles() + "\n");
  for (size_t line = 0; line < lines.size(); ++line) {
    out.text(texts.at(line, lines[line]) + "\n");
    for (const TextWithName& text : lines[line].below) out.text(texts.below(text) + "\n");
  }
}

namespace {

constexpr size_t kMinText = 16;  // columns

// As much of a text as fits, with a mark where it was cut off.
std::string cut_off(const std::string& text, size_t columns) {
  if (columns_of(text) <= columns) return text;
  const std::string mark = has_utf8_locale() ? "\u2026" : "...";
  std::string kept = text;
  while (!kept.empty() && columns_of(kept) + columns_of(mark) > columns) {
    while (kept.size() > 1 && (static_cast<unsigned char>(kept.back()) & 0xc0) == 0x80) kept.pop_back();
    kept.pop_back();
  }
  return kept + mark;
}

}  // namespace

Listing::Listing(const std::vector<std::string>& titles, std::vector<size_t> widths, std::optional<size_t> terminal,
                 Output& out)
    : widths_(std::move(widths)), out_(out) {
  size_t used = 0;
  for (size_t c = 0; c < titles.size(); ++c) {
    widths_[c] = std::max(widths_[c], titles[c].size());
    used += widths_[c] + (c ? 2 : 0);
  }
  const size_t start = start_of_name(used);
  if (terminal) room_ = std::max(*terminal, start + kMinText) - start;
  print(titles, "");
}

void Listing::print(const std::vector<std::string>& cells, const std::string& text) {
  for (size_t c = 0; c < cells.size(); ++c) {
    if (c) out_.text("  ");
    for (size_t blank = cells[c].size(); blank < widths_[c]; ++blank) out_.byte(' ');
    out_.text(cells[c]);
  }
  if (!text.empty()) out_.byte('\t');
  out_.text(room_ ? cut_off(text, *room_) : text);
  out_.byte('\n');
}

void print_listing(const std::vector<std::string>& titles, const std::vector<ListingLine>& lines,
                   std::optional<size_t> terminal, Output& out) {
  std::vector<size_t> widths(titles.size());
  for (const ListingLine& line : lines)
    for (size_t c = 0; c < titles.size(); ++c) widths[c] = std::max(widths[c], line.cells[c].size());
  Listing listing(titles, std::move(widths), terminal, out);
  for (const ListingLine& line : lines) listing.print(line.cells, line.text);
}

std::string distance(uint64_t address, uint64_t entry) {
  return address >= entry ? "+" + prof_text::hexadecimal(address - entry)
                          : "-" + prof_text::hexadecimal(entry - address);
}

std::string printable_source(const std::string& line) {
  std::string text;
  for (size_t i = 0; i < line.size();) {
    const size_t length = std::max<size_t>(prof_text::printable_length(line.data() + i, line.size() - i), 1);
    const std::string part = line.substr(i, length);
    text += part == "\\" ? part : prof_text::printable(part);
    i += length;
  }
  return text;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace prof
