// Shows on a terminal how far a rewrite is, if it takes longer than a second: one line with a bar, which is drawn anew
// when a stage begins and is removed at the end.

#ifndef LINKER_REWRITE_BASE_PROGRESS_H
#define LINKER_REWRITE_BASE_PROGRESS_H

#include <cstdio>
#include <functional>
#include <string>

namespace profld {

// Called when a stage begins: `done` is the part of the whole work that is done, 0 to 1.
using ShowStage = std::function<void(double done, const char* stage)>;

class Progress {
 public:
  // `out` is the terminal, or null if there is none, and must outlive this object; `program` is what is rewritten, and
  // `seconds` a clock.
  Progress(std::FILE* out, const std::string& program, std::function<double()> seconds);
  Progress(const Progress&) = delete;
  ~Progress() { clear(); }

  void show(double done, const char* stage);
  // Takes the line away.
  void clear();

 private:
  std::FILE* out_;
  std::string program_;
  std::function<double()> seconds_;
  double start_;
  bool is_drawn_ = false;
};

}  // namespace profld

#endif
