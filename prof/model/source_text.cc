#include "source_text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace prof {

namespace {

constexpr uintmax_t kLargest = 256 << 20;  // bytes of a source
constexpr size_t kTabStop = 8;
constexpr size_t kMostNamed = 3;

std::string with_blanks(const std::string& line) {
  std::string text;
  for (const char c : line) {
    if (c == '\t')
      text.append(kTabStop - text.size() % kTabStop, ' ');
    else if (c != '\r')
      text += c;
  }
  return text;
}

std::optional<std::vector<std::string>> read(const std::string& path) {
  std::error_code e;
  if (!std::filesystem::is_regular_file(path, e) || std::filesystem::file_size(path, e) > kLargest) return {};
  std::ifstream in(path, std::ios::binary);
  if (!in) return {};
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(with_blanks(line));
  return lines;
}

}  // namespace

SourceText::SourceText(std::vector<std::string> folders) {
  for (std::string& folder : folders)
    if (std::find(folders_.begin(), folders_.end(), folder) == folders_.end()) folders_.push_back(std::move(folder));
}

const std::vector<std::string>* SourceText::lines(const std::string& path) {
  const auto [at, is_new] = files_.try_emplace(path);
  std::optional<std::vector<std::string>>& found = at->second;
  if (is_new) {
    found = read(path);
    for (const std::string& folder : folders_) {
      // All of the path, then without its first part, and so on.
      for (size_t start = 0; !found && start < path.size();) {
        found = read(folder + "/" + path.substr(start));
        const size_t slash = path.find('/', start);
        if (slash == std::string::npos) break;
        start = slash + 1;
      }
    }
  }
  return found ? &*found : nullptr;
}

std::string SourceText::remark() const {
  std::string names;
  size_t missing = 0;
  for (const auto& [path, lines] : files_) {
    if (lines) continue;
    ++missing;
    if (missing <= kMostNamed) names += (names.empty() ? "" : ", ") + path;
  }
  if (missing == 0) return "";
  if (missing > kMostNamed) names += " and " + std::to_string(missing - kMostNamed) + " more";
  std::string text = names + (missing == 1 ? ": the source is" : ": the sources are") + " not there";
  for (size_t i = 0; i < folders_.size(); ++i) text += (i == 0 ? ", nor below " : ", ") + folders_[i];
  return text;
}

}  // namespace prof
