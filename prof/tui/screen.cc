#include "screen.h"

// Wide characters. No macros of ncurses's: `clear` and `move` are names here, too.
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <locale.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "libprof/printable.h"
#include "pane.h"
#include "prof/read/error.h"
#include "prof/views/text/names.h"

namespace prof::tui {

namespace {

constexpr short kHeadingPair = 1, kMarkPair = 2;
constexpr int kEscapeDelay = 100;  // milliseconds for the rest of a key's sequence, which may come over a network

volatile sig_atomic_t signal_seen = 0;
void note_signal(int signal) { signal_seen = signal; }

std::string terminal_name() {
  const char* const name = std::getenv("TERM");
  return name ? prof_text::printable(name) : "";
}

// Whether it can move its cursor.
bool can_move() {
  const char* const how = tigetstr("cup");
  return how && how != reinterpret_cast<const char*>(-1);
}

std::string in_utf8(uint32_t c) {
  if (c < 0x80) return {char(c)};
  if (c < 0x800) return {char(0xc0 | c >> 6), char(0x80 | (c & 0x3f))};
  if (c < 0x10000) return {char(0xe0 | c >> 12), char(0x80 | (c >> 6 & 0x3f)), char(0x80 | (c & 0x3f))};
  return {char(0xf0 | c >> 18), char(0x80 | (c >> 12 & 0x3f)), char(0x80 | (c >> 6 & 0x3f)), char(0x80 | (c & 0x3f))};
}

Key::Name name_of(int code) {
  switch (code) {
    case KEY_UP:
      return Key::Name::up;
    case KEY_DOWN:
      return Key::Name::down;
    case KEY_LEFT:
      return Key::Name::left;
    case KEY_RIGHT:
      return Key::Name::right;
    case KEY_PPAGE:
      return Key::Name::page_up;
    case KEY_NPAGE:
      return Key::Name::page_down;
    case KEY_HOME:
      return Key::Name::home;
    case KEY_END:
      return Key::Name::end;
    case KEY_ENTER:
      return Key::Name::enter;
    case KEY_BACKSPACE:
      return Key::Name::backspace;
    case KEY_RESIZE:
      return Key::Name::resized;
    default:
      return Key::Name::nothing;
  }
}

Key key_of(wint_t character) {
  constexpr wint_t kCtrlL = 12, kEscape = 27, kDelete = 127;
  switch (character) {
    case L'\r':
    case L'\n':
      return {Key::Name::enter};
    case L'\b':
    case kDelete:
      return {Key::Name::backspace};
    case L'\t':
      return {Key::Name::tab};
    case kCtrlL:
      return {Key::Name::redraw};
    case kEscape:
      return {Key::Name::escape};
    default:
      break;
  }
  const std::string text = in_utf8(character);
  if (!prof_text::is_printable(text)) return {};
  return {Key::Name::character, text};
}

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

}  // namespace

int signal_to_end() { return signal_seen; }

bool Screen::has_terminal() { return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO); }

// Before ncurses sets handlers of its own, which end the program by themselves.
Screen::Signals::Signals() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  for (size_t i = 0; i < kToEnd.size(); ++i) {
    sigaction(kToEnd[i], nullptr, &actions_[i]);
    if (actions_[i].sa_handler != SIG_IGN) sigaction(kToEnd[i], &action, nullptr);
  }
  sigprocmask(SIG_SETMASK, nullptr, &before_);
}

void Screen::Signals::keep() {
  sigset_t kept;
  sigemptyset(&kept);
  for (const int signal : kToEnd) sigaddset(&kept, signal);
  sigaddset(&kept, SIGWINCH);
  sigprocmask(SIG_BLOCK, &kept, nullptr);
}

// A signal that came meanwhile is noted before its action is what it was.
Screen::Signals::~Signals() {
  sigprocmask(SIG_SETMASK, &before_, nullptr);
  for (size_t i = 0; i < kToEnd.size(); ++i) sigaction(kToEnd[i], &actions_[i], nullptr);
}

