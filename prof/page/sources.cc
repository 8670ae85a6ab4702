#include "sources.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/read/error.h"
#include "prof/views/code/code_views.h"
#include "prof/views/compare/difference.h"
#include "prof/views/text/numbers.h"
#include "prof/views/text/text_columns.h"

namespace prof {

namespace {

using nlohmann::ordered_json;
using prof_text::printable;

// What a page has room for. Beyond that, browsers take seconds to open it.
constexpr size_t kMaxText = 16 << 20;  // bytes of source
constexpr size_t kMaxFunctions = 500;  // with instructions
constexpr size_t kMaxInstructions = 200'000;

// Line by line what is known of it, and the instructions that it was made to.
struct KnownLine {
  const AnnotatedLine* line = nullptr;
  std::vector<std::pair<uint32_t, const DisassembledInstruction*>> instructions;  // with their functions
};
using KnownLines = std::map<uint32_t, KnownLine>;  // by number

// The text that there is room for.
class Room {
 public:
  // Lines, each with a newline. `is_cut`: set if that is not all.
  std::string as_much_as_fits(const std::vector<std::string>& lines, bool& is_cut) {
    std::string text;
    for (const std::string& line : lines) {
      const std::string shown = printable_source(line) + '\n';
      is_cut = is_cut || left_ < shown.size();
      if (is_cut) break;
      left_ -= shown.size();
      text += shown;
    }
    if (!is_cut) return text;
    left_ = 0;  // not the small files after it: what there is, is a beginning
    ++files_left_out_;
    return text;
  }

  // What there is to say of it; "" if all had room.
  std::string remark() const {
    if (files_left_out_ == 0) return "";
    return "the page has " + std::to_string(kMaxText >> 20) + " MB of source, of the files with most time; " +
           prof_text::count_of(files_left_out_, "file is", "files are") +
           " cut off or left out; prof --annotate shows all";
  }

 private:
  size_t left_ = kMaxText, files_left_out_ = 0;
};

uint64_t as_signed(uint64_t n) { return n << 1 ^ uint64_t(int64_t(n) >> 63); }

template <class Items, class Of>
void column(Packed& packed, const char* name, const Items& items, const Of& of) {
  packed.column(name, items.size());
  for (const auto& item : items) packed.number(of(item));
}

class Packing {
 public:
  explicit Packing(const PageSources& sources)
      : analysis_(sources.analysis),
        annotation_(sources.annotation),
        source_(sources.text),
        texts_(sources.analysis, sources.annotation),
        period_(double(sampled_times_of(sources.analysis).period) * 1e-9 * sources.analysis.rate()),
        remarks_(sources.remarks) {
    order_files();
    for (uint32_t at = 0; at < files_.size(); ++at) {
      numbers_[annotation_.files[files_[at]].path] = at;
      for (const auto& [number, line] : annotation_.files[files_[at]].lines) lines_[at][number].line = &line;
    }
    add_instructions(sources.disassembly);
  }

  void pack(Packed& packed) {
    packed.document(document().dump(-1, ' ', false, ordered_json::error_handler_t::replace));
    column(packed, "files.lines", lines_, [](const KnownLines& lines) { return lines.size(); });
    pack_lines(packed);
    pack_functions(packed);
    std::vector<std::pair<uint32_t, const DisassembledInstruction*>> instructions;
    each_line([&](uint32_t, uint32_t, const KnownLine& line) {
      instructions.insert(instructions.end(), line.instructions.begin(), line.instructions.end());
    });
    column(packed, "instructions.function", instructions, [](const auto& one) { return one.first; });
    column(packed, "instructions.distance", instructions, [&](const auto& one) {
      return as_signed(one.second->address - analysis_.functions.functions()[one.first].address);
    });
  }

 private:
  // How long a line took, in cycles; where no samples tell, how often it ran; or else how long the functions that begin
  // there took.
  double heat(const AnnotatedLine& line) const {
    if (annotation_.has_samples) return line.self.likely() * period_;
    if (annotation_.has_executions) return double(line.executions.value_or(0));
    double cycles = 0;
    for (const uint32_t f : line.functions) cycles += double(analysis_.sums[f].self);
    return cycles;
  }

