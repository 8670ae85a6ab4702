#include "object_debug_info.h"

#include <algorithm>

#include "object.h"
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
  const uint64_t bytes = std::max(file.section_size(kSection), file.section_size(".zdebug_info"));
  if (bytes > most_bytes_) {
    bytes_left_out_ = bytes;
    return;
  }
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

std::optional<FunctionSource> ObjectDebugInfo::find(uint64_t entry, const SamplesByAddress& samples) {
  if (!info_) return {};
  return info_->find(entry, samples);
}

const LineTable& ObjectDebugInfo::lines_at(uint64_t address) {
  static const LineTable none;
  return info_ ? info_->lines_at(address) : none;
}

}  // namespace prof
