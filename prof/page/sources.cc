#include "sources.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "libprof/printable.h"
#include "linker-rewrite/text/count.h"
#include "prof/views/code/code_views.h"
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
  // How long a line took, in cycles; where no samples tell, how often it ran; or else how long the functions that begin there took.
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
    if (left_out_ != 0)
      remarks.push_back(
          "the page has " + std::to_string(kMaxText >> 20) + " MB of source, of the files with most time; " +
          prof_text::count_of(left_out_, "file is", "files are") + " cut off or left out; prof --annotate shows all");
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
      const std::string kept = as_much_as_fits(*lines, is_cut);
      kept_[at] = size_t(std::ranges::count(kept, '\n'));
      if (is_cut) ++left_out_;
      if (!is_cut || !kept.empty()) text = kept;
    }
    return {{"path", printable(file.path)},
            {"self", texts_.self(self)},
            {"ran", texts_.lines_that_ran(file)},
            {"text", std::move(text)},
            {"cut", is_cut},
            {"cells", std::move(cells)}};
  }

  // Lines, each with a newline.
  std::string as_much_as_fits(const std::vector<std::string>& lines, bool& is_cut) {
    std::string text;
    for (const std::string& line : lines) {
      const std::string shown = printable_source(line) + '\n';
      is_cut = is_cut || room_ < shown.size();
      if (is_cut) break;
      room_ -= shown.size();
      text += shown;
    }
    if (is_cut) room_ = 0;  // not the small files after it: what there is, is a beginning
    return text;
  }

  static uint64_t as_signed(uint64_t n) { return n << 1 ^ uint64_t(int64_t(n) >> 63); }

  template <class Items, class Of>
  static void column(Packed& packed, const char* name, const Items& items, const Of& of) {
    packed.column(name, items.size());
    for (const auto& item : items) packed.number(of(item));
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
  size_t room_ = kMaxText, left_out_ = 0;
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

}  // namespace prof