  // The hottest first.
  void order_files() {
    std::vector<double> sums;
    for (const AnnotatedFile& file : annotation_.files) {
      files_.push_back(uint32_t(files_.size()));
      double& sum = sums.emplace_back(0);
      for (const auto& [number, line] : file.lines) sum += heat(line);
    }
    std::ranges::stable_sort(files_, std::ranges::greater(), [&](uint32_t file) { return sums[file]; });
    lines_.resize(files_.size());
    kept_.resize(files_.size());
  }

  std::optional<uint32_t> file_at(const std::string& path) const {
    const auto at = numbers_.find(std::filesystem::path(path).lexically_normal().string());
    return at == numbers_.end() ? std::nullopt : std::optional(at->second);
  }

  void add_instructions(const Disassembly& disassembly) {
    size_t added = 0;
    for (const DisassembledFunction& function : disassembly.functions) {
      if (added >= kMaxInstructions) {
        remarks_.push_back("the page has " + prof_text::count_of(added, "instruction") +
                           ", of the functions with most time; prof --disassemble shows others");
        return;
      }
      for (const DisassembledInstruction& instruction : function.instructions) {
        if (instruction.line == 0) continue;
        const std::optional<uint32_t> file = file_at(instruction.file);
        if (!file) continue;
        lines_[*file][instruction.line].instructions.emplace_back(function.function, &instruction);
        ++added;
      }
    }
  }

  template <class Each>
  void each_line(const Each& each) const {
    for (uint32_t file = 0; file < lines_.size(); ++file)
      for (const auto& [number, line] : lines_[file]) each(file, number, line);
  }

  ordered_json document() {
    ordered_json files = ordered_json::array(), instructions = ordered_json::array(), texts = ordered_json::array();
    for (uint32_t at = 0; at < files_.size(); ++at) files.push_back(document_of(at));
    each_line([&](uint32_t, uint32_t, const KnownLine& line) {
      for (const auto& [function, instruction] : line.instructions) {
        instructions.push_back(texts_.cells(*instruction));
        texts.push_back(printable(instruction->text));
      }
    });
    std::vector<std::string> remarks;
    for (const std::string& remark : remarks_) remarks.push_back(printable(remark));
    if (const std::string remark = room_.remark(); !remark.empty()) remarks.push_back(remark);
    return {{"titles", texts_.titles()},
            {"remarks", remarks},
            {"files", std::move(files)},
            {"instructions", {{"cells", std::move(instructions)}, {"text", std::move(texts)}}}};
  }

  ordered_json document_of(uint32_t at) {
    const AnnotatedFile& file = annotation_.files[files_[at]];
    SampledPart self;
    ordered_json cells = ordered_json::array();
    static const AnnotatedLine nothing;
    for (const auto& [number, known] : lines_[at]) {
      cells.push_back(texts_.cells(known.line ? *known.line : nothing));
      if (known.line) self.add(known.line->self);
    }
    const std::vector<std::string>* lines = source_.lines(file.path);
    ordered_json text;
    bool is_cut = false;
    if (lines) {
      const std::string kept = room_.as_much_as_fits(*lines, is_cut);
      kept_[at] = size_t(std::ranges::count(kept, '\n'));
      if (!is_cut || !kept.empty()) text = kept;
    }
    return {{"path", printable(file.path)},
            {"self", texts_.self(self)},
            {"ran", texts_.lines_that_ran(file)},
            {"text", std::move(text)},
            {"cut", is_cut},
            {"cells", std::move(cells)}};
  }

