#include "trace_names.h"

#include <algorithm>

#include "linker-rewrite/names/demangle.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/read/error.h"
#include "prof/read/file.h"

namespace prof {

struct TraceNames::File {
  explicit File(const std::string& path) : object(base_name(path), Object::Kind::library, path) {}

  Object object;
  std::unique_ptr<ObjectDebugInfo> debug_info;
};

namespace {}  // namespace

uint32_t TraceNames::file_of(const TraceModuleFile& module) {
  const auto [at, is_new] = file_index_.try_emplace({module.path, module.build_id}, uint32_t(files_.size()));
  if (!is_new) return at->second;
  files_.push_back(nullptr);
  const bool is_file = !module.path.empty() && module.path[0] != '[';
  module_names_.push_back(is_file ? base_name(module.path) : module.path);
  if (!is_file) return at->second;
  try {
    auto file = std::make_shared<File>(module.path);
    ElfFile elf(module.path);
    if (!may_be_same(elf.build_id(), module.build_id))
      throw Error(module.path +
                  ": is not the file that ran, so its functions have no names; put the file that ran there again");
    file->object.set_rewritten(std::move(elf));
    file->object.add_debug_file(search_, remarks_);
    file->object.finish();
    file->debug_info = std::make_unique<ObjectDebugInfo>(file->object, search_);
    files_.back() = std::move(file);
  } catch (const Error& e) {
    remarks_.emplace_back(e.what());
  }
  return at->second;
}

uint32_t TraceNames::function(uint32_t file, uint64_t entry, bool has_name) {
  const auto [at, is_new] = function_index_.try_emplace({file, entry}, uint32_t(functions_.size()));
  if (!is_new) return at->second;
  TracedFunction& f = functions_.emplace_back();
  f.module = file;
  f.entry = entry;
  f.name = module_names_[file];
  if (!f.name.starts_with('[')) f.name = "[" + f.name + "]";
  if (has_name) {
    const SymbolTable& symbols = files_[file]->object.symbols();
    const Symbol* symbol = symbols.find(entry);
    f.name = f.raw_name =
        symbol && symbol->address == entry ? symbol->name : "#" + prof_text::hexadecimal_digits(entry);
    if (!raw_names_) f.name = prof_names::simplified(prof_names::demangled(f.raw_name, symbols.languages()));
  }
  if (f.raw_name.empty()) f.raw_name = f.name;
  return at->second;
}

CodePlace TraceNames::place(const TraceMemory& memory, uint32_t process, uint64_t address) {
  TracePlace found;
  if (!memory.find(process, address, found)) return {function(0, 0, false), {}};
  const TraceModuleFile& module = memory.modules()[found.module];
  const uint32_t file = file_of(module);
  if (!files_[file]) return {function(file, 0, false), {}};
  const Object& object = files_[file]->object;
  std::optional<uint64_t> link;
  if (module.bias != prof_format::kUnknownBias) {
    link = address - module.bias;
  } else {
    link = object.files()[0].address_at(found.offset);
  }
  if (!link) return {function(file, 0, false), {}};
  const std::optional<uint64_t> entry = object.entry_of_original(*link);
  return {function(file, entry.value_or(0), entry.has_value()), link};
}

std::optional<SourceLine> TraceNames::line(const CodePlace& place) {
  const std::shared_ptr<File>& file = files_[functions_[place.function].module];
  if (!file || !file->debug_info || !place.address) return {};
  return file->debug_info->line_at(*place.address);
}

std::vector<std::string> TraceNames::remarks() const {
  std::vector<std::string> remarks = remarks_;
  for (const std::shared_ptr<File>& file : files_)
    if (const std::string problem = file && file->debug_info ? file->debug_info->unreadable() : ""; !problem.empty())
      remarks.push_back(file->object.path() + ": " + problem);
  return remarks;
}

prof_names::Name TraceNames::name_for_patterns(const TracedFunction& function) const {
  const std::shared_ptr<File>& file = files_[function.module];
  return prof_names::Name(function.raw_name, file ? file->object.symbols().languages() : prof_names::Languages());
}

}  // namespace prof
