// Shows on a terminal how far a rewrite is, if it takes longer than a second: one line with a bar, which is drawn anew
// when a stage begins or goes on, and is removed at the end.

#ifndef LINKER_REWRITE_BASE_PROGRESS_H
#define LINKER_REWRITE_BASE_PROGRESS_H

#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace profld {

// Called when a stage begins, and now and then while a long one goes on: `done` is the part of the whole work that is
// done, 0 to 1.
using ShowStage = std::function<void(double done, const char* stage)>;

class Progress {
 public:
  // `out` is the terminal, or null if there is none, and must outlive this object; `program` is what is rewritten, and
  // `seconds` a clock.
  Progress(std::FILE* out, const std::string& program, std::function<double()> seconds);
  Progress(const Progress&) = delete;
  ~Progress() { clear(); }

  // `stage` must last as long as this object.
  void show(double done, const char* stage);
  // A thread of its own draws the first line while a stage goes on that began in the first second. The clock must bear
  // that.
  void watch();
  // Takes the line away.
  void clear();

 private:
  void draw();

  std::FILE* out_;
  std::string program_;
  std::function<double()> seconds_;
  double start_;
  std::mutex mutex_;  // of what follows
  double done_ = 0;
  const char* stage_ = nullptr;  // null: there is none
  bool is_drawn_ = false;
  std::condition_variable_any over_;
  std::jthread watcher_;  // ends before all else does
};

}  // namespace profld

#endif