  void pack_lines(Packed& packed) const {
    std::vector<uint64_t> numbers, heats, instructions;
    uint32_t last_file = 0, last = 0;
    each_line([&](uint32_t file, uint32_t number, const KnownLine& known) {
      numbers.push_back(number - (file == last_file ? last : 0));
      last_file = file;
      last = number;
      heats.push_back(known.line ? uint64_t(std::llround(std::clamp(heat(*known.line), 0.0, 0x1p62))) : 0);
      instructions.push_back(known.instructions.size());
    });
    const auto itself = [](uint64_t n) { return n; };
    column(packed, "lines.number", numbers, itself);
    column(packed, "lines.heat", heats, itself);
    column(packed, "lines.instructions", instructions, itself);
  }

  // Where each function begins, if the page has that line.
  void pack_functions(Packed& packed) const {
    const std::vector<Function>& functions = analysis_.functions.functions();
    std::vector<std::pair<uint32_t, uint32_t>> places(functions.size());
    each_line([&](uint32_t file, uint32_t number, const KnownLine& known) {
      if (!known.line) return;
      for (const uint32_t f : known.line->functions) places[f] = {file + 1, number};
    });
    for (uint32_t f = 0; f < functions.size(); ++f) {
      if (!functions[f].is_inlined || functions[f].line == 0) continue;
      const std::optional<uint32_t> file = file_at(functions[f].file);
      if (file && (functions[f].line <= kept_[*file] || lines_[*file].contains(functions[f].line)))
        places[f] = {*file + 1, functions[f].line};
    }
    column(packed, "functions.file", places, [](const auto& place) { return place.first; });
    column(packed, "functions.line", places, [](const auto& place) { return place.second; });
  }

  const Analysis& analysis_;
  const Annotation& annotation_;
  SourceText& source_;
  const AnnotationTexts texts_;
  const double period_;  // cycles of a sample
  std::vector<std::string> remarks_;
  std::vector<uint32_t> files_;              // of the annotation, in the order of the page
  std::map<std::string, uint32_t> numbers_;  // by path
  std::vector<KnownLines> lines_;            // by file
  std::vector<size_t> kept_;                 // by file: lines of its text, once that is in the document
  Room room_;
};

}  // namespace

std::vector<uint32_t> functions_with_instructions(const Analysis& analysis, std::vector<uint32_t> selected,
                                                  std::vector<std::string>& remarks) {
  const std::vector<Function>& functions = analysis.functions.functions();
  std::map<std::pair<uint32_t, uint64_t>, uint64_t>
      samples;  // by object and entry: those of what was inlined are in them
  for (const AddressSamples& at : analysis.histogram)
    if (const auto entry = analysis.functions.objects()[at.object].entry_of_original(at.address))
      samples[{at.object, *entry}] += at.samples;
  std::set<std::pair<uint32_t, uint64_t>> ran;  // the same, of blocks
  for (const BlockCount& block : analysis.blocks)
    if (const auto entry =
            block.count ? analysis.functions.objects()[block.object].entry_of_original(block.address) : std::nullopt)
      ran.emplace(block.object, *entry);
  const auto samples_of = [&](uint32_t f) {
    const auto at = samples.find({functions[f].object, functions[f].address});
    return at == samples.end() ? 0 : at->second;
  };
  std::erase_if(selected, [&](uint32_t f) {
    return functions[f].is_inlined ||
           (samples_of(f) == 0 && analysis.sums[f].self == 0 && analysis.sums[f].calls == 0 &&
            !ran.contains({functions[f].object, functions[f].address}));
  });
  std::ranges::stable_sort(selected, std::ranges::greater(), [&](uint32_t f) {
    return std::tuple(samples_of(f), analysis.sums[f].self, analysis.sums[f].calls);
  });
  if (selected.size() > kMaxFunctions) {
    remarks.push_back("the page has the instructions of " + std::to_string(kMaxFunctions) + " of " +
                      prof_text::count_of(selected.size(), "function") +
                      ", those with most time; prof --disassemble shows others");
    selected.resize(kMaxFunctions);
  }
  return selected;
}

void pack(const PageSources& sources, Packed& packed) { Packing(sources).pack(packed); }

namespace {

// What one side knows of a line, of all of its runs.
struct SideOfLine {
  bool has_code = false;
  bool is_counted = true;  // in all runs
  bool is_exact = true;
  // Of lines that did anything: `calls` are executions, and of functions that begin there.
  struct Amounts {
    Measurements executions;
    Figures figures;
    double without_samples = 0;  // seconds that no samples may have been in the runs in which it has some
  };
  std::unique_ptr<Amounts> amounts = {};
  bool has_functions = false, has_estimated_calls = false;

