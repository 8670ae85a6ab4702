#include "text_pane.h"

#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "libprof/printable.h"
#include "prof/model/blocks/annotation.h"
#include "prof/read/error.h"
#include "prof/views/code/code_views.h"
#include "prof/views/text/names.h"
#include "prof/views/text/output.h"

namespace prof::tui {

void TextPane::renumber(const std::vector<uint32_t>& same) {
  if (!function_) return;
  const uint32_t now = same[*function_];
  function_ = now == kNoFunction ? std::nullopt : std::optional(now);
}

void TextPane::set_columns(size_t columns) {
  if (columns == columns_) return;
  columns_ = columns;
  text_ = make_(columns);
  set_cursor(cursor());
}

bool TextPane::find(const Query& query, bool forwards) {
  const size_t count = rows();
  for (size_t step = 1; step <= count; ++step) {
    const size_t at = (cursor() + (forwards ? step : count - step)) % count;
    if (!query.find_in(text_.lines[at])) continue;
    set_cursor(at);
    return true;
  }
  return false;
}

namespace {

// What is printed to an Output, as a text.
template <class Print>
std::string printed(const Print& print) {
  char* bytes = nullptr;
  size_t size = 0;
  std::FILE* const file = open_memstream(&bytes, &size);
  if (!file) throw Error("no memory for a text");
  Output out(file, "memory");
  print(out);
  out.finish();
  std::fclose(file);
  std::string text(bytes, size);
  free(bytes);
  return text;
}

bool begins_with(const AnnotatedLine& line, uint32_t function) {
  return std::ranges::count(line.functions, function) != 0;
}

// The file that a function is in, and its text.
struct Source {
  std::shared_ptr<const Look> look;
  SourceText texts;
  Annotation annotation;  // of one file, or of none
  std::vector<std::string> remarks;

  // Which of the lines that are printed below the titles is that of the function.
  size_t row_of(uint32_t function) {
    if (annotation.files.empty()) return 0;
    const AnnotatedFile& file = annotation.files[0];
    const Function& wanted = look->analysis.functions.functions()[function];
    const auto begins = [&](const auto& line) {
      return wanted.is_inlined ? line.first >= wanted.line : begins_with(line.second, function);
    };
    const auto at = std::ranges::find_if(file.lines, begins);
    if (at == file.lines.end()) return 0;
    const std::vector<std::string>* const text = texts.lines(file.path);
    if (text && at->first <= text->size()) return at->first - 1;
    return size_t(std::distance(file.lines.begin(), at));
  }

  Text text_in(size_t columns) {
    Text text;
    // They are all there is if there is no file.
    std::vector<std::string>& said = annotation.files.empty() ? text.lines : text.heading;
    for (const std::string& remark : remarks)
      for (std::string& line : broken(prof_text::printable(remark), columns)) said.push_back(std::move(line));
    constexpr size_t kHeading = 2;  // the file and the titles
    const std::string all =
        printed([&](Output& out) { print_annotation(look->analysis, annotation, texts, columns, out); });
    size_t number = 0;
    for (size_t at = 0, end; (end = all.find('\n', at)) != std::string::npos; at = end + 1) {
      std::string line = without_tabs(all.substr(at, end - at));
      if (number == 0) line = middle_cut(line, columns);  // a path may be longer
      (number++ < kHeading ? text.heading : text.lines).push_back(std::move(line));
    }
    return text;
  }
};

}  // namespace

std::unique_ptr<TextPane> source_of(const std::shared_ptr<const Look>& look, uint32_t function,
                                    const DebugSearch& search) {
  const Analysis& analysis = look->analysis;
  const auto source = std::make_shared<Source>(Source{look, sources_of(analysis, search), {}, {}});
  source->annotation = annotate(analysis, {function}, true, search, source->texts);
  source->remarks = source->annotation.remarks;
  std::vector<AnnotatedFile>& files = source->annotation.files;
  if (files.empty()) {
    source->remarks.push_back(
        look->names[function] +
        (analysis.functions.functions()[function].is_inlined
             ? ": debug information does not say where it is declared; the source of its callers has it"
             : ": its source is not known; build the program with -g, or name its debug files by --debug-dir"));
  } else {
    files.resize(1);
    source->texts.note_program(files[0].path, files[0].lines.empty() ? 0 : files[0].lines.rbegin()->first,
                               files[0].made);
    if (!source->annotation.has_executions)
      source->remarks.emplace_back("blocks were not counted; executions of lines need profld -b");
  }
  for (std::string& remark : source->texts.remarks()) source->remarks.push_back(std::move(remark));
  auto pane = std::make_unique<TextPane>([source](size_t columns) { return source->text_in(columns); }, function);
  pane->set_columns(80);
  pane->set_cursor(source->row_of(function));
  return pane;
}

}  // namespace prof::tui
