// The terminal, by way of ncurses: no other file knows that library.
//
// However the program ends, the terminal is as it was before: by the destructor, also when an error is thrown; by a
// signal, which is kept until the program has ended its work here, and is raised again then, so that the shell sees it.
// The terminal's closing is such a signal, or the end of what it has to read.

#ifndef PROF_TUI_SCREEN_H
#define PROF_TUI_SCREEN_H

#include <signal.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "pane.h"

namespace prof::tui {

enum class Style { plain, bar, heading };

class Screen {
 public:
  // Whether standard input and output are a terminal.
  static bool has_terminal();

  // Takes the terminal. Throws Error if it cannot do what is needed. There may be one at a time.
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  size_t rows() const;
  size_t columns() const;

  // What is put here is seen from show() on. A text is printable (libprof/printable.h); what has no room is cut off,
  // and where the terminal has no UTF-8 there are question marks.
  void clear();
  void put(size_t row, const std::string& text, Style style = Style::plain);
  // A line that is selected, from its begin to its end; and columns of a line in which something was found.
  void select(size_t row);
  void mark(size_t row, size_t column, size_t columns);
  // The terminal's cursor, which terminals without other means to mark a line have, too.
  void show(size_t row, size_t column);
  // All of it anew, after something else has written to the terminal.
  void redraw();

  // Waits for a key, for so many seconds at most, if there is a limit.
  Key wait(std::optional<double> seconds);

 private:
  std::string shown(const std::string& text, size_t columns) const;
  Key read();

  // Keeps the signals that ask to end, and those of a new size, but while a key is waited for: none is missed, and
  // nothing else is interrupted.
  class Signals {
   public:
    Signals();
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;
    void keep();
    const sigset_t* while_waiting() const { return &before_; }

   private:
    static constexpr std::array<int, 3> kToEnd = {SIGINT, SIGTERM, SIGHUP};
    sigset_t before_{};
    std::array<struct sigaction, kToEnd.size()> actions_{};
  };

  Signals signals_;
  const bool has_utf8_;
  bool has_colours_ = false;
};

// The signal that asked to end; 0 if none did.
int signal_to_end();

}  // namespace prof::tui

#endif