  Amounts& made_amounts() {
    if (!amounts) amounts = std::make_unique<Amounts>();
    return *amounts;
  }
};

struct LineOfTwo {
  std::array<SideOfLine, 2> sides;
};

struct SideOfFile {
  bool has_code = false;
  std::optional<int64_t> made = {};
  bool is_made_known = true, is_made_of_copy = false;
  std::set<std::string> builds = {};
};

struct FileOfTwo {
  std::array<SideOfFile, 2> sides;
  std::map<uint32_t, LineOfTwo> lines;
  // When it is settled:
  std::array<bool, 2> is_shown = {};
  size_t text_of = 1;  // whose text that is
  std::string note;
  double heat = 0, most = 0;
  bool is_compared() const { return is_shown[0] && is_shown[1]; }
};

struct PlaceOfFunction {
  std::string file;  // "" if nothing tells
  uint32_t line = 0;
};

std::string normal(const std::string& path) { return std::filesystem::path(path).lexically_normal().string(); }

}  // namespace

class ComparedSources::Packing {
 public:
  void add(size_t side, const Analysis& analysis, const std::vector<uint32_t>& numbers, const Annotation& annotation,
           SourceText text, const std::vector<std::string>& remarks) {
    for (const std::string& remark : remarks) say(remark);
    Run run{side, analysis, numbers, sampled_times_of(analysis),
            annotation.has_samples || analysis.by_samples() || analysis.sampled};
    if (is_sampled_ && *is_sampled_ != run.is_sampled)
      throw Error(
          analysis.program +
          ": the lines of some runs have times of samples, and those of others times of functions; these cannot "
          "be compared");
    is_sampled_ = run.is_sampled;
    has_executions_ = has_executions_ || annotation.has_executions;
    is_counted_[side] = is_counted_[side] || annotation.has_executions;
    if (run.is_sampled) without_samples_[side] += run.seconds(run.times.chance(0).high);
    for (const AnnotatedFile& file : annotation.files) add_file(run, file);
    add_places(run, annotation);
    if (!texts_[side]) texts_[side] = std::move(text);
  }

  std::vector<std::string> settle(const Difference& difference) {
    difference_ = &difference;
    for (auto& [path, file] : files_) {
      choose(path, file);
      sum_up(file);
      order_.push_back(path);
    }
    std::ranges::stable_sort(order_, std::ranges::greater(),
                             [&](const std::string& path) { return std::pair(files_[path].heat, files_[path].most); });
    for (auto& text : texts_)
      if (text)
        for (const std::string& remark : text->remarks()) say(remark);
    say_of(not_compared_,
           ": the programs are two builds, and not both are known to be of this text; the figures of one are shown");
    say_of(of_copies_,
           ": a program that has code of it is not there; that it is of this text is taken from when it was copied");
    return remarks_;
  }

  void pack(Packed& packed) {
    packed.document(document().dump(-1, ' ', false, ordered_json::error_handler_t::replace));
    column(packed, "files.lines", order_, [&](const std::string& path) { return files_[path].lines.size(); });
    std::vector<uint64_t> numbers, heats, changes;
    for (const std::string& path : order_) {
      uint32_t last = 0;
      for (const auto& [number, line] : files_[path].lines) {
        numbers.push_back(number - std::exchange(last, number));
        const std::optional<Change> change = change_of(files_[path], line);
        heats.push_back(uint64_t(std::llround(std::min(heat(change) * scale(), 0x1p50))));
        changes.push_back(colour(change));
      }
    }
    const auto itself = [](uint64_t n) { return n; };
    column(packed, "lines.number", numbers, itself);
    column(packed, "lines.heat", heats, itself);
    column(packed, "lines.change", changes, itself);
    pack_functions(packed);
  }

