#include "code_views.h"

#include <algorithm>
#include <map>

#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/model/blocks/call_sites.h"
#include "prof/model/program/object_debug_info.h"
#include "prof/read/file.h"
#include "prof/views/text/numbers.h"
#include "prof/views/text/text_columns.h"

namespace prof {

namespace {

constexpr const char* kNeverRan = "#####";  // as gcov has it
constexpr const char* kNotCounted = "-";

std::string shown_executions(const AnnotatedLine& line) {
  if (!line.has_code) return "";
  if (!line.executions) return kNotCounted;
  if (*line.executions == 0) return kNeverRan;
  return (line.is_exact ? "" : "~") + std::to_string(*line.executions);
}

std::string shown_executions(const DisassembledInstruction& instruction) {
  return instruction.executions ? std::to_string(*instruction.executions) : kNotCounted;
}

// A time from samples; "" of none.
std::string shown_self(const Analysis& analysis, const SampledTimes& times, const SampledPart& self) {
  if (self.samples() == 0) return "";
  const double cycles = double(times.period) * 1e-9 * analysis.rate();  // of a sample
  const SampleRange range = self.range(times);
  return shown_time(analysis, self.likely() * cycles, {range.low * cycles, range.high * cycles}, false);
}

}  // namespace

AnnotationTexts::AnnotationTexts(const Analysis& analysis, const Annotation& annotation)
    : analysis_(analysis), annotation_(annotation), times_(sampled_times_of(analysis)) {
  if (annotation.has_executions) titles_.emplace_back("Executions");
  titles_.emplace_back("Calls");
  if (analysis.timed() || annotation.has_samples) titles_.emplace_back("Self");
}

std::vector<std::string> AnnotationTexts::cells(const AnnotatedLine& line) const {
  FunctionSum sum;
  for (const uint32_t f : line.functions) add_self(sum, analysis_.sums[f]);
  std::vector<std::string> cells;
  if (annotation_.has_executions) cells.push_back(shown_executions(line));
  const bool has_functions = !line.functions.empty();
  cells.push_back(has_functions ? shown_calls(sum) : "");
  if (annotation_.has_samples)
    cells.push_back(self(line.self));
  else if (analysis_.timed())
    cells.push_back(has_functions ? shown_time(analysis_, double(sum.self),
                                               with_chance(sum.self_range, sum.self_variance), sum.has_doubtful_self)
                                  : "");
  return cells;
}

std::vector<std::string> AnnotationTexts::cells(const DisassembledInstruction& instruction) const {
  std::vector<std::string> cells;
  if (annotation_.has_executions) cells.push_back(shown_executions(instruction));
  cells.emplace_back();  // calls are of functions
  if (titles_.back() == "Self") cells.push_back(self(instruction.self));
  return cells;
}

std::string AnnotationTexts::lines_that_ran(const AnnotatedFile& file) const {
  if (!annotation_.has_executions) return "";
  size_t with_code = 0, ran = 0;
  for (const auto& [number, line] : file.lines) {
    with_code += line.executions.has_value();
    ran += line.executions.value_or(0) != 0;
  }
  return std::to_string(ran) + " of " + prof_text::count_of(with_code, "line") + " with code ran";
}

std::string AnnotationTexts::self(const SampledPart& part) const { return shown_self(analysis_, times_, part); }

namespace {

void print_file(const AnnotationTexts& texts, const AnnotatedFile& file, const std::vector<std::string>* text,
                std::optional<size_t> terminal, Output& out) {
  std::vector<std::string> titles = texts.titles();
  titles.emplace_back("Line");
  std::vector<ListingLine> lines;
  const auto add = [&](uint32_t number, const AnnotatedLine& line, std::string source) {
    lines.push_back({texts.cells(line), std::move(source)});
    lines.back().cells.push_back(std::to_string(number));
  };
  static const AnnotatedLine nothing;
  for (uint32_t number = 1; text && number <= text->size(); ++number) {
    const auto at = file.lines.find(number);
    add(number, at == file.lines.end() ? nothing : at->second, printable_source((*text)[number - 1]));
  }
  // Those that are not in the text: it may be another version of the file.
  for (const auto& [number, line] : file.lines)
    if (!text || number > text->size()) add(number, line, "");
  print_listing(titles, lines, terminal, out);
}

}  // namespace

void print_annotation(const Analysis& analysis, const Annotation& annotation, SourceText& sources,
                      std::optional<size_t> terminal, Output& out) {
  const AnnotationTexts texts(analysis, annotation);
  bool is_first = true;
  for (const AnnotatedFile& file : annotation.files) {
    const std::string ran = texts.lines_that_ran(file);
    out.text((is_first ? "" : "\n") + prof_text::printable(file.path) + (ran.empty() ? "" : ": " + ran) + "\n");
    print_file(texts, file, sources.lines(file.path), terminal, out);
    is_first = false;
  }
}

namespace {

// "collatz.c:12: while (n != 1) {"
std::string source_line(const DisassembledInstruction& instruction, SourceText& sources) {
  std::string text = prof_text::printable(base_name(instruction.file)) + ":" + std::to_string(instruction.line);
  const std::vector<std::string>* lines = sources.lines(instruction.file);
  return lines && instruction.line <= lines->size() ? text + ": " + printable_source((*lines)[instruction.line - 1])
                                                    : text;
}

std::string heading(const Analysis& analysis, const DisassembledFunction& function) {
  const auto name = [&](uint32_t f) {
    return prof_text::printable(analysis.functions.name_with_module(analysis.functions.functions()[f]));
  };
  std::string text = name(function.function);
  if (function.host != function.function) text += " in " + name(function.host);
  text += ", " + prof_text::count_of(function.instructions.size(), "instruction");
  if (analysis.sums[function.function].calls != 0)
    text += ", " + prof_text::count_of(analysis.sums[function.function].calls, "call");
  return text + "\n";
}

}  // namespace

void print_disassembly(const Analysis& analysis, const Disassembly& disassembly, SourceText& sources,
                       std::optional<size_t> terminal, Output& out) {
  std::vector<std::string> titles = {"Address", "Distance"};
  if (disassembly.has_samples) titles.insert(titles.begin(), "Self");
  if (disassembly.has_executions) titles.insert(titles.begin(), "Executions");
  const SampledTimes times = sampled_times_of(analysis);
  bool is_first = true;
  for (const DisassembledFunction& function : disassembly.functions) {
    const uint64_t entry = analysis.functions.functions()[function.host].address;
    std::vector<ListingLine> lines;
    const DisassembledInstruction* before = nullptr;
    for (const DisassembledInstruction& instruction : function.instructions) {
      if (instruction.line != 0 && (!before || before->line != instruction.line || before->file != instruction.file))
        lines.push_back({std::vector<std::string>(titles.size()), source_line(instruction, sources)});
      before = &instruction;
      ListingLine& line = lines.emplace_back();
      if (disassembly.has_executions) line.cells.push_back(shown_executions(instruction));
      if (disassembly.has_samples) line.cells.push_back(shown_self(analysis, times, instruction.self));
      line.cells.push_back(prof_text::hexadecimal_digits(instruction.address));
      line.cells.push_back(distance(instruction.address, entry));
      line.text = "    " + prof_text::printable(instruction.text);
    }
    out.text((is_first ? "" : "\n") + heading(analysis, function));
    print_listing(titles, lines, terminal, out);
    is_first = false;
  }
}

namespace {

// What is to be said of a number that is not exact.
std::string mark(const CallSite& site) {
  using Known = CallSite::Known;
  switch (site.known) {
    case Known::exactly:
      return "";
    case Known::of_calls:
      return "  (of " + std::to_string(site.candidates) + " calls)";
    case Known::of_indirect_calls:
      return "  (of " + std::to_string(site.candidates) + " indirect calls)";
    case Known::of_other_code:
      return "  (through other code)";
  }
  return "";
}

// Texts, each once. Equal texts have equal numbers.
class Texts {
 public:
  uint32_t number_of(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, uint32_t(texts_.size()));
    if (is_new) texts_.push_back(&at->first);
    return at->second;
  }
  const std::string& text(uint32_t number) const { return *texts_[number]; }

