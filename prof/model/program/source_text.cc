#include "source_text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "prof/read/file.h"

namespace prof {

namespace {

constexpr uintmax_t kMax = 256 << 20;  // bytes of a source
constexpr size_t kTabStop = 8;
constexpr size_t kMaxNamed = 3;
constexpr char kMaybeAtOtherLines[] = "numbers may stand at lines that they are not of; build the program again";

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
  if (!std::filesystem::is_regular_file(path, e) || std::filesystem::file_size(path, e) > kMax) return {};
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

bool SourceText::look_at(const std::string& place, File& file) {
  file.lines = read(place);
  if (file.lines) file.changed = time_of_change(place);
  return file.lines.has_value();
}

const std::vector<std::string>* SourceText::lines(const std::string& path) {
  const auto [at, is_new] = files_.try_emplace(path);
  File& file = at->second;
  if (is_new && !look_at(path, file)) {
    for (const std::string& folder : folders_) {
      // All of the path, then without its first part, and so on.
      for (size_t start = 0; !file.lines && start < path.size();) {
        look_at(folder + "/" + path.substr(start), file);
        const size_t slash = path.find('/', start);
        if (slash == std::string::npos) break;
        start = slash + 1;
      }
    }
  }
  return file.lines ? &*file.lines : nullptr;
}

std::optional<int64_t> SourceText::time_changed(const std::string& path) {
  lines(path);
  return files_[path].changed;
}

void SourceText::note_program(const std::string& path, uint32_t last_line, std::optional<int64_t> made) {
  lines(path);
  File& file = files_[path];
  file.is_newer = file.is_newer || (file.changed && made && *file.changed > *made);
  file.last_line = std::max(file.last_line, last_line);
}

namespace {

// "a.c, b.c, c.c and 2 more: the sources are"; "" for none.
std::string sources_are(const std::vector<std::string>& paths) {
  std::string text;
  for (size_t i = 0; i < std::min(paths.size(), kMaxNamed); ++i) text += (i ? ", " : "") + paths[i];
  if (paths.size() > kMaxNamed) text += " and " + std::to_string(paths.size() - kMaxNamed) + " more";
  return paths.empty() ? "" : text + (paths.size() == 1 ? ": the source is" : ": the sources are");
}

}  // namespace

std::vector<std::string> SourceText::remarks(bool of_missing) const {
  std::vector<std::string> missing, newer, short_ones, remarks;
  for (const auto& [path, file] : files_) {
    if (!file.lines) {
      if (of_missing) missing.push_back(path);
    } else if (file.is_newer) {
      newer.push_back(path);
    } else if (file.last_line > file.lines->size()) {
      short_ones.push_back(path);
    }
  }
  if (std::string text = sources_are(missing); !text.empty()) {
    text += " not there";
    for (size_t i = 0; i < folders_.size(); ++i) text += (i == 0 ? ", nor below " : ", ") + folders_[i];
    remarks.push_back(text);
  }
  if (const std::string text = sources_are(newer); !text.empty())
    remarks.push_back(text + " newer than the program; " + kMaybeAtOtherLines);
  if (const std::string text = sources_are(short_ones); !text.empty())
    remarks.push_back(text + " shorter than when the program was made; " + kMaybeAtOtherLines);
  return remarks;
}

}  // namespace prof
