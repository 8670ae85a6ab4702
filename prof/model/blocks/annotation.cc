#include "annotation.h"

#include <elf.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>

#include "executions.h"
#include "line_counts.h"
#include "linker-rewrite/names/pattern.h"
#include "prof/model/program/object_debug_info.h"
#include "prof/model/tree/modules.h"
#include "prof/read/error.h"

namespace prof {

void add_uncalled_functions(Recorded& recorded, bool all) {
  std::set<std::pair<uint32_t, uint64_t>> entries;
  const std::vector<Object>& objects = recorded.functions.objects();
  for (const BlockCount& block : recorded.blocks)
    if (block.object < objects.size())
      if (const auto entry = objects[block.object].entry_of_original(block.address))
        entries.insert({block.object, *entry});
  for (uint32_t o = 0; all && o < objects.size(); ++o) {
    for (const prof_format::MapEntry& entry : objects[o].copies())
      if (!objects[o].import_name(entry.function)) entries.insert({o, entry.function});
    for (const ElfFile& file : objects[o].files())
      for (const Symbol& symbol : file.symbols())
        if (symbol.type == STT_FUNC && symbol.size != 0 && objects[o].entry_of(symbol.address) == symbol.address &&
            objects[o].entry_of_original(symbol.address) == symbol.address)
          entries.insert({o, symbol.address});
  }
  for (const auto& [object, entry] : entries) recorded.functions.at(object, entry);
  recorded.sums.resize(recorded.functions.functions().size());
}

std::vector<uint32_t> selected_code(const Recorded& recorded, bool with_inlined) {
  const std::vector<Function>& functions = recorded.functions.functions();
  const std::vector<bool> selected = selected_functions(recorded, Modules(recorded));
  std::vector<uint32_t> found;
  for (uint32_t f = 0; f < functions.size(); ++f)
    if (selected[f] && !functions[f].is_import && (functions[f].is_inlined ? with_inlined : functions[f].has_calls) &&
        !recorded.functions.objects()[functions[f].object].files().empty())
      found.push_back(f);
  std::sort(found.begin(), found.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(functions[a].object, functions[a].address) < std::tie(functions[b].object, functions[b].address);
  });
  if (!found.empty() || recorded.function_filter.only().empty()) return found;
  const prof_names::Pattern& pattern = recorded.function_filter.only()[0];
  prof_names::Nearest nearest(pattern);
  for (const Function& function : functions) {
    const prof_names::Name name = recorded.functions.name_for_patterns(function);
    if (pattern.matches(name)) throw Error(pattern.glob() + ": is in no file that prof can read; see --debug-dir");
    nearest.add(name);
  }
  const std::string question = nearest.question();
  throw Error(pattern.glob() + ": matches no function" + (question.empty() ? "" : "; " + question));
}

bool is_plain_library(const Object& object) { return object.kind() == Object::Kind::library && !object.is_rewritten(); }

namespace {

class Annotator {
 public:
  Annotator(const Recorded& recorded, const DebugSearch& search)
      : recorded_(recorded), objects_(recorded.functions, search), executions_(recorded.blocks) {}

  Annotation annotate(const std::vector<uint32_t>& selected, bool theirs_only, SourceText& sources) {
    const std::vector<Function>& functions = recorded_.functions.functions();
    std::vector<bool> is_selected(functions.size());
    for (const uint32_t f : selected) is_selected[f] = true;
    std::set<uint32_t> shown;  // files of theirs
    // Functions that are not selected may have lines in the same files.
    for (uint32_t f = 0; f < functions.size(); ++f) {
      if (functions[f].is_import || recorded_.functions.objects()[functions[f].object].files().empty()) continue;
      if (!occurs(recorded_, f) && !is_selected[f] && !executions_.are_known()) continue;
      if (is_plain_library(recorded_.functions.objects()[functions[f].object]) && !(theirs_only && is_selected[f]))
        continue;
      const std::optional<uint32_t> file = add_function(f);
      if (file && theirs_only && is_selected[f]) shown.insert(*file);
      if (!functions[f].is_inlined) add_blocks(functions[f]);
    }
    const std::map<LineCounts::Line, LineCount> counts = counts_.counts();
    for (const auto& [line, count] : counts) {
      AnnotatedLine& annotated = files_[line.first].lines[line.second];
      annotated.has_code = true;
      annotated.executions = count.count;
      annotated.is_exact = count.is_exact;
    }
    add_uncounted();
    add_samples();
    choose(shown, theirs_only);
    for (const uint32_t file : shown_) add_case_labels(file, counts, sources);
    return finish();
  }

