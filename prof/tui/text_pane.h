// Lines of text that are there to be read: source with counts, remarks, help; and how the first of these is made.

#ifndef PROF_TUI_TEXT_PANE_H
#define PROF_TUI_TEXT_PANE_H

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pane.h"

namespace prof::tui {

struct Text {
  std::vector<std::string> heading, lines;
};

class TextPane : public Pane {
 public:
  // `make`: the text for so many columns. `function`: that it is of, if it is of one.
  using Make = std::function<Text(size_t columns)>;
  explicit TextPane(Make make, std::optional<uint32_t> function = {}) : make_(std::move(make)), function_(function) {}

  // Functions have other numbers now (same_functions in pane.h).
  void renumber(const std::vector<uint32_t>& same);

  void set_columns(size_t columns) override;
  std::vector<std::string> heading() const override { return text_.heading; }
  size_t rows() const override { return text_.lines.size(); }
  std::string row(size_t at) override { return text_.lines[at]; }
  std::optional<uint32_t> function_at(size_t) const override { return function_; }
  std::string state() const override { return ""; }
  bool take(const Key&) override { return false; }
  bool find(const Query& query, bool forwards) override;

 private:
  Make make_;
  std::optional<uint32_t> function_;
  size_t columns_ = 0;  // that the text was made for; 0: it was not made yet
  Text text_;
};

// The source that a function is in, as prof --annotate prints it.

// The file, with the cursor on the line where the function begins; or why it cannot be shown. What it shows stays as it
// is when the look is gone.
std::unique_ptr<TextPane> source_of(const std::shared_ptr<const Look>& look, uint32_t function,
                                    const DebugSearch& search);

}  // namespace prof::tui

#endif
