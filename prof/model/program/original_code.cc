#include "original_code.h"

#include <algorithm>

#include "object.h"
#include "prof/read/code_bytes.h"
#include "prof/read/error.h"
#include "prof/read/file.h"
#include "prof/read/instructions.h"

namespace prof {

namespace {

constexpr const char* kCode = ".text";

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

bool has_code(const ElfFile& file) { return file.has_section(kCode); }

}  // namespace

OriginalCode::OriginalCode(const Object& object, const DebugSearch& search) : object_(object) {
  const std::vector<ElfFile>& files = object.files();
  const auto own = std::find_if(files.begin(), files.end(),
                                [](const ElfFile& file) { return !file.is_rewritten() && has_code(file); });
  if (own != files.end()) {
    file_ = &*own;
  } else if (!files.empty()) {
    if (std::optional<ElfFile> found = find_original(object, search)) found_.emplace(std::move(*found));
    file_ = found_ ? &*found_ : has_code(files[0]) ? files.data() : nullptr;
  }
  is_original_ = file_ && !file_->is_rewritten();
  for (const prof_format::MapEntry& entry : object.copies())
    if (!object.import_name(entry.function)) ranges_.insert({entry.function, {entry.original, entry.original_size}});
  if (file_) got_ = names_in_got(*file_);
}

std::optional<ElfFile> find_original(const Object& object, const DebugSearch& search) {
  const ElfFile& copy = object.files()[0];
  const std::string path = copy.path();
  std::vector<std::string> places;
  if (path.ends_with(".prof")) places.push_back(path.substr(0, path.size() - 5));
  for (const std::vector<std::string>* folders : {&search.beside, &search.folders})
    for (const std::string& folder : *folders) places.push_back(folder + "/" + base_name(object.name()));
  places.push_back(object.path());
  places.push_back(folder_of(path) + "/" + base_name(object.name()));
  places.push_back(base_name(object.name()));
  // A copy that prof run --libs made lies at the original's path below a folder of its own.
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    places.push_back(path.substr(slash));
  for (const std::string& place : places) {
    try {
      ElfFile file(place);
      const bool is_same = copy.original_build_id().empty()
                               ? file.build_id().empty() && file.section_size(kCode) == copy.section_size(kCode)
                               : file.build_id() == copy.original_build_id();
      if (is_same && !file.is_rewritten() && has_code(file)) return file;
    } catch (const Error&) {
      // another place may have it
    }
  }
  return {};
}

std::optional<int64_t> OriginalCode::time_made() const { return file_ ? time_of_change(file_->path()) : std::nullopt; }

std::string OriginalCode::bytes(uint64_t address, uint64_t size) const {
  return file_ ? code_at(*file_, address, size) : "";
}

std::vector<CodeRange> OriginalCode::ranges_of(uint64_t entry) const {
  std::vector<CodeRange> found;
  const auto [begin, end] = ranges_.equal_range(entry);
  for (auto at = begin; at != end; ++at) found.push_back(at->second);
  std::sort(found.begin(), found.end(), [](const CodeRange& a, const CodeRange& b) { return a.start < b.start; });
  if (!found.empty()) return found;
  const Symbol* symbol = object_.symbols().find(entry);
  if (symbol && symbol->size > entry - symbol->address)
    found.push_back({entry, symbol->size - (entry - symbol->address)});
  return found;
}

std::string OriginalCode::import_at(uint64_t address) const {
  if (const std::string* name = object_.import_name(address)) return *name;
  if (const auto at = got_.find(address); at != got_.end()) return at->second;
  // A stub jumps to what a word of the GOT says, behind an ENDBR64 and a number maybe; or it loads that into r11, for a
  // retpoline (linker-rewrite/program/imports.cc).
  constexpr uint64_t kStub = 16;
  constexpr std::string_view kWordToR11 = "\x4c\x8b\x1d";
  const std::string stub = bytes(address, kStub);
  const bool is_retpoline = stub.starts_with(kWordToR11);
  for (const Instruction& i : decode_instructions(stub, address)) {
    if (i.transfer == Transfer::none && !i.memory) continue;
    const bool leads_there = is_retpoline || i.transfer == Transfer::jump_indirect;
    const auto at = i.memory && leads_there ? got_.find(*i.memory) : got_.end();
    return at == got_.end() ? "" : at->second;
  }
  return "";
}

}  // namespace prof