  // By number: which place the text has in the order of the alphabet.
  std::vector<uint32_t> ranks() const {
    std::vector<uint32_t> ranks(texts_.size());
    uint32_t rank = 0;
    for (const auto& [text, number] : numbers_) ranks[number] = rank++;
    return ranks;
  }

 private:
  std::map<std::string, uint32_t> numbers_;
  std::vector<const std::string*> texts_;
};

// What stands after a number of calls: the place of the call, and what was called from there. There may be a million
// lines, but the texts that they are made of are few.
class Names {
 public:
  Names(const Analysis& analysis, const DebugSearch& search)
      : analysis_(analysis), objects_(analysis.functions, search) {}

  // "main collatz.c:12 -> ", or without debug information "main+0x1c -> ".
  uint32_t place(const CallSite& site) {
    const auto [at, is_new] = places_.try_emplace({site.caller, site.is_instruction ? site.address : kWhole});
    if (is_new) at->second = texts.number_of(of_place(site) + " -> ");
    return at->second;
  }

  // "nseq", with what is to be said of the number.
  uint32_t callee(const CallSite& site) {
    const std::string said = mark(site);
    if (!said.empty()) return texts.number_of(of(site.callee) + said);
    callees_.resize(analysis_.functions.functions().size(), UINT32_MAX);
    uint32_t& known = callees_[site.callee];
    if (known == UINT32_MAX) known = texts.number_of(of(site.callee));
    return known;
  }

