#include "text_pane.h"

#include "look.h"

namespace prof::tui {

void TextPane::renumber(const std::vector<uint32_t>& same) {
  if (!function_) return;
  const uint32_t now = same[*function_];
  function_ = now == kNoFunction ? std::nullopt : std::optional(now);
}

void TextPane::set_columns(size_t columns) {
  if (columns == columns_) return;
  columns_ = columns;
  text_ = make_(columns);
  set_cursor(cursor());
}

bool TextPane::find(const Query& query, bool forwards) {
  const size_t count = rows();
  for (size_t step = 1; step <= count; ++step) {
    const size_t at = (cursor() + (forwards ? step : count - step)) % count;
    if (!query.find_in(text_.lines[at])) continue;
    set_cursor(at);
    return true;
  }
  return false;
}

}  // namespace prof::tui
