// What is looked for in names: a piece of text, as it was typed.

#ifndef PROF_TUI_QUERY_H
#define PROF_TUI_QUERY_H

#include <optional>
#include <string>

namespace prof::tui {

class Query {
 public:
  Query() = default;
  // Capitals in it have to be capitals in the name; other letters may be either.
  explicit Query(std::string text);

  const std::string& text() const { return text_; }
  bool is_empty() const { return text_.empty(); }

  // Where it first is in a text, in bytes. Nothing is nowhere.
  std::optional<size_t> find_in(const std::string& text) const;

 private:
  std::string text_;
  bool has_capitals_ = false;
};

}  // namespace prof::tui

#endif
