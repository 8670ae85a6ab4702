#include "executions.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/read/error.h"
#include "prof/read/file.h"
#include "report.h"

namespace prof::gprof {

namespace {

bool stands_before(const Function& left, const Function& right) {
  if (left.file.empty() || right.file.empty()) return left.address < right.address;
  return std::tie(left.file, left.line, left.address) < std::tie(right.file, right.line, right.address);
}

// What has no file is compared by its address with what has, which makes no order: what comes out depends on which are
// compared. gprof sorts by merging halves (qsort of glibc), and so does this.
void sort_as_gprof(std::vector<uint32_t>::iterator begin, std::vector<uint32_t>::iterator end, const CallGraph& graph) {
  if (end - begin < 2) return;
  const auto middle = begin + (end - begin) / 2;
  sort_as_gprof(begin, middle, graph);
  sort_as_gprof(middle, end, graph);
  std::vector<uint32_t> merged;
  auto first = begin, second = middle;
  while (first != middle && second != end) {
    const bool is_second = stands_before(graph.functions[*second], graph.functions[*first]);
    merged.push_back(is_second ? *second++ : *first++);
  }
  merged.insert(merged.end(), first, middle);
  std::copy(merged.begin(), merged.end(), begin);
}

}  // namespace

Executions::Executions(const CallGraph& graph, const std::vector<GmonBlock>& blocks, const Trace& trace)
    : graph_(graph), blocks_(graph.functions.size()) {
  std::map<uint64_t, uint64_t> counts;  // several files may have the same block
  for (const GmonBlock& block : blocks) counts[block.address] += block.count;
  for (const auto& [address, count] : counts) {
    const uint32_t f = function_at(graph.functions, graph.function_count, address);
    if (f == kNone) continue;
    blocks_[f].push_back({address, count});
    const Function& function = graph.functions[f];
    if (trace.has(Trace::blocks))
      trace.print("[blocks] " + prof_text::hexadecimal(address) + " ran " + std::to_string(count) +
                  " times: " + function.name + ", line " + std::to_string(function.line));
  }
}

void print_executions(const Executions& executions, const Choice& choice, const ExecutionOptions& options,
                      Output& out) {
  const CallGraph& graph = executions.graph();
  std::vector<uint32_t> shown;
  for (uint32_t f = 0; f < graph.function_count; ++f)
    if (choice.holds(f)) shown.push_back(f);
  sort_as_gprof(shown.begin(), shown.end(), graph);
  for (const uint32_t f : shown) {
    const Function& function = graph.functions[f];
    const auto print = [&](uint64_t address, uint64_t count) {
      if (count == 0 && !options.unused) return;
      out.text((function.file.empty() ? "<unknown>" : prof_text::printable(function.file)) + ":" +
               std::to_string(function.line) + ": (" + prof_text::printable(function.name) + ":0x" +
               prof_text::hexadecimal_digits(address) + ") " + std::to_string(count) + " executions\n");
    };
    print(function.address, executions.calls(f));
    for (const GmonBlock& block : executions.blocks(f)) print(block.address, block.count);
  }
}

// Sources with the executions of their lines beside them.

namespace {

constexpr size_t kMargin = 16;  // columns for the counts of a line

// A line of the source that instructions were made of.
struct Line {
  uint64_t address = 0;      // of the first
  bool is_function = false;  // a function begins here
  uint64_t calls = 0;        // of it
  std::vector<GmonBlock> blocks;

