#include "browser.h"

#include <time.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/read/error.h"
#include "prof/views/text/names.h"
#include "screen.h"
#include "table_pane.h"
#include "text_pane.h"
#include "tree_pane.h"

namespace prof::tui {

namespace {

constexpr const char* kHelp =
    "1 2 3 4 5     the table of functions, the tree of calls, the callers and callees\n"
    "              of a function, its source, remarks on the profile\n"
    "Tab           the next of these\n"
    "Enter         callers and callees of the function on the line\n"
    "Backspace b   those of the function before\n"
    "f             the tree of the contexts through the function on the line; F: of all\n"
    "Up Down k j   a line up or down; PgUp, PgDn: a screen; Home g: the first line;\n"
    "              End G: the last\n"
    "/             look for a text in names, in what is folded, too\n"
    "n N           the next one, the one before\n"
    "s S           sort by the next column, by the one before\n"
    "?             this help\n"
    "q             quit\n"
    "\n"
    "In the table\n"
    "&             only functions with a text in their names; Esc: all again\n"
    "\n"
    "In the tree, and among callers and callees\n"
    "Right l +     unfold a line; Left h -: fold it; the blank does either\n"
    "*             unfold all that is below a line\n"
    "\n"
    "Of a program that still runs\n"
    "p             stop looking again every second; go on\n"
    "\n"
    "Capitals in a text that is looked for have to be capitals in the name; other\n"
    "letters may be either. Esc ends what a key has begun. Ctrl-L draws anew.\n"
    "What the figures mean, and the marks ~, -, ? and +/-, is in prof(1).\n";

enum class View { table, tree, calls, source, remarks, help };
constexpr const char* kTitles[] = {"1 table", "2 tree", "3 calls", "4 source", "5 remarks", "? help"};
constexpr int kInTurn = int(View::help);  // those that Tab leads to

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

// A text that is typed in the last line.
struct Prompt {
  char kind;  // / or &
  std::string text = {};
};

void take_last_character(std::string& text) {
  while (text.size() > 1 && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
  if (!text.empty()) text.pop_back();
}

class Browser {
 public:
  Browser(const Subject& subject, std::shared_ptr<const Look> look) : subject_(subject), look_(std::move(look)) {
    table_ = std::make_unique<TablePane>(*look_);
    tree_ = TreePane::of_all(*look_);
    help_ = std::make_unique<TextPane>([](size_t columns) { return Text{{}, broken(kHelp, columns)}; });
    make_remarks();
    is_live_ = subject_.interval && subject_.is_live();
    next_look_ = now() + subject_.interval.value_or(0);
  }

  std::optional<bool> run() {
    while (!has_ended_) {
      draw();
      std::optional<double> limit;
      if (is_live_ && !is_paused_) limit = std::max(next_look_ - now(), 0.0);
      const Key key = screen_.wait(limit);
      if (key.is(Key::Name::ended)) return {};
      if (key.is(Key::Name::nothing))
        look_again();
      else
        act_on(key);
    }
    return look_->analysis.damaged;
  }

 private:
  TreePane& tree() { return focused_ ? *focused_ : *tree_; }

  Pane& pane() {
    switch (view_) {
      case View::tree:
        return tree();
      case View::calls:
        return *calls_;
      case View::source:
        return *source_;
      case View::remarks:
        return *remarks_;
      case View::help:
        return *help_;
      case View::table:
        break;
    }
    return *table_;
  }

  // What is drawn.

  void draw() {
    Pane& shown = pane();
    const size_t columns = screen_.columns(), rows = screen_.rows();
    constexpr size_t kMinColumns = 20, kBars = 2;
    shown.set_columns(std::max(columns, kMinColumns));
    screen_.clear();
    screen_.put(0, bar(columns), Style::bar);
    const size_t room = rows - std::min(rows, kBars);
    // Of a heading that is too long for a low terminal the end is left, where titles of columns are.
    std::vector<std::string> heading = shown.heading();
    if (heading.size() > room / 2) heading.erase(heading.begin(), heading.end() - ptrdiff_t(room / 2));
    size_t at = 1;
    for (const std::string& line : heading) screen_.put(at++, line, Style::heading);
    height_ = room - heading.size();
    const size_t first = shown.first_of(height_), end = std::min(shown.rows(), first + height_);
    size_t selected = at;
    for (size_t row = first; row < end; ++row, ++at) {
      const std::string line = shown.row(row);
      screen_.put(at, line);
      if (row == shown.cursor()) {
        screen_.select(at);
        selected = at;
      }
      mark_found(at, line);
    }
    if (rows < kBars) return screen_.show(0, 0);
    const std::string last = last_line();
    screen_.put(rows - 1, last);
    if (prompt_)
      screen_.show(rows - 1, columns_of(last));
    else
      screen_.show(selected, 0);
  }

  void mark_found(size_t at, const std::string& line) {
    const Query& query = view_ == View::table && query_.is_empty() ? table_->filter() : query_;
    const size_t figures = std::min(pane().figures(), line.size());  // in ASCII
    const std::string text = line.substr(figures);
    if (const std::optional<size_t> found = query.find_in(text))
      screen_.mark(at, figures + columns_of(text.substr(0, *found)),
                   columns_of(text.substr(*found, query.text().size())));
  }

  // "[1 table]  2 tree ..."; where there is no room for that, of the others their keys only.
  std::string bar(size_t columns) const {
    std::string text, in_short;
    for (size_t i = 0; i < std::size(kTitles); ++i) {
      std::string title = kTitles[i];
      if (View(i) == View::remarks && remark_count_ > 0) title += " (" + std::to_string(remark_count_) + ")";
      const std::string chosen = "[" + title + "] ";
      text += View(i) == view_ ? chosen : " " + title + "  ";
      in_short += View(i) == view_ ? chosen : title.substr(0, 2);
    }
    text += " q quit";
    return text.size() <= columns ? text : in_short + "q";
  }

  std::string last_line() {
    if (prompt_) {
      const std::string before = prompt_->kind == '/' ? "/" : "only with: ";
      return before + prompt_->text;
    }
    if (!message_.empty()) return message_;
    const Pane& shown = pane();
    std::string text =
        std::to_string(std::min(shown.cursor() + 1, shown.rows())) + " of " + std::to_string(shown.rows());
    if (const std::string state = shown.state(); !state.empty()) text += ", " + state;
    if (subject_.interval)
      text += is_live_ ? is_paused_ ? "; stands still, p: go on" : "; live, p: stop" : "; it has ended";
    return text;
  }

  // What keys do.

  void act_on(const Key& key) {
    try {
      prompt_ ? type(key) : take(key);
    } catch (const Error& e) {  // of debug information, say
      message_ = prof_text::printable(e.what());
    }
  }

  void take(const Key& key) {
    message_.clear();
    if (key.is("q")) {
      has_ended_ = true;
    } else if (key.is(Key::Name::redraw)) {
      screen_.redraw();
    } else if (key.is("?")) {
      if (view_ != View::help) before_help_ = view_;
      view_ = View::help;
    } else if (key.is(Key::Name::escape) && view_ == View::help) {
      view_ = before_help_;
    } else if (key.is("/")) {
      prompt_ = Prompt{'/'};
    } else if (key.is("n") || key.is("N")) {
      find(key.is("n"));
    } else if (!choose_view(key) && !go(key) && !pane().take(key)) {
      do_more(key);
    }
  }

  bool choose_view(const Key& key) {
    if (key.is(Key::Name::tab)) {
      const View before = view_;  // what cannot be opened is passed over
      for (int step = 1; step <= kInTurn && view_ == before; ++step) open(View((int(before) + step) % kInTurn));
      return true;
    }
    constexpr const char* kKeys[] = {"1", "2", "3", "4", "5"};
    for (size_t i = 0; i < std::size(kKeys); ++i) {
      if (!key.is(kKeys[i])) continue;
      open(View(i));
      return true;
    }
    return false;
  }

  // Opens a view; those of one function for that which the cursor is on.
  void open(View view) {
    const std::optional<uint32_t> function = selected();
    const bool is_new = function && function != function_;
    if (view == View::calls && view_ != View::calls && (is_new || !calls_)) {
      if (!function) return say_none();
      history_.clear();
      show_calls(*function);
    }
    if (view == View::source) {
      if (!function && !source_) return say_none();
      const bool is_there = source_ && source_->function_at(0) == function && !is_live_;
      if (function && !is_there) source_ = source_of(look_, *function, subject_.debug_files);
    }
    view_ = view;
  }

  void say_none() { message_ = "no function is on this line"; }

  std::optional<uint32_t> selected() {
    Pane& shown = pane();
    return shown.rows() == 0 ? std::nullopt : shown.function_at(shown.cursor());
  }

  void show_calls(uint32_t function) {
    function_ = function;
    calls_ = TreePane::around(*look_, function);
    calls_->go_to(function);
  }

  // Movement.
  bool go(const Key& key) {
    Pane& shown = pane();
    const auto page = ptrdiff_t(std::max<size_t>(height_, 2) - 1);
    if (key.is(Key::Name::up) || key.is("k"))
      shown.move(-1);
    else if (key.is(Key::Name::down) || key.is("j"))
      shown.move(1);
    else if (key.is(Key::Name::page_up))
      shown.move(-page);
    else if (key.is(Key::Name::page_down))
      shown.move(page);
    else if (key.is(Key::Name::home) || key.is("g"))
      shown.set_cursor(0);
    else if (key.is(Key::Name::end) || key.is("G"))
      shown.set_cursor(SIZE_MAX);
    else
      return false;
    return true;
  }

  // Those that need more than one pane.
  void do_more(const Key& key) {
    if (key.is(Key::Name::enter)) {
      enter();
    } else if (key.is(Key::Name::backspace) || key.is("b")) {
      go_back();
    } else if (key.is("&") && view_ == View::table) {
      prompt_ = Prompt{'&', table_->filter().text()};
    } else if (key.is("f")) {
      focus();
    } else if ((key.is("F") || key.is(Key::Name::escape)) && view_ == View::tree && focused_) {
      const std::optional<uint32_t> function = selected();
      focused_.reset();
      if (function) tree_->go_to(*function);
    } else if (key.is("p") && is_live_) {
      is_paused_ = !is_paused_;
      next_look_ = now();
    }
  }

  void enter() {
    const std::optional<uint32_t> function = selected();
    if (!function) return say_none();
    if (view_ == View::calls && function == function_) return;
    if (view_ == View::calls)
      history_.push_back(function_);
    else
      history_.clear();
    show_calls(*function);
    view_ = View::calls;
  }

  void go_back() {
    if (view_ != View::calls) return;
    if (history_.empty()) {
      message_ = "no function was shown here before";
      return;
    }
    const uint32_t from = function_;
    show_calls(history_.back());
    history_.pop_back();
    calls_->go_to(from);
  }

  void focus() {
    const std::optional<uint32_t> function = selected();
    if (!function) return say_none();
    focus_ = *function;
    focused_ = TreePane::through(*look_, focus_);
    focused_->go_to(focus_);
    view_ = View::tree;
  }

  void find(bool forwards) {
    if (query_.is_empty()) {
      message_ = "nothing was looked for yet; / does that";
      return;
    }
    const size_t before = pane().cursor();
    if (!pane().find(query_, forwards))
      message_ = "\"" + query_.text() + "\" is not here";
    else if (forwards ? pane().cursor() < before : pane().cursor() > before)
      message_ = forwards ? "from the first line on again" : "from the last line on again";
  }

  void type(const Key& key) {
    std::string& text = prompt_->text;
    const char kind = prompt_->kind;
    if (key.is(Key::Name::escape)) {
      prompt_.reset();
      if (kind == '&') table_->set_filter(Query());
      return;
    }
    if (key.is(Key::Name::enter)) {
      const std::string whole = text;
      prompt_.reset();
      if (kind != '/') return;
      if (!whole.empty()) query_ = Query(whole);
      return find(true);
    }
    if (key.is(Key::Name::backspace))
      take_last_character(text);
    else if (key.is(Key::Name::character))
      text += key.text;
    if (kind == '&') table_->set_filter(Query(text));
  }

  // What is looked at.

  void make_remarks() {
    std::vector<std::string> all = look_->analysis.remarks;
    remark_count_ = all.size();
    if (all.empty()) all.emplace_back("There is nothing to remark on this profile.");
    const size_t cursor = remarks_ ? remarks_->cursor() : 0;
    remarks_ = std::make_unique<TextPane>([all = std::move(all)](size_t columns) {
      Text text;
      for (const std::string& remark : all)
        for (std::string& line : broken(prof_text::printable(remark), columns)) text.lines.push_back(std::move(line));
      return text;
    });
    remarks_->set_columns(screen_.columns());
    remarks_->set_cursor(cursor);
  }

  // Reads the profile again. Where each pane stands, it stays.
  void look_again() {
    const double begin = now();
    is_live_ = subject_.is_live();
    std::shared_ptr<const Look> after;
    try {
      after = std::make_shared<const Look>(subject_.read());
    } catch (const Error& e) {
      is_live_ = false;
      message_ = prof_text::printable(e.what());
      return;
    }
    take_over(after);
    // Of the time no more than a part is spent on that, however large the profile is.
    constexpr double kPause = 4;  // as long as it took
    next_look_ = now() + std::max(*subject_.interval, kPause * (now() - begin));
  }

  void take_over(const std::shared_ptr<const Look>& after) {
    const std::vector<uint32_t> same = same_functions(*look_, *after);
    auto table = std::make_unique<TablePane>(*after);
    table->resume(*table_, same);
    auto tree = TreePane::of_all(*after);
    tree->resume(*tree_, same);
    if (focused_) {
      focus_ = same[focus_];
      auto focused = focus_ == kNoFunction ? nullptr : TreePane::through(*after, focus_);
      if (focused) focused->resume(*focused_, same);
      focused_ = std::move(focused);
    }
    if (calls_) {
      function_ = same[function_];
      auto calls = function_ == kNoFunction ? nullptr : TreePane::around(*after, function_);
      if (calls) calls->resume(*calls_, same);
      calls_ = std::move(calls);
      for (View* const view : {&view_, &before_help_})
        if (!calls_ && *view == View::calls) *view = View::table;
      for (uint32_t& function : history_) function = same[function];
      std::erase(history_, kNoFunction);
    }
    // The source is not made anew, which takes longer than the rest: whoever wants that opens it again.
    if (source_) source_->renumber(same);
    table_ = std::move(table);
    tree_ = std::move(tree);
    look_ = after;
    make_remarks();
  }

  const Subject& subject_;
  std::shared_ptr<const Look> look_;
  Screen screen_;
  std::unique_ptr<TablePane> table_;
  std::unique_ptr<TreePane> tree_, focused_, calls_;  // null: it was not asked for
  std::unique_ptr<TextPane> source_, remarks_, help_;
  uint32_t focus_ = 0, function_ = 0;  // what focused_ and calls_ are of
  std::vector<uint32_t> history_;      // functions that calls_ was of before
  size_t remark_count_ = 0;

  View view_ = View::table, before_help_ = View::table;
  std::optional<Prompt> prompt_;
  Query query_;
  std::string message_;
  size_t height_ = 0;  // lines that there is room for
  bool has_ended_ = false;

  bool is_live_ = false, is_paused_ = false;
  double next_look_ = 0;
};

}  // namespace

std::optional<bool> browse(const Subject& subject) {
  auto look = std::make_shared<const Look>(subject.read());
  return Browser(subject, std::move(look)).run();
}

}  // namespace prof::tui
