#include "inlined.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "analysis.h"
#include "original_code.h"
#include "symbols.h"

namespace prof {

namespace {

constexpr const char* kSection = ".debug_info";

}  // namespace

ObjectDebugInfo::ObjectDebugInfo(const Object& object, const DebugSearch& search, uint64_t most_bytes)
    : most_bytes_(most_bytes) {
  const std::vector<ElfFile>& files = object.files();
  const auto own = std::ranges::find_if(files, has_debug_info);
  if (own != files.end()) open(object, *own, search);
  if (own != files.end() || files.empty()) return;
  std::vector<std::string> ignored;  // who reads names says it
  DebugFile found = find_debug_file(files[0], search, ignored);
  if (found.file && has_debug_info(*found.file)) {
    debug_file_.emplace(std::move(*found.file));
    open(object, *debug_file_, search);
    return;
  }
  if (files[0].lacks_bytes_of(kSection)) {
    missing_ =
        "its debug information is gone with " + files[0].path() + "; name the program: prof --inlined PROGRAM PROFILE";
    return;
  }
  missing_ = "there is no debug information; compile with -g";
  if (!found.expected.empty()) missing_ += ", or have its debug file at " + found.expected;
}

void ObjectDebugInfo::open(const Object& object, const ElfFile& file, const DebugSearch& search) {
  if (std::max(file.section_size(kSection), file.section_size(".zdebug_info")) > most_bytes_) return;
  auto info = std::make_unique<DebugInfo>(file);
  if (file.is_rewritten() && info->file().is_split()) {
    // Beside the original there may be the files that it refers to.
    if (std::optional<ElfFile> original = find_original(object, search); original && has_debug_info(*original)) {
      info.reset();
      debug_file_.emplace(std::move(*original));
      return open(object, *debug_file_, search);
    }
  }
  if (const DwzLink link = info->file().dwz_link(); !link.build_id.empty()) {
    std::optional<ElfFile> found = find_dwz_file(file, link, search);
    if (!found) {
      unreadable_ = part_is_missing(link);
      return;
    }
    dwz_file_.emplace(std::move(*found));
    info->file().set_dwz_file(*dwz_file_);
  }
  info_ = std::move(info);
}

std::string ObjectDebugInfo::unreadable() const { return info_ ? info_->file().problem() : unreadable_; }

std::optional<FunctionSource> ObjectDebugInfo::find(uint64_t entry) {
  if (!info_) return {};
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
    const auto at = objects.try_emplace(functions[f].object, object, search).first;
    if (std::optional<FunctionSource> source = at->second.find(functions[f].address)) {
      for (InlinedFunction& inlined : source->inlined)
        inlined.name = analysis.functions.name_of(inlined.raw_name, object);
      analysis.sources[f] = std::move(*source);
    }
  }
  for (const auto& [o, info] : objects)
    if (const std::string problem = info.problem(); !problem.empty())
      analysis.remarks.push_back(analysis.functions.objects()[o].name() + ": " + problem);
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
  const std::optional<FunctionSource> source = ObjectDebugInfo(object, search, kQuicklyRead).find(function.address);
  if (!source || source->inlined.empty()) return "";
  const size_t count = source->inlined.size();
  char share[40];
  std::snprintf(share, sizeof share, " is %.0f %%: ", 100 * double(analysis.sums[top].self) / all);
  return analysis.functions.name_with_module(function) + share + std::to_string(count) +
         (count == 1 ? " function was" : " functions were") + " inlined into it; prof --inlined lists " +
         (count == 1 ? "it" : "them");
}

}  // namespace prof