 private:
  static constexpr size_t kMaxNamed = 3;  // files in a remark

  struct Run {
    size_t side;
    const Analysis& analysis;
    const std::vector<uint32_t>& numbers;
    SampledTimes times;
    bool is_sampled;
    double seconds(double samples) const { return times.seconds(samples); }
  };

  void say(const std::string& remark) {
    if (std::ranges::find(remarks_, remark) == remarks_.end()) remarks_.push_back(remark);
  }
  void say_of(const std::vector<std::string>& paths, const std::string& what) {
    std::string text;
    for (size_t i = 0; i < std::min(paths.size(), kMaxNamed); ++i) text += (i ? ", " : "") + paths[i];
    if (paths.size() > kMaxNamed) text += " and " + std::to_string(paths.size() - kMaxNamed) + " more";
    if (!paths.empty()) say(text + what);
  }

  void add_file(const Run& run, const AnnotatedFile& from) {
    FileOfTwo& file = files_[from.path];
    SideOfFile& side = file.sides[run.side];
    if (from.made && (!side.made || *from.made < *side.made)) side.made = from.made;
    side.has_code = true;
    side.is_made_known = side.is_made_known && from.is_made_known;
    side.is_made_of_copy = side.is_made_of_copy || from.is_made_of_copy;
    side.builds.insert(from.builds.begin(), from.builds.end());
    for (const auto& [number, line] : from.lines) add_line(run, line, file.lines[number].sides[run.side]);
  }

  static void add_line(const Run& run, const AnnotatedLine& from, SideOfLine& line) {
    line.has_code = line.has_code || from.has_code;
    line.is_counted = line.is_counted && (!from.has_code || from.executions);
    line.is_exact = line.is_exact && from.is_exact;
    if (from.executions.value_or(0) != 0) line.made_amounts().executions.add(double(*from.executions));
    FunctionSum sum;
    for (const uint32_t f : from.functions) add_self(sum, run.analysis.sums[f]);
    line.has_functions = line.has_functions || !from.functions.empty();
    line.has_estimated_calls = line.has_estimated_calls || sum.has_estimated_calls;
    if (run.is_sampled) {
      const double cycles = double(run.times.period) * 1e-9 * run.analysis.rate();
      const SampleRange range = from.self.range(run.times);
      const bool has_samples = from.self.samples() != 0;
      sum.self = uint64_t(std::llround(from.self.likely() * cycles));
      sum.self_range = has_samples ? Range{range.low * cycles, range.high * cycles} : Range();
      sum.self_probe = uint64_t(std::llround((double(from.self.samples()) - from.self.likely()) * cycles));
      sum.self_variance = 0;
      sum.has_doubtful_self = false;
      if (has_samples) line.made_amounts().without_samples += run.seconds(run.times.chance(0).high);
    }
    if (sum.calls != 0 || sum.self != 0 || !from.functions.empty())
      line.made_amounts().figures.add(sum, 1 / run.analysis.rate());
  }

  void add_places(const Run& run, const Annotation& annotation) {
    std::vector<PlaceOfFunction>& places = places_[run.side];
    const auto put = [&](uint32_t f, const std::string& file, uint32_t line) {
      if (f >= run.numbers.size()) return;  // one that nobody called
      places.resize(std::max<size_t>(places.size(), run.numbers[f] + 1));
      places[run.numbers[f]] = {file, line};
    };
    const std::vector<Function>& functions = run.analysis.functions.functions();
    for (uint32_t f = 0; f < functions.size(); ++f)
      if (functions[f].is_inlined && functions[f].line != 0) put(f, normal(functions[f].file), functions[f].line);
    for (const AnnotatedFile& file : annotation.files)
      for (const auto& [number, line] : file.lines)
        for (const uint32_t f : line.functions) put(f, file.path, number);
  }

