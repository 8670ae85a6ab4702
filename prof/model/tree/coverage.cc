#include "coverage.h"

#include <cstring>
#include <optional>

namespace prof {

namespace {

// What is damaged is taken to be absent.
std::optional<prof_format::CodeCoverage> read_coverage(const ElfFile& file) {
  const std::string_view bytes = file.section(prof_format::kCoverageSection);
  prof_format::CodeCoverage code;
  if (bytes.size() < sizeof code) return {};
  std::memcpy(&code, bytes.data(), sizeof code);
  if (std::memcmp(code.magic, prof_format::kCoverageMagic, sizeof code.magic) != 0) return {};
  constexpr uint64_t kMax = uint64_t(1) << 40;  // bytes; so that sums have room
  for (uint64_t bytes_of : {code.hooked, code.stays, code.not_chosen, code.stubs, code.padding, code.unknown})
    if (bytes_of > kMax) return {};
  return code;
}

}  // namespace

std::vector<ModuleCoverage> low_coverages(const Recorded& recorded) {
  std::vector<ModuleCoverage> found;
  if (!recorded.has_hooks()) return found;
  for (const Object& object : recorded.functions.objects()) {
    if (!object.is_rewritten()) continue;
    if (const auto code = read_coverage(object.files()[0]); code && code->hooked + code->stays + code->unknown != 0)
      found.push_back({object.name(), *code});
  }
  return found;
}

}  // namespace prof
