// The exports that the options of a command line ask for.

#ifndef PROF_COMMANDS_SHOWING_EXPORTS_H
#define PROF_COMMANDS_SHOWING_EXPORTS_H

#include <memory>
#include <string>
#include <vector>

#include "prof/commands/options/options.h"
#include "prof/export/exports.h"

namespace prof {

class Exports {
 public:
  // `out`: for what is printed. Both must outlive this.
  Exports(const Options& options, Output& out) : options_(options), out_(out) {}

  // Throw Error if a file cannot be written. Files that are not finished are removed.
  void add(const Analysis& part);
  void finish();

 private:
  // Files are made when there is something to write: a profile that cannot be read leaves an older file alone.
  void open();
  Output& new_file(const std::string& path);

  const Options& options_;
  Output& out_;
  bool is_open_ = false;
  std::vector<std::unique_ptr<OutputFile>> files_;
  std::vector<std::unique_ptr<Export>> exports_;
};

}  // namespace prof

#endif