  // Whether a side is known to be of the text that is there.
  bool is_of_text(const std::string& path, const FileOfTwo& file, size_t side) {
    const SideOfFile& of = file.sides[side];
    const std::optional<int64_t> changed = texts_[side] ? texts_[side]->time_changed(path) : std::nullopt;
    return of.has_code && of.made && of.is_made_known && changed && *changed <= *of.made;
  }

  const std::vector<std::string>* text(const std::string& path, size_t side) {
    return texts_[side] ? texts_[side]->lines(path) : nullptr;
  }

  // Which sides have figures in a file.
  void choose(const std::string& path, FileOfTwo& file) {
    const auto& [a, b] = file.sides;
    if (!a.has_code || !b.has_code) {
      file.text_of = b.has_code ? 1 : 0;
      file.is_shown[file.text_of] = true;
      file.note = std::string("Only ") + (b.has_code ? "B" : "A") +
                  " ran code of a file of this name, so nothing is compared in it.";
    } else if (a.builds == b.builds && !a.builds.contains("")) {
      file.is_shown = {true, true};
    } else {
      const bool is_a = is_of_text(path, file, 0), is_b = is_of_text(path, file, 1);
      const bool is_one_text = text(path, 0) && text(path, 1) && *text(path, 0) == *text(path, 1);
      file.is_shown = {is_a && (is_one_text || !is_b), !is_a || is_b};
      file.text_of = file.is_shown[1] ? 1 : 0;
      if (!file.is_compared()) {
        not_compared_.push_back(path);
        file.note = std::string(file.is_shown[1] ? "A" : "B") +
                    " may be of another text than this one, so its figures are left out, and nothing is compared.";
      }
      for (size_t s = 0; s < 2; ++s)
        if (file.is_compared() && file.sides[s].is_made_of_copy) {
          of_copies_.push_back(path);
          break;
        }
    }
    const uint32_t last = file.lines.empty() ? 0 : file.lines.rbegin()->first;
    for (size_t s = 0; s < 2; ++s)
      if (file.is_shown[s]) texts_[s]->note_program(path, last, file.sides[s].made);
  }

  void sum_up(FileOfTwo& file) const {
    for (const auto& [number, line] : file.lines) {
      file.heat += heat(change_of(file, line));
      for (size_t s = 0; s < 2; ++s)
        if (file.is_shown[s] && line.sides[s].amounts) file.most += main_amount(figures_of(line, s), s);
    }
  }

  // As Difference takes them.
  Figures figures_of(const LineOfTwo& line, size_t side) const {
    const SideOfLine& of = line.sides[side];
    Figures figures = of.amounts ? of.amounts->figures : Figures();
    if (has_executions_) {
      figures.calls = of.amounts ? of.amounts->executions : Measurements();
      figures.has_doubtful_calls = !of.is_exact;
    }
    // No samples may have been some, as range_of says.
    if (*is_sampled_)
      figures.self_range.high += without_samples_[side] - (of.amounts ? of.amounts->without_samples : 0);
    return figures;
  }

  // What a change is of: the time of samples, executions, or what functions that begin there took.
  bool is_of_time() const { return difference_->timed && (*is_sampled_ || !has_executions_); }
  double main_amount(const Figures& figures, size_t side) const {
    const size_t runs = difference_->sides[side].runs;
    return is_of_time() ? figures.self.mean(runs) : figures.calls.mean(runs);
  }

  // None if nothing is compared.
  std::optional<Change> change_of(const FileOfTwo& file, const LineOfTwo& line) const {
    if (!file.is_compared()) return {};
    const auto& [a, b] = line.sides;
    if (!a.amounts && !b.amounts) return {};
    if (!is_of_time() && has_executions_)
      for (size_t s = 0; s < 2; ++s)
        if (!is_counted_[s] || !line.sides[s].is_counted) return {};
    const std::array<Figures, 2> figures = {figures_of(line, 0), figures_of(line, 1)};
    const Change change = is_of_time() ? difference_->self(figures) : difference_->calls(figures);
    if (change.first == 0 && change.second == 0) return {};
    return change;
  }

