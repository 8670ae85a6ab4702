#include "table_header.h"

#include "durations.h"
#include "libprof/printable.h"
#include "names.h"
#include "prof/model/program/count_of.h"
#include "prof/model/tree/coverage.h"
#include "prof/read/file.h"

namespace prof {

namespace {

// What the times of a gmon.out are.
std::string times_of_gmon(const Analysis& analysis) {
  if (!analysis.timed) return "without times";
  if (!analysis.by_samples) return "Total estimated";
  return "a sample every " + duration(double(analysis.sample_period) / 1e9) + ", Total estimated";
}

void append(std::string& line, const std::string& part) { line += (line.empty() ? "" : ", ") + part; }

// "collatz, prof.1234, PROFTYPE=time". Of a part that is shown apart the line above says whose it is.
std::string subject_line(const Analysis& analysis) {
  if (analysis.process != 0) return "";
  std::string line = prof_text::printable(base_name(analysis.program));
  const std::vector<std::string>& profiles = analysis.profiles;
  if (profiles.size() == 1) append(line, prof_text::printable(profiles[0]));
  if (profiles.size() > 1) append(line, std::to_string(profiles.size()) + " profiles");
  append(line, analysis.is_gmon      ? times_of_gmon(analysis)
               : analysis.sampled    ? "times from samples"
               : !analysis.has_hooks ? "no hooks, times from samples"
               : analysis.cpu        ? "PROFTYPE=elapsed and cpu"
                                     : "PROFTYPE=" + std::string(type_name(analysis)));
  const size_t runs = analysis.run_times.runs();
  if (runs > 1) append(line, std::to_string(runs) + " runs added up");
  return line;
}

// "elapsed 1.28s, on a processor 1.26s, 4 threads, preempted 108 times".
std::string time_line(const Analysis& analysis) {
  const RunTimes& run = analysis.run_times;
  std::string line;
  if (analysis.sampled) {
    append(line, "in user code " + duration(double(analysis.sampled->user_time) / 1e9));
  } else if (run.elapsed > 0) {
    append(line, "elapsed " + duration(run.elapsed));
    const bool has_one = run.processes <= 1 && run.threads <= 1;
    if (run.processor) append(line, (has_one ? "on a processor " : "on processors ") + duration(*run.processor));
  }
  if (run.processes > 1) append(line, std::to_string(run.processes) + " processes");
  if (run.threads > 1) append(line, count_of(run.threads, "thread"));
  if (!analysis.sampled && run.processor && run.preempted && analysis.has_waiting)
    append(line, "preempted " + count_of(*run.preempted, "time"));
  return line;
}

// "97 % of the code of chromium". Of more than two modules only how many they are.
std::string code_without_hooks(const Analysis& analysis) {
  const std::vector<ModuleCoverage> modules = low_coverages(analysis);
  if (modules.size() > 2) return "much of the code of " + count_of(modules.size(), "module");
  std::string text;
  for (const ModuleCoverage& m : modules) {
    const uint64_t hooked = m.code.hooked * 100 / m.could_have_hooks();  // rounded down
    text += (text.empty() ? "" : " and ") + (hooked == 0 ? "nearly all" : std::to_string(100 - hooked) + " %") +
            " of the code of " + prof_text::printable(m.module);
  }
  return text.empty() ? "" : text + ", which has no hooks";
}

std::string missing_line(const Analysis& analysis, size_t left_out, size_t rows, const std::string& things) {
  std::string line;
  if (left_out > 0) append(line, std::to_string(left_out) + " of " + std::to_string(rows) + " " + things);
  std::string patterns;
  for (const std::string& pattern : analysis.module_patterns)
    patterns += (patterns.empty() ? "" : " or ") + prof_text::printable(pattern);
  if (!patterns.empty()) append(line, "modules other than " + patterns);
  if (!analysis.function_filter.is_empty()) append(line, "functions that --function and --not-function leave out");
  if (analysis.contexts.is_any()) append(line, "contexts other than those asked for");
  if (analysis.lost > 0) append(line, count_of(analysis.lost, "call") + " that found no room");
  if (const std::string code = code_without_hooks(analysis); !code.empty()) append(line, code);
  if (analysis.limited) append(line, "what was done while recording was off");
  return line.empty() ? "" : "not shown: " + line;
}

}  // namespace

std::string table_header(const Analysis& analysis, size_t left_out, size_t rows, const std::string& things,
                         std::optional<size_t> columns) {
  std::string header;
  for (const std::string& line :
       {subject_line(analysis), time_line(analysis), missing_line(analysis, left_out, rows, things)})
    if (!line.empty()) header += wrapped(line, columns);
  return header;
}

}  // namespace prof
