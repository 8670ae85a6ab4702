#include <algorithm>

#include "code_views.h"
#include "libprof/printable.h"
#include "linker-rewrite/text/count.h"
#include "prof/views/text/listing.h"
#include "prof/views/text/numbers.h"

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

// Prints the lines of one file.
class File {
 public:
  File(const Analysis& analysis, const Annotation& annotation, const AnnotatedFile& file)
      : analysis_(analysis), annotation_(annotation), file_(file) {}

  std::string heading() const {
    size_t with_code = 0, ran = 0;
    for (const auto& [number, line] : file_.lines) {
      with_code += line.executions.has_value();
      ran += line.executions.value_or(0) != 0;
    }
    std::string text = prof_text::printable(file_.path);
    if (annotation_.has_executions)
      text += ": " + std::to_string(ran) + " of " + prof_text::count_of(with_code, "line") + " with code ran";
    return text + "\n";
  }

  void print(const std::vector<std::string>* text, std::optional<size_t> terminal, Output& out) const {
    std::vector<std::string> titles;
    if (annotation_.has_executions) titles.emplace_back("Executions");
    titles.emplace_back("Calls");
    if (analysis_.timed()) titles.emplace_back("Self");
    titles.emplace_back("Line");
    std::vector<ListingLine> lines;
    static const AnnotatedLine nothing;
    for (uint32_t number = 1; text && number <= text->size(); ++number) {
      const auto at = file_.lines.find(number);
      lines.push_back(
          {cells(number, at == file_.lines.end() ? nothing : at->second), printable_source((*text)[number - 1])});
    }
    // Those that are not in the text: it may be another version of the file.
    for (const auto& [number, line] : file_.lines)
      if (!text || number > text->size()) lines.push_back({cells(number, line), ""});
    print_listing(titles, lines, terminal, out);
  }

 private:
  std::vector<std::string> cells(uint32_t number, const AnnotatedLine& line) const {
    FunctionSum sum;
    for (const uint32_t f : line.functions) add_self(sum, analysis_.sums[f]);
    std::vector<std::string> cells;
    if (annotation_.has_executions) cells.push_back(shown_executions(line));
    const bool has_functions = !line.functions.empty();
    cells.push_back(has_functions ? shown_calls(sum.calls, sum.has_doubtful_calls) : "");
    if (analysis_.timed())
      cells.push_back(has_functions ? shown_time(analysis_, double(sum.self),
                                                 with_chance(sum.self_range, sum.self_variance), sum.has_doubtful_self)
                                    : "");
    cells.push_back(std::to_string(number));
    return cells;
  }

  const Analysis& analysis_;
  const Annotation& annotation_;
  const AnnotatedFile& file_;
};

}  // namespace

void print_annotation(const Analysis& analysis, const Annotation& annotation, SourceText& sources,
                      std::optional<size_t> terminal, Output& out) {
  bool is_first = true;
  for (const AnnotatedFile& annotated : annotation.files) {
    const File file(analysis, annotation, annotated);
    out.text((is_first ? "" : "\n") + file.heading());
    file.print(sources.lines(annotated.path), terminal, out);
    is_first = false;
  }
}

}  // namespace prof
