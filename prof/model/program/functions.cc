#include "functions.h"

#include <utility>

#include "linker-rewrite/names/demangle.h"
#include "linker-rewrite/names/parts.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/read/debug_info.h"

namespace prof {

FunctionTable::FunctionTable(Object program, bool raw_names, DebugSearch search)
    : raw_names_(raw_names), search_(std::move(search)) {
  objects_.push_back(std::move(program));
}

std::string FunctionTable::name_with_module(const Function& function) const {
  const Object& object = objects_[function.object];
  const bool is_of_library = object.kind() == Object::Kind::library && !object.is_missing();
  return is_of_library ? function.name + " [" + object.name() + "]" : function.name;
}

prof_names::Name FunctionTable::name_for_patterns(const Function& function) const {
  return prof_names::Name(function.raw_name, objects_[function.object].symbols().languages());
}

uint32_t FunctionTable::at(uint32_t object, uint64_t entry) {
  auto [at, is_new] = function_index_.try_emplace({object, entry}, uint32_t(functions_.size()));
  if (!is_new) return at->second;
  const Object& file = objects_[object];
  if (const std::string* name = file.import_name(entry)) return at->second = import(*name, entry, file);
  Function f{object, entry,
             file.is_missing() ? file.name() + "+" + prof_text::hexadecimal(entry)
                               : "#" + prof_text::hexadecimal_digits(entry),
             ""};
  if (const Symbol* symbol = file.symbols().find(entry)) {
    const std::string offset = symbol->address == entry ? "" : "+" + prof_text::hexadecimal(entry - symbol->address);
    f.raw_name = symbol->name + offset;
    f.name = name_of(symbol->name, file) + offset;
  } else {
    f.raw_name = f.name;
    f.has_name = false;
  }
  functions_.push_back(std::move(f));
  return at->second;
}

std::string FunctionTable::name_of(const std::string& symbol, const Object& file) const {
  if (raw_names_) return symbol;
  const std::string name = prof_names::demangled(symbol, file.symbols().languages());
  return whole_names_ ? name : prof_names::simplified(name);
}

uint32_t FunctionTable::import(const std::string& name, uint64_t entry, const Object& file) {
  auto [at, is_new] = import_index_.try_emplace(name, uint32_t(functions_.size()));
  if (is_new) {
    const std::string shown = name_of(name, file);  // before the table of files grows
    Function f{object_without_file("[libraries]"), entry, shown, name};
    f.is_import = true;
    functions_.push_back(std::move(f));
  }
  return at->second;
}

uint32_t FunctionTable::inlined(uint32_t object, const InlinedFrame& frame) {
  // Functions of one name may be several, of several files.
  auto [at, is_new] =
      inlined_index_.try_emplace({object, frame.raw_name, frame.file, frame.line}, uint32_t(functions_.size()));
  if (is_new)
    functions_.push_back({.object = object,
                          .address = 0,
                          .name = name_of(frame.raw_name, objects_[object]) + ' ' + std::string(prof_names::kInlined),
                          .raw_name = frame.raw_name,
                          .has_calls = false,
                          .is_inlined = true,
                          .file = frame.file,
                          .line = frame.line});
  return at->second;
}

uint32_t FunctionTable::library(const Module& module) {
  const std::string& key = module.build_id.empty() ? module.path : module.build_id;
  auto [at, is_new] = library_index_.try_emplace(key, uint32_t(objects_.size()));
  if (is_new) {
    objects_.push_back(open_library(module, program().undefined_names(), search_, remarks_));
    // Samples of the program as it is know the library as it was before it was rewritten.
    const std::string& original = objects_.back().original_build_id();
    if (!original.empty()) library_index_.try_emplace(original, at->second);
  }
  return at->second;
}

uint32_t FunctionTable::unknown_object() {
  if (unknown_object_ == 0) {
    unknown_object_ = uint32_t(objects_.size());
    objects_.emplace_back("unknown", Object::Kind::no_file);
  }
  return unknown_object_;
}

uint32_t FunctionTable::unknown_function(uint32_t object) {
  auto [at, is_new] = function_index_.try_emplace({object, UINT64_MAX}, uint32_t(functions_.size()));
  if (is_new) functions_.push_back({object, 0, "[unknown]", "[unknown]"});
  return at->second;
}

uint32_t FunctionTable::uncounted(uint32_t object, uint64_t address) {
  const std::optional<uint64_t> entry = objects_[object].entry_of_original(address);
  const uint32_t function = entry ? at(object, *entry) : unknown_function(object);
  set_uncounted(function);
  return function;
}

uint32_t FunctionTable::object_without_file(const std::string& name) {
  auto [at, is_new] = library_index_.try_emplace(name, uint32_t(objects_.size()));
  if (is_new) objects_.emplace_back(name, Object::Kind::no_file);
  return at->second;
}

uint32_t FunctionTable::nameless_code(const std::string& name) {
  const uint32_t object = object_without_file(name);
  auto [at, is_new] = function_index_.try_emplace({object, UINT64_MAX}, uint32_t(functions_.size()));
  if (is_new)
    functions_.push_back({.object = object, .address = 0, .name = name, .raw_name = name, .has_calls = false});
  return at->second;
}

uint32_t Resolver::find_hook(uint64_t pc) {
  if (!are_instructions_) return find(pc);
  for (size_t i = 0; i < modules_.size(); ++i) {
    const Module& module = modules_[i];
    if (pc <= module.start || pc > module.end) continue;
    const uint32_t object = is_program(i) ? 0 : table_.library(module);
    return table_.at(object, table_.objects()[object].entry_of(pc - 1 - module.bias));
  }
  return table_.at(table_.unknown_object(), pc);
}

uint32_t Resolver::look_up(uint64_t pc) {
  const uint64_t call = are_instructions_ ? pc : pc - 1;  // the last byte of `call _profin`: surely inside the copy
  for (size_t i = 0; i < modules_.size(); ++i) {
    const Module& module = modules_[i];
    if (call < module.start || call >= module.end) continue;
    const uint32_t object = is_program(i) ? 0 : table_.library(module);
    if (are_instructions_) return look_up_instruction(object, call - module.bias);
    return table_.at(object, table_.objects()[object].entry_of(call - module.bias));
  }
  if (are_instructions_) return table_.nameless_code("[anonymous]");
  return table_.at(table_.unknown_object(), pc);
}

uint32_t Resolver::look_up_instruction(uint32_t object, uint64_t address) {
  const std::vector<ElfFile>& files = table_.objects()[object].files();
  if (!files.empty()) address = steps_.try_emplace(object, files[0]).first->second.original(address);
  return table_.uncounted(object, address);
}

}  // namespace prof
