// A key that was pressed, or what else a terminal has to say.

#ifndef PROF_TUI_KEY_H
#define PROF_TUI_KEY_H

#include <string>

namespace prof::tui {

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

}  // namespace prof::tui

#endif