  // Of which files debug information cannot be read, and why.
  std::vector<std::string> unreadable() const {
    std::vector<std::string> remarks;
    objects_.each([&](uint32_t, const std::string& name, const OpenedObject& object) {
      if (const std::string problem = object.info.unreadable(); !problem.empty())
        remarks.push_back(name + ": " + problem);
    });
    return remarks;
  }

  Texts texts;

 private:
  static constexpr uint64_t kWhole = UINT64_MAX;  // in the place of an address: of the caller no more is known

  std::string of(uint32_t f) const {
    return prof_text::printable(analysis_.functions.name_with_module(analysis_.functions.functions()[f]));
  }

  std::string of_place(const CallSite& site) {
    const Function& caller = analysis_.functions.functions()[site.caller];
    if (!site.is_instruction) return of(site.caller);
    const LineTable& table = objects_.at(caller.object).info.lines_at(site.address);
    const LineRange* line = table.find(site.address);
    if (!line || line->line == 0) return of(site.caller) + distance(site.address, caller.address);
    return of(site.caller) + " " + prof_text::printable(base_name(table.files[line->file])) + ":" +
           std::to_string(line->line);
  }

  const Analysis& analysis_;
  OpenedObjects objects_;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> places_;  // by caller and address
  std::vector<uint32_t> callees_;                             // by function
};

struct Row {
  uint32_t place, callee;
  uint64_t calls;
  bool is_exact;
};

// There may be several calls in a line: rows with the same texts are one. The most calls come first.
std::vector<Row> rows_of(const std::vector<CallSite>& sites, Names& names) {
  std::vector<Row> rows;
  rows.reserve(sites.size());
  for (const CallSite& site : sites)
    rows.push_back({names.place(site), names.callee(site), site.calls,
                    site.known == CallSite::Known::exactly || !site.is_instruction});
  const std::vector<uint32_t> ranks = names.texts.ranks();
  const auto alphabetical = [&](const Row& row) { return uint64_t(ranks[row.place]) << 32 | ranks[row.callee]; };
  std::ranges::sort(rows, {}, alphabetical);
  size_t sums = 0;
  for (const Row& row : rows) {
    if (sums != 0 && rows[sums - 1].place == row.place && rows[sums - 1].callee == row.callee) {
      add_up(rows[sums - 1].calls, row.calls);
      rows[sums - 1].is_exact = rows[sums - 1].is_exact && row.is_exact;
    } else {
      rows[sums++] = row;
    }
  }
  rows.resize(sums);
  std::ranges::stable_sort(rows, std::ranges::greater(), &Row::calls);
  return rows;
}

}  // namespace

std::vector<std::string> print_call_sites(const Analysis& analysis, const std::vector<CallSite>& sites,
                                          const DebugSearch& search, std::optional<size_t> terminal, Output& out) {
  Names names(analysis, search);
  const std::vector<Row> rows = rows_of(sites, names);
  const auto cell = [](const Row& row) { return (row.is_exact ? "" : "~") + std::to_string(row.calls); };
  size_t widest = 0;
  for (const Row& row : rows) widest = std::max(widest, cell(row).size());
  Listing listing({"Calls"}, {widest}, terminal, out);
  for (const Row& row : rows) listing.print({cell(row)}, names.texts.text(row.place) + names.texts.text(row.callee));
  return names.unreadable();
}

}  // namespace prof