 private:
  uint32_t file_at(const std::string& path) {
    const std::string normal = std::filesystem::path(path).lexically_normal().string();
    const auto [at, is_new] = indices_.try_emplace(normal, uint32_t(files_.size()));
    if (is_new) files_.push_back({normal, {}});
    return at->second;
  }

  // Of an object that has code of a file.
  void note_object(uint32_t file, uint32_t object) {
    if (!of_objects_.insert({file, object}).second) return;
    AnnotatedFile& annotated = files_[file];
    std::optional<int64_t>& made = annotated.made;
    const OriginalCode& code = objects_.at(object).code;
    const std::optional<int64_t> now = code.time_made();
    if (now && (!made || *now < *made)) made = now;
    annotated.is_made_known = annotated.is_made_known && now;
    annotated.is_made_of_copy = annotated.is_made_of_copy || !code.is_original();
    annotated.builds.insert(recorded_.functions.objects()[object].original_build_id());
  }

  // Where it begins in the source: the index of the file, if that is known.
  std::optional<uint32_t> add_function(uint32_t f) {
    const Function& function = recorded_.functions.functions()[f];
    if (function.is_inlined) {
      if (function.file.empty()) return {};
      const uint32_t file = file_at(function.file);
      note_object(file, function.object);
      return file;
    }
    const std::optional<FunctionSource> source = objects_.at(function.object).info.find(function.address);
    if (!source || source->file.empty() || source->line == 0) return {};
    const uint32_t file = file_at(source->file);
    note_object(file, function.object);
    if (occurs(recorded_, f)) files_[file].lines[source->line].functions.push_back(f);
    return file;
  }

  void add_blocks(const Function& function) {
    if (!executions_.are_known()) return;
    OpenedObject& object = objects_.at(function.object);
    std::vector<BlockCount> blocks;
    for (const CodeRange& range : object.code.ranges_of(function.address)) {
      const auto within = executions_.within(function.object, range.start, range.start + range.size);
      blocks.insert(blocks.end(), within.begin(), within.end());
    }
    const LineTable& table = object.info.lines_at(function.address);
    if (table.ranges.empty()) return;
    tables_.insert({function.object, &table});
    if (blocks.empty()) return;
    const FlowGraph graph = flow_graph(blocks, recorded_.ways, function.address, [&](uint64_t address, uint64_t size) {
      return object.code.bytes(address, size);
    });
    LineCounts::Declared declared;
    if (const std::optional<FunctionSource> source = object.info.find(function.address)) {
      declared.has_result = source->has_result;
      if (!source->file.empty() && source->line != 0) declared.at = {file_at(source->file), source->line};
      for (const SourceLabel& label : source->labels)
        if (!label.file.empty() && label.line != 0)
          declared.labels.push_back({label.address, {file_at(label.file), label.line}});
    }
    counts_.add(
        graph, table, [&](uint32_t file) { return file_of(table, file); }, declared);
  }

  uint32_t file_of(const LineTable& table, uint32_t file) {
    std::vector<uint32_t>& known = known_files_[&table];
    known.resize(table.files.size(), UINT32_MAX);
    if (known[file] == UINT32_MAX) known[file] = file_at(table.files[file]);
    return known[file];
  }

  // Lines whose code was not counted, and those that control cannot come to.
  void add_uncounted() {
    for (const auto& [o, table] : tables_) {
      const Object& object = recorded_.functions.objects()[o];
      for (const LineRange& range : table->ranges) {
        if (range.line == 0) continue;
        const uint32_t file = file_of(*table, range.file);
        note_object(file, o);
        if (counts_.only_frames_function({file, range.line})) continue;
        AnnotatedLine& line = files_[file].lines[range.line];
        if (line.has_code && line.executions) continue;
        line.has_code = true;
        const std::optional<uint64_t> entry = object.entry_of_original(range.start);
        if (entry && executions_.block_at(o, *entry)) line.executions = 0;
      }
    }
  }

