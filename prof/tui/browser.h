// prof tui: what keys do to the panes, and where these stand on the screen.

#ifndef PROF_TUI_BROWSER_H
#define PROF_TUI_BROWSER_H

#include <functional>
#include <optional>

#include "prof/model/analysis/analysis.h"

namespace prof::tui {

struct Subject {
  std::function<Analysis()> read;  // throws Error
  DebugSearch debug_files;
  // Of a program that may still run: whether it does, and after how many seconds to look again.
  std::function<bool()> is_live;
  std::optional<double> interval;
};

// Shows a profile on the terminal until the user has seen enough. Returns whether it was damaged; none if the terminal
// was closed or a signal asked to end, which signal_to_end() (screen.h) tells. Throws Error if it cannot be read, or if
// the terminal cannot be used; then nothing was changed on it.
std::optional<bool> browse(const Subject& subject);

}  // namespace prof::tui

#endif