Screen::Screen() : has_utf8_(has_utf8_locale()) {
  constexpr const char* kWhatToDo = "; set TERM to what it is, such as xterm, or use prof";
  setlocale(LC_CTYPE, "");
  set_escdelay(kEscapeDelay);
  // The size is what the terminal says, not what was noted of it some time ago, which ncurses would believe.
  unsetenv("COLUMNS");
  unsetenv("LINES");
  SCREEN* const screen = newterm(nullptr, stdout, stdin);
  if (!screen) throw Error("no terminal \"" + terminal_name() + "\" is known here" + kWhatToDo);
  if (!can_move()) {
    endwin();
    delscreen(screen);
    throw Error("a terminal \"" + terminal_name() + "\" cannot move its cursor" + kWhatToDo);
  }
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  intrflush(stdscr, FALSE);
  nodelay(stdscr, TRUE);
  if (has_colors() && start_color() == OK) {
    const short background = use_default_colors() == OK ? -1 : COLOR_BLACK;
    has_colours_ =
        init_pair(kHeadingPair, COLOR_CYAN, background) == OK && init_pair(kMarkPair, COLOR_YELLOW, background) == OK;
  }
  signals_.keep();
}

// Of a terminal without a second screen all stays but the last line, where the shell goes on.
Screen::~Screen() {
  wmove(stdscr, int(rows()) - 1, 0);
  wclrtoeol(stdscr);
  wrefresh(stdscr);
  endwin();
}

size_t Screen::rows() const { return size_t(std::max(getmaxy(stdscr), 1)); }
size_t Screen::columns() const { return size_t(std::max(getmaxx(stdscr), 1)); }

void Screen::clear() { werase(stdscr); }

// Without what neither fits nor can be shown.
std::string Screen::shown(const std::string& text, size_t columns) const {
  const std::string cut = cut_at(text, columns);
  if (has_utf8_) return cut;
  std::string ascii;
  for (size_t at = 0; at < cut.size();) {
    const size_t size = std::max<size_t>(prof_text::printable_length(cut.data() + at, cut.size() - at), 1);
    ascii += size == 1 ? cut.substr(at, 1) : std::string(columns_of(cut.substr(at, size)), '?');
    at += size;
  }
  return ascii;
}

void Screen::put(size_t row, const std::string& text, Style style) {
  if (row >= rows()) return;
  attr_t attributes = A_NORMAL;
  if (style == Style::bar) attributes = A_REVERSE;
  if (style == Style::heading) attributes = A_BOLD;
  const bool is_coloured = style == Style::heading && has_colours_;
  wattr_set(stdscr, attributes, is_coloured ? kHeadingPair : short(0), nullptr);
  mvwaddstr(stdscr, int(row), 0, shown(text, columns()).c_str());
  wattr_set(stdscr, A_NORMAL, 0, nullptr);
  if (style == Style::bar) mvwchgat(stdscr, int(row), 0, -1, A_REVERSE, 0, nullptr);
}

void Screen::select(size_t row) { mvwchgat(stdscr, int(row), 0, -1, A_REVERSE, 0, nullptr); }

void Screen::mark(size_t row, size_t column, size_t columns) {
  if (row >= rows() || column >= this->columns()) return;
  const auto on = attr_t(mvwinch(stdscr, int(row), int(column)) & A_REVERSE);
  mvwchgat(stdscr, int(row), int(column), int(columns), on | A_BOLD | A_UNDERLINE, has_colours_ ? kMarkPair : short(0),
           nullptr);
}

void Screen::show(size_t row, size_t column) {
  wmove(stdscr, int(std::min(row, rows() - 1)), int(std::min(column, columns() - 1)));
  wrefresh(stdscr);
}

void Screen::redraw() { clearok(curscr, TRUE); }

Key Screen::read() {
  wint_t character = 0;
  errno = 0;
  const int result = wget_wch(stdscr, &character);
  if (result == ERR && errno == EIO) signal_seen = SIGHUP;  // it is not, or not any more, this program's terminal
  if (result == KEY_CODE_YES) return {name_of(int(character))};
  return result == OK ? key_of(character) : Key{};
}

Key Screen::wait(std::optional<double> seconds) {
  constexpr double kMaxSeconds = 86400;  // who asked for more has nothing new by then
  const double end = now() + std::min(seconds.value_or(0), kMaxSeconds);
  while (true) {
    if (signal_seen) return {Key::Name::ended};
    // What ncurses has read already, or knows of the size.
    if (const Key key = read(); !key.is(Key::Name::nothing)) return key;
    const double left = std::max(end - now(), 0.0);
    const timespec time = {time_t(left), long((left - std::floor(left)) * 1e9)};
    pollfd terminal = {STDIN_FILENO, POLLIN, 0};
    const int ready = ppoll(&terminal, 1, seconds ? &time : nullptr, signals_.while_waiting());
    // The terminal was closed, and the signal for that may be late.
    if (ready > 0 && (terminal.revents & (POLLHUP | POLLERR | POLLNVAL)) && !signal_seen) signal_seen = SIGHUP;
    if (ready == 0) return {};
  }
}

}  // namespace prof::tui
