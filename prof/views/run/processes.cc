#include <optional>

#include "libprof/printable.h"
#include "prof/model/tree/run_times.h"
#include "prof/read/profile.h"
#include "prof/views/text/numbers.h"
#include "prof/views/text/text_columns.h"
#include "views.h"

namespace prof {

namespace {

struct Row {
  uint32_t process = 0, thread = 0;
  PartTimes times;
  std::string name;
};

std::vector<Row> rows_of(const std::vector<std::string>& profiles, bool are_threads) {
  std::vector<Row> rows;
  for (const std::string& path : profiles) {
    const Profile profile = Profile::read(path);
    if (!are_threads) {
      rows.push_back({profile.header().pid, 0, part_times(profile), profile.command_line()});
      continue;
    }
    for (const Thread& thread : profile.threads()) {
      PartTimes times = part_times(profile, thread);
      if (times.calls) rows.push_back({profile.header().pid, thread.tid, times, thread.name});
    }
  }
  return rows;
}

std::string text_of(const std::optional<double>& seconds) { return seconds ? duration(*seconds) : "-"; }

}  // namespace

void print_processes(const std::vector<std::string>& profiles, Apart apart, std::optional<size_t> terminal,
                     Output& out) {
  const bool are_threads = apart == Apart::threads;
  const std::vector<Row> rows = rows_of(profiles, are_threads);
  if (rows.size() < 2) return;
  TextColumn elapsed{"Elapsed", 3}, processor{"CPU", 2}, waiting{"Waiting", 4}, calls{"Calls", 5}, process{"Process"},
      thread{"Thread", 1};
  if (are_threads) process.rank = 6;  // the thread's number says more
  std::vector<NamedLine> lines;
  for (const Row& row : rows) {
    elapsed.cells.push_back(text_of(row.times.elapsed));
    processor.cells.push_back(text_of(row.times.processor));
    waiting.cells.push_back(text_of(row.times.waiting));
    calls.cells.push_back(std::to_string(row.times.calls));
    process.cells.push_back(std::to_string(row.process));
    thread.cells.push_back(std::to_string(row.thread));
    lines.push_back({prof_text::printable(row.name), {}, false});
  }
  std::vector<TextColumn> columns = {std::move(elapsed), std::move(processor), std::move(waiting), std::move(calls),
                                     std::move(process)};
  if (are_threads) columns.push_back(std::move(thread));
  print_columns(std::move(columns), lines, terminal, out);
  out.text("\n");
}

}  // namespace prof
