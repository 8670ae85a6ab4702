#include "show.h"

#include "analysis.h"
#include "message.h"
#include "profile.h"
#include "views.h"

namespace prof {

int show(const Options& options, const std::string& program, const std::vector<std::string>& profiles,
         std::FILE* file) {
  // JSON says by itself what the other views need remarks for.
  const bool remarks = options.view != Options::View::kJson;
  const Analysis analysis = analyse({program, profiles, options.raw_names, options.raw_times, remarks});
  Output out(file, file == stderr ? "standard error" : "standard output");
  switch (options.view) {
    case Options::View::kFlat:
      print_flat(analysis, out);
      break;
    case Options::View::kTree:
      print_tree(analysis, options.tree, out);
      break;
    case Options::View::kJson:
      print_json(analysis, out);
      break;
    case Options::View::kNone:
      break;
  }
  out.finish();
  if (!options.gmon.empty()) write_gmon(analysis, options.gmon);
  if (!options.gprof_symbols.empty()) write_gprof_symbols(analysis, options.gprof_symbols);
  return analysis.damaged ? 1 : 0;
}

int show_arguments(const Options& options) {
  std::string program;
  std::vector<std::string> profiles;
  for (size_t i = 0; i < options.arguments.size(); i++) {
    const std::string& path = options.arguments[i];
    const FileKind kind = kind_of_file(path);
    if (kind == FileKind::kProfile) {
      profiles.push_back(path);
    } else if (kind == FileKind::kElf && i == 0) {
      program = path;
    } else if (kind == FileKind::kElf) {
      throw Error(path + ": is a program, not a profile; the program comes first: prof PROGRAM PROFILE ...");
    } else if (i == 0) {
      throw Error(path + ": is neither a program nor a profile");
    } else {
      throw Error(path + ": is not a profile; programs rewritten by profld leave them as prof.<pid>");
    }
  }
  if (profiles.empty()) {
    profiles.push_back(newest_profile("."));
    if (profiles[0].empty()) {
      throw Error("no profile prof.* in the current directory; run a program that profld rewrote, or name its profile");
    }
  }
  return show(options, program, profiles, stdout);
}

}  // namespace prof
