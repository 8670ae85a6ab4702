#include "listing.h"

#include <algorithm>
#include <utility>

#include "libprof/printable.h"
#include "linker-rewrite/text/hexadecimal.h"
#include "names.h"

namespace prof {

namespace {

constexpr size_t kTabStop = 8;
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
  const size_t start = (used / kTabStop + 1) * kTabStop;
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

}  // namespace prof
