#include "inlined.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "analysis.h"
#include "symbols.h"

namespace prof {

namespace {

constexpr const char* kSection = ".debug_info";

}  // namespace

ObjectDebugInfo::ObjectDebugInfo(const Object& object, const DebugSearch& search) {
  const std::vector<ElfFile>& files = object.files();
  const auto own =
      std::find_if(files.begin(), files.end(), [](const ElfFile& file) { return file.has_section(kSection); });
  if (own != files.end()) open(*own, search);
  if (own != files.end() || files.empty()) return;
  std::vector<std::string> ignored;  // who reads names says it
  DebugFile found = find_debug_file(files[0], search, ignored);
  if (found.file && found.file->has_section(kSection)) {
    debug_file_.emplace(std::move(*found.file));
    open(*debug_file_, search);
    return;
  }
  if (files[0].lacks_bytes_of(kSection)) {
    problem_ =
        "its debug information is gone with " + files[0].path() + "; name the program: prof --inlined PROGRAM PROFILE";
    return;
  }
  problem_ = "there is no debug information; compile with -g";
  if (!found.expected.empty()) problem_ += ", or have its debug file at " + found.expected;
}

void ObjectDebugInfo::open(const ElfFile& file, const DebugSearch& search) {
  size_ = file.section_size(kSection);
  auto info = std::make_unique<DebugInfo>(file);
  if (const DwzLink link = info->dwz_link(); !link.build_id.empty()) {
    // Without it libdw would look for the file by itself, and use whatever it finds.
    std::optional<ElfFile> found = find_dwz_file(file, link, search);
    if (!found) {
      problem_ = "a part of its debug information, which dwz moved to " + link.name + ", is not there";
      return;
    }
    dwz_file_.emplace(std::move(*found));
    info->set_dwz_file(*dwz_file_);
  }
  info_ = std::move(info);
}

std::optional<FunctionSource> ObjectDebugInfo::find(uint64_t entry, uint64_t most_bytes) {
  if (!info_ || size_ > most_bytes) return {};
  return info_->find(entry);
}

const LineTable& ObjectDebugInfo::lines_at(uint64_t address) {
  static const LineTable none;
  return info_ ? info_->lines_at(address) : none;
}

void find_sources(Analysis& analysis, const DebugSearch& search) {
  std::map<uint32_t, ObjectDebugInfo> objects;
  const std::vector<Function>& functions = analysis.functions.functions();
  analysis.sources.assign(functions.size(), {});
  for (uint32_t f = 0; f < functions.size(); ++f) {
    const Object& object = analysis.functions.objects()[functions[f].object];
    if (functions[f].is_import || object.files().empty() || !occurs(analysis, f)) continue;
    const auto [at, is_new] = objects.try_emplace(functions[f].object, object, search);
    if (is_new && !at->second.problem().empty())
      analysis.remarks.push_back(object.name() + ": " + at->second.problem());
    if (std::optional<FunctionSource> source = at->second.find(functions[f].address)) {
      for (InlinedFunction& inlined : source->inlined)
        inlined.name = analysis.functions.name_of(inlined.raw_name, object);
      analysis.sources[f] = std::move(*source);
    }
  }
}

std::string remark_on_inlining(const Analysis& analysis, const DebugSearch& search) {
  constexpr uint64_t kQuicklyRead = 64 << 20;
  double all = 0;
  uint32_t top = 0;
  for (uint32_t f = 0; f < analysis.sums.size(); ++f) {
    all += double(analysis.sums[f].self);
    if (analysis.sums[f].self > analysis.sums[top].self) top = f;
  }
  if (!analysis.timed || all <= 0 || double(analysis.sums[top].self) <= all / 2) return "";
  const Function& function = analysis.functions.functions()[top];
  const Object& object = analysis.functions.objects()[function.object];
  if (function.is_import || object.files().empty()) return "";
  const std::optional<FunctionSource> source = ObjectDebugInfo(object, search).find(function.address, kQuicklyRead);
  if (!source || source->inlined.empty()) return "";
  const size_t count = source->inlined.size();
  char share[40];
  std::snprintf(share, sizeof share, " is %.0f %%: ", 100 * double(analysis.sums[top].self) / all);
  return analysis.functions.name_with_module(function) + share + std::to_string(count) +
         (count == 1 ? " function was" : " functions were") + " inlined into it; prof --inlined lists " +
         (count == 1 ? "it" : "them");
}

}  // namespace prof