  // Of the objects that have code of files so far.
  void add_samples() {
    const std::vector<Function>& functions = recorded_.functions.functions();
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> by_entry;
    for (uint32_t f = 0; f < functions.size(); ++f)
      if (!functions[f].is_import && !functions[f].is_inlined)
        by_entry[{functions[f].object, functions[f].address}] = f;
    std::set<uint32_t> objects;
    for (const auto& [file, object] : of_objects_) objects.insert(object);
    const SampledTimes times = sampled_times_of(recorded_);
    for (const AddressSamples& at : recorded_.histogram) {
      if (!objects.contains(at.object)) continue;
      const LineTable& table = objects_.at(at.object).info.lines_at(at.address);
      const LineRange* range = table.find(at.address);
      const std::optional<uint64_t> entry = recorded_.functions.objects()[at.object].entry_of_original(at.address);
      const auto function = entry ? by_entry.find({at.object, *entry}) : by_entry.end();
      if (!range || range->line == 0 || function == by_entry.end()) continue;
      AnnotatedLine& line = files_[file_of(table, range->file)].lines[range->line];
      line.has_code = true;
      line.self.add(times, function->second, at.samples);
    }
  }

  void choose(const std::set<uint32_t>& theirs, bool theirs_only) {
    const auto did_anything = [](const auto& line) {
      return line.second.executions.value_or(0) != 0 || !line.second.functions.empty() ||
             line.second.self.samples() != 0;
    };
    for (uint32_t f = 0; f < files_.size(); ++f) {
      const auto& lines = files_[f].lines;
      if (theirs_only ? theirs.contains(f) : std::any_of(lines.begin(), lines.end(), did_anything)) shown_.push_back(f);
    }
  }

  void add_case_labels(uint32_t file, const std::map<LineCounts::Line, LineCount>& counts, SourceText& sources) {
    const std::vector<std::string>* text = executions_.are_known() ? sources.lines(files_[file].path) : nullptr;
    if (!text) return;
    std::map<uint32_t, AnnotatedLine>& lines = files_[file].lines;
    const auto has_code = [&](uint32_t number) {
      const auto at = lines.find(number);
      return at != lines.end() && at->second.has_code;
    };
    for (const auto& [label, code] : case_labels(*text, has_code)) {
      const auto count = counts.find({file, code});
      if (count == counts.end() || !count->second.begun) continue;
      lines[label].has_code = true;
      lines[label].executions = count->second.begun;
    }
  }

  Annotation finish() {
    Annotation annotation;
    annotation.has_executions = executions_.are_known();
    annotation.has_samples = !recorded_.histogram.empty();
    for (const uint32_t f : shown_) annotation.files.push_back(std::move(files_[f]));
    const auto samples = [](const AnnotatedFile& file) {
      uint64_t sum = 0;
      for (const auto& [number, line] : file.lines) sum += line.self.samples();
      return sum;
    };
    std::ranges::sort(annotation.files, {}, &AnnotatedFile::path);
    std::ranges::stable_sort(annotation.files, std::ranges::greater(), samples);
    objects_.each([&](uint32_t index, const std::string& name, const OpenedObject& object) {
      if (const std::string problem = object.info.problem(); !problem.empty())
        annotation.remarks.push_back(name + ": " + problem);
      if (executions_.are_known(index) && object.code.is_there() && !object.code.is_original())
        annotation.remarks.push_back(name +
                                     ": the file that was rewritten is not there; its copy has jumps at the beginnings "
                                     "of functions, and numbers there may be wrong");
    });
    return annotation;
  }

  const Recorded& recorded_;
  OpenedObjects objects_;
  Executions executions_;
  std::map<std::string, uint32_t> indices_;
  std::vector<AnnotatedFile> files_;
  std::map<const LineTable*, std::vector<uint32_t>> known_files_;  // by index in the table
  std::set<std::pair<uint32_t, const LineTable*>> tables_;         // with the object that they are of
  std::set<std::pair<uint32_t, uint32_t>> of_objects_;             // files, with the objects that have code of them
  LineCounts counts_;
  std::vector<uint32_t> shown_;  // files
};

}  // namespace

Annotation annotate(const Recorded& recorded, const std::vector<uint32_t>& functions, bool theirs_only,
                    const DebugSearch& search, SourceText& sources) {
  return Annotator(recorded, search).annotate(functions, theirs_only, sources);
}

SourceText sources_of(const Recorded& recorded, const DebugSearch& search) {
  std::vector<std::string> folders = {"."};
  const std::string folder = std::filesystem::path(recorded.program).parent_path().string();
  if (!folder.empty()) folders.push_back(folder);
  folders.insert(folders.end(), search.beside.begin(), search.beside.end());
  return SourceText(std::move(folders));
}

}  // namespace prof
