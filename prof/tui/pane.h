// A list of lines, of which a terminal shows some, with a cursor on one. What the lines are is the business of the
// classes below this one. None of them knows of a terminal more than how wide it is. And what they are asked: keys, and
// texts to look for.

#ifndef PROF_TUI_PANE_H
#define PROF_TUI_PANE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "prof/model/analysis/analysis.h"

namespace prof::tui {

// A key that was pressed, or what else a terminal has to say.
struct Key {
  enum class Name {
    nothing,  // none was pressed for as long as was waited
    character,
    up,
    down,
    left,
    right,
    page_up,
    page_down,
    home,
    end,
    enter,
    backspace,
    escape,
    tab,
    redraw,   // Ctrl-L
    resized,  // the terminal has another size
    ended     // a signal asks to end, or the terminal is gone
  };
  Name name = Name::nothing;
  std::string text = {};  // of a character, in UTF-8

  bool is(Name other) const { return name == other; }
  bool is(const char* character) const { return name == Name::character && text == character; }
};

// What is looked for in names: a piece of text, as it was typed.
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

// What one look at a profile shows. A running program is looked at again and again, and each time functions may have
// other numbers: they are known again by their names and places.
struct Look {
  explicit Look(Analysis of);

  Analysis analysis;
  std::vector<std::string> names;  // by function, printable
};

constexpr uint32_t kNoFunction = UINT32_MAX;

// By function of one look, which it is in another; kNoFunction: it is not there.
std::vector<uint32_t> same_functions(const Look& before, const Look& after);

class Pane {
 public:
  virtual ~Pane() = default;

  // To be called before lines are asked for: no line is wider then.
  virtual void set_columns(size_t columns) = 0;

  // Lines above the list, the nearest ones last.
  virtual std::vector<std::string> heading() const = 0;

  virtual size_t rows() const = 0;
  virtual std::string row(size_t at) = 0;

  // How many columns of a line are figures, which nothing is looked for in.
  virtual size_t figures() const { return 0; }

  // Which function a line is of, if it is of one.
  virtual std::optional<uint32_t> function_at(size_t at) const = 0;

  // What there is to say of the list in a few words: "by self". "" if nothing.
  virtual std::string state() const = 0;

  // Does what a key means here. Returns false if it means nothing.
  virtual bool take(const Key& key) = 0;

  // Moves the cursor to the next line, or the one before, that the query finds; after the last comes the first.
  // Returns false if there is none.
  virtual bool find(const Query& query, bool forwards) = 0;

  size_t cursor() const { return cursor_; }
  void set_cursor(size_t at) { cursor_ = std::min(at, rows() == 0 ? 0 : rows() - 1); }
  void move(ptrdiff_t lines) {
    const size_t back = lines < 0 ? size_t(-lines) : 0;
    set_cursor(lines < 0 ? cursor_ - std::min(cursor_, back) : cursor_ + size_t(lines));
  }

  // The first line that is shown where there is room for so many: the cursor is among them, and the list does not move
  // without need.
  size_t first_of(size_t height) {
    first_ = std::min(first_, cursor_);
    if (height > 0 && cursor_ >= first_ + height) first_ = cursor_ - height + 1;
    first_ = std::min(first_, rows() - std::min(rows(), height));
    return first_;
  }

 protected:
  // Of another pane, in whose place this one comes.
  void stand_as(const Pane& other) {
    first_ = other.first_;
    set_cursor(other.cursor_);
  }

 private:
  size_t cursor_ = 0, first_ = 0;
};

// A line with blanks in the place of tabs, whose stops are 8 columns apart.
std::string without_tabs(const std::string& line);

// The lines of a text; those that are too long are broken at blanks.
std::vector<std::string> broken(const std::string& text, size_t columns);

// As much of a printable line as has room in so many columns.
std::string cut_at(const std::string& line, size_t columns);

}  // namespace prof::tui

#endif