  // For the list of lines: that of the block that ran most.
  uint64_t count() const {
    uint64_t most = calls;
    for (const GmonBlock& block : blocks) most = std::max(most, block.count);
    return most;
  }
};

struct Source {
  std::string path;
  std::map<unsigned, Line> lines;
  uint64_t executions = 0;  // of all lines
};

// Functions by file, in the order of their numbers: those of which a line is known and that were chosen.
using FunctionsOfFiles = std::unordered_map<std::string_view, std::vector<uint32_t>>;

FunctionsOfFiles functions_of_files(const CallGraph& graph, const Choice& choice) {
  FunctionsOfFiles files;
  for (uint32_t f = 0; f < graph.function_count; ++f)
    if (graph.functions[f].line != 0 && choice.holds(f)) files[graph.functions[f].file].push_back(f);
  return files;
}

Source source_of(const Executions& executions, const FunctionsOfFiles& functions, const std::string& path) {
  const CallGraph& graph = executions.graph();
  Source source;
  source.path = path;
  const auto of_file = functions.find(path);
  if (of_file == functions.end()) return source;
  for (const uint32_t f : of_file->second) {
    const Function& function = graph.functions[f];
    const auto [at, is_new] = source.lines.try_emplace(function.line);
    Line& line = at->second;
    if (is_new) line = {function.address, function.is_function, 0, {}};
    line.calls += executions.calls(f);
    line.blocks.insert(line.blocks.end(), executions.blocks(f).begin(), executions.blocks(f).end());
  }
  for (const auto& [number, line] : source.lines) source.executions += line.count();
  return source;
}

// The text of a file; none if it cannot be read, or is no plain file: the path is what debug information says.
std::optional<std::string> text_at(const std::string& path) {
  const Descriptor file(open_to_read(path));
  struct stat status;
  if (file.get() < 0 || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  try {
    std::string text(size_t(status.st_size), '\0');
    text.resize(size_t(read_at(file.get(), text.data(), text.size(), 0, path)));
    return text;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The text of a file: at its path, or in one of the folders at that path or under its name.
std::optional<std::string> text_of(const std::string& path, const std::vector<std::string>& folders, const Trace& trace,
                                   std::optional<int64_t>& changed) {
  std::vector<std::string> places = {path};
  if (!path.starts_with('/'))
    for (const std::string& folder : folders) places.push_back(folder + "/" + path);
  if (path.find('/') != std::string::npos)
    for (const std::string& folder : folders) places.push_back(folder + "/" + base_name(path));
  for (const std::string& place : places) {
    if (trace.has(Trace::annotation)) trace.print("source " + path + ": looking at " + place);
    changed = time_of_change(place);
    if (std::optional<std::string> text = text_at(place)) return text;
  }
  return std::nullopt;
}

// What stands beside each line.
class Margin {
 public:
  explicit Margin(const ExecutionOptions& options) : options_(options) {}

  // The counts of a line: of the calls of a function, then of basic blocks. With -x those that are the same are said
  // once, and a line in the middle of a block has its count. Empty if there is none.
  std::string of(const Line& line) {
    counts_.clear();
    uint64_t sum = 0;
    if (line.is_function) {
      add(line.calls);
      sum = line.calls;
    } else if (options_.all_lines && (line.blocks.empty() || line.blocks[0].address > line.address)) {
      add(last_);
      sum = last_;
    }
    for (const GmonBlock& block : line.blocks) {
      if (!options_.all_lines || counts_.empty() || block.count != last_) add(block.count);
      sum += block.count;
    }
    if (counts_.empty()) return "";
    return (sum < options_.least ? "#####" : counts_) + " -> ";
  }

 private:
  void add(uint64_t count) {
    counts_ += (counts_.empty() ? "" : ",") + std::to_string(count);
    last_ = count;
  }

  const ExecutionOptions& options_;
  std::string counts_;
  uint64_t last_ = 0;  // of the block that the line before ended in
};

// Returns how many lines have counts.
size_t print_lines(const Source& source, const std::string& text, const ExecutionOptions& options, Output& out) {
  Margin margin(options);
  size_t counted = 0;
  unsigned number = 1;
  for (size_t start = 0; start < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', start), text.size() - 1) + 1;
    const auto line = source.lines.find(number);
    const std::string counts = line == source.lines.end() ? "" : margin.of(line->second);
    if (!counts.empty()) ++counted;
    out.text(std::string(kMargin - std::min(kMargin, counts.size()), ' ') + counts);
    out.text(std::string_view(text).substr(start, end - start));
    start = end;
  }
  return counted;
}

void print_top_lines(const Source& source, unsigned length, Output& out) {
  if (length == 0) return;
  out.text(formatted("\n\nTop %u Lines:\n\n     Line      Count\n\n", length));
  std::vector<std::pair<unsigned, uint64_t>> lines;
  for (const auto& [number, line] : source.lines) lines.emplace_back(number, line.count());
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (size_t i = 0; i < lines.size() && i < length && lines[i].second > 0; ++i)
    out.text(formatted("%9u %10llu\n", lines[i].first, static_cast<unsigned long long>(lines[i].second)));
}

void print_summary(const Source& source, size_t counted, Output& out) {
  const auto executable = double(source.lines.size());
  out.text("\nExecution Summary:\n\n");
  out.text(formatted("%9zu   Executable lines in this file\n", source.lines.size()));
  out.text(formatted("%9zu   Lines executed\n", counted));
  out.text(formatted("%9.2f   Percent of the file executed\n",
                     executable > 0 ? 100.0 * double(counted) / executable : 100.0));
  out.text(
      formatted("\n%9llu   Total number of line executions\n", static_cast<unsigned long long>(source.executions)));
  out.text(formatted("%9.2f   Average executions per line\n",
                     executable > 0 ? double(source.executions) / executable : 0.0));
}

void print_source(const Source& source, const std::string& text, const ExecutionOptions& options, Output& out) {
  const size_t counted = print_lines(source, text, options, out);
  print_top_lines(source, options.table_length, out);
  print_summary(source, counted, out);
}

}  // namespace

void print_sources(const Executions& executions, const Choice& choice, const std::vector<std::string>& files,
                   const ExecutionOptions& options, bool is_first, const Trace& trace, Output& out,
                   std::vector<std::string>& remarks) {
  const FunctionsOfFiles functions = functions_of_files(executions.graph(), choice);
  bool is_first_file = true;
  for (const std::string& path : files) {
    const Source source = source_of(executions, functions, path);
    if (source.lines.empty() || (source.executions == 0 && !options.unused)) continue;
    std::optional<int64_t> changed;
    const std::optional<std::string> text = text_of(path, options.folders, trace, changed);
    if (!text) {
      remarks.push_back(path + ": source not found; -I FOLDER says where it is");
      continue;
    }
    if (options.made && changed && *changed > *options.made)
      remarks.push_back(
          path +
          ": the source is newer than the program; numbers may stand at lines that they are not of; build the program "
          "again");
    if (options.separate_files) {
      write_file(base_name(path) + "-ann", [&](Output& file) { print_source(source, *text, options, file); });
      continue;
    }
    if (!is_first_file) out.text("\n");
    if (!is_first) out.text("\f\n");
    is_first_file = is_first = false;
    out.text("*** File " + prof_text::printable(path) + ":\n");
    print_source(source, *text, options, out);
  }
}

}  // namespace prof::gprof