  // Parts of a second, or executions, are what numbers are of that are packed.
  double scale() const { return is_of_time() ? 1e12 : 1; }
  static double heat(const std::optional<Change>& change) {
    return change && change->is_known ? std::abs(change->amount()) : 0;
  }
  static uint64_t colour(const std::optional<Change>& change) {
    if (!change) return 0;
    if (!change->is_known || change->amount() == 0) return 1;
    const double part = std::abs(change->amount()) / std::max(change->first, change->second);
    const auto strength = uint64_t(std::clamp(std::ceil(4 * std::sqrt(std::min(2 * part, 1.0))), 1.0, 4.0));
    return (change->amount() > 0 ? 1 : 5) + strength;
  }

  std::vector<std::string> titles() const {
    const std::string count = has_executions_ ? "Executions" : "Calls";
    std::vector<std::string> titles = {count + " A", count + " B"};
    if (difference_->timed) titles.insert(titles.end(), {"Self A", "Self B"});
    titles.emplace_back("Change");
    return titles;
  }

  std::string count_cell(const FileOfTwo& file, const LineOfTwo& line, size_t s) const {
    const SideOfLine& side = line.sides[s];
    if (!file.sides[s].has_code) return "";
    if (!file.is_shown[s]) return "-";
    const double calls = side.amounts ? figures_of(line, s).calls.mean(difference_->sides[s].runs) : 0;
    if (!has_executions_) {
      if (!side.has_functions) return "";
      const bool is_doubtful = side.amounts && side.amounts->figures.has_doubtful_calls;
      return (is_doubtful ? "?" : side.has_estimated_calls ? "~" : "") + count_text(calls);
    }
    if (!side.has_code) return "";
    if (!is_counted_[s] || !side.is_counted) return "-";
    return calls == 0 ? "#####" : (side.is_exact ? "" : "~") + count_text(calls);
  }

  std::string self_cell(const FileOfTwo& file, const LineOfTwo& line, size_t s) const {
    const SideOfLine& side = line.sides[s];
    if (!file.sides[s].has_code) return "";
    if (!file.is_shown[s]) return "-";
    if (!side.amounts) return "";
    const double self = side.amounts->figures.self.mean(difference_->sides[s].runs);
    return (*is_sampled_ ? self > 0 : side.has_functions) ? duration(self) : "";
  }

  std::string change_cell(const FileOfTwo& file, const LineOfTwo& line) const {
    const std::optional<Change> change = change_of(file, line);
    if (!change) return "";
    if (is_of_time()) return duration_change(*change);
    const double amount = change->amount();
    return marked(*change, (amount < 0 ? "-" : amount > 0 ? "+" : "") + count_text(std::abs(amount)));
  }

  std::string ran(const FileOfTwo& file) const {
    std::string text;
    for (size_t s = 0; s < 2; ++s) {
      if (!file.is_shown[s] || !is_counted_[s]) continue;
      size_t with_code = 0, ran = 0;
      for (const auto& [number, line] : file.lines) {
        const SideOfLine& side = line.sides[s];
        if (!side.has_code || !side.is_counted) continue;
        ++with_code;
        ran += side.amounts && side.amounts->executions.mean(1) != 0;
      }
      text += (text.empty() ? "" : ", ") + std::to_string(ran) + " of " + prof_text::count_of(with_code, "line") +
              " with code ran in " + (s == 0 ? "A" : "B");
    }
    return text;
  }

  ordered_json document() {
    ordered_json files = ordered_json::array();
    for (const std::string& path : order_) files.push_back(document_of(path, files_[path]));
    std::vector<std::string> remarks;
    for (const std::string& remark : remarks_) remarks.push_back(printable(remark));
    if (const std::string remark = room_.remark(); !remark.empty()) remarks.push_back(remark);
    return {{"titles", titles()}, {"remarks", remarks}, {"files", std::move(files)}};
  }

