#include "exports.h"

namespace prof {

Output& Exports::new_file(const std::string& path) {
  files_.push_back(std::make_unique<OutputFile>(path));
  return files_.back()->out();
}

void Exports::open() {
  if (is_open_) return;
  is_open_ = true;
  if (options_.view == Options::View::folded) exports_.push_back(folded_export(out_));
  if (options_.view == Options::View::csv) exports_.push_back(csv_export(out_));
  if (!options_.callgrind.empty()) exports_.push_back(callgrind_export(options_.callgrind));
  if (!options_.pprof.empty()) exports_.push_back(pprof_export(new_file(options_.pprof)));
  if (!options_.speedscope.empty()) exports_.push_back(speedscope_export(new_file(options_.speedscope)));
}

void Exports::add(const Analysis& part) {
  open();
  for (const auto& one : exports_) one->add(part);
}

void Exports::finish() {
  open();
  for (const auto& one : exports_) one->finish();
  for (const auto& file : files_) file->finish();
}

}  // namespace prof