  ordered_json document_of(const std::string& path, FileOfTwo& file) {
    ordered_json cells = ordered_json::array(), selves = ordered_json::array();
    for (const auto& [number, line] : file.lines) {
      std::vector<std::string> of_line = {count_cell(file, line, 0), count_cell(file, line, 1)};
      if (difference_->timed) of_line.insert(of_line.end(), {self_cell(file, line, 0), self_cell(file, line, 1)});
      of_line.push_back(change_cell(file, line));
      cells.push_back(std::move(of_line));
    }
    for (size_t s = 0; s < 2 && difference_->timed; ++s) {
      double self = 0;
      for (const auto& [number, line] : file.lines)
        if (line.sides[s].amounts) self += line.sides[s].amounts->figures.self.mean(difference_->sides[s].runs);
      selves.push_back(file.sides[s].has_code ? file.is_shown[s] ? duration(self) : "-" : "");
    }
    ordered_json kept;
    bool is_cut = false;
    if (const std::vector<std::string>* lines = text(path, file.text_of)) {
      std::string fits = room_.as_much_as_fits(*lines, is_cut);
      kept_[path] = size_t(std::ranges::count(fits, '\n'));
      if (!is_cut || !fits.empty()) kept = std::move(fits);
    }
    return {{"path", printable(path)},  {"selves", std::move(selves)}, {"ran", ran(file)},
            {"note", file.note},        {"text", std::move(kept)},     {"cut", is_cut},
            {"cells", std::move(cells)}};
  }

  // Where each function of the difference begins: in B, or else in A, if that side's lines are shown there.
  void pack_functions(Packed& packed) {
    std::map<std::string, uint32_t> numbers;
    for (const std::string& path : order_) numbers[path] = uint32_t(numbers.size() + 1);
    std::vector<std::pair<uint32_t, uint32_t>> places(difference_->functions.size());
    for (size_t s = 0; s < 2; ++s)
      for (uint32_t n = 0; n < places_[s].size(); ++n) {
        const auto& [path, line] = places_[s][n];
        const auto file = files_.find(path);
        if (file == files_.end() || !file->second.is_shown[s]) continue;
        if (line <= kept_[path] || file->second.lines.contains(line))
          places[s == 0 ? n : difference_->numbers_of_b[n]] = {numbers[path], line};
      }
    column(packed, "functions.file", places, [](const auto& place) { return place.first; });
    column(packed, "functions.line", places, [](const auto& place) { return place.second; });
  }

  std::map<std::string, FileOfTwo> files_;  // by path
  std::array<std::optional<SourceText>, 2> texts_;
  std::array<std::vector<PlaceOfFunction>, 2> places_;  // by number of the function on that side
  std::array<bool, 2> is_counted_ = {};                 // blocks were, in any run
  std::array<double, 2> without_samples_ = {};  // seconds that lines without samples may have had in each run, added up
  bool has_executions_ = false;
  std::optional<bool> is_sampled_;  // times of lines are of samples; none: there is no run
  const Difference* difference_ = nullptr;
  std::vector<std::string> remarks_, not_compared_, of_copies_;
  std::vector<std::string> order_;      // of the files, in the page
  std::map<std::string, size_t> kept_;  // by path: lines of its text, once that is in the document
  Room room_;
};

ComparedSources::ComparedSources() : packing_(std::make_unique<Packing>()) {}
ComparedSources::ComparedSources(ComparedSources&&) noexcept = default;
ComparedSources& ComparedSources::operator=(ComparedSources&&) noexcept = default;
ComparedSources::~ComparedSources() = default;

void ComparedSources::add(size_t side, const Analysis& analysis, const std::vector<uint32_t>& numbers,
                          const Annotation& annotation, SourceText text, const std::vector<std::string>& remarks) {
  packing_->add(side, analysis, numbers, annotation, std::move(text), remarks);
}
std::vector<std::string> ComparedSources::settle(const Difference& difference) { return packing_->settle(difference); }
void ComparedSources::pack(Packed& packed) { packing_->pack(packed); }

}  // namespace prof
