#include "functions.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "prof/read/error.h"

namespace prof {

namespace {

// Where distributions put symbols that were stripped off, by the build-id of what they were stripped from.
std::string debug_file_path(const std::string& build_id) {
  if (build_id.size() < 2) return "";
  const std::string digits = hexadecimal(build_id);
  return "/usr/lib/debug/.build-id/" + digits.substr(0, 2) + "/" + digits.substr(2) + ".debug";
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// profld's default name for the copy of `lua` is `lua.prof`.
std::string original_name(const std::string& path) {
  std::string name = base_name(path);
  if (name.size() > 5 && name.ends_with(".prof")) name.resize(name.size() - 5);
  return name;
}

// Whether two files may be the same by their build-ids. Nothing speaks against it if one of them has none.
bool may_be_same(const std::string& build_id, const std::string& other) {
  return build_id.empty() || other.empty() || build_id == other;
}

std::string hex_name(uint64_t address) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), digits[address & 15]);
    address >>= 4;
  } while (address);
  return text;
}

}  // namespace

std::string Object::set_rewritten(ElfFile rewritten) {
  map_ = rewritten.map();
  imports_ = rewritten.imports();
  undefined_names_ = rewritten.undefined_names();
  starts_ = rewritten.unwind_starts();
  original_build_id_ = rewritten.is_rewritten() ? rewritten.original_build_id() : rewritten.build_id();
  const std::string debug = debug_file_path(original_build_id_);
  add_symbols(std::move(rewritten));
  if (debug.empty() || access(debug.c_str(), R_OK) != 0) return "";
  try {
    add_symbols(ElfFile(debug));
  } catch (const Error& e) {
    return e.what();  // names are missing, nothing else
  }
  return "";
}

void Object::add_symbols(ElfFile file) { files_.push_back(std::move(file)); }

void Object::finish(const std::set<std::string, std::less<>>& used) {
  for (const ElfFile& file : files_) symbols_.add(file);
  symbols_.finish(used);
  by_original_ = map_;
  std::sort(by_original_.begin(), by_original_.end(),
            [](const prof_format::MapEntry& a, const prof_format::MapEntry& b) { return a.original < b.original; });
}

std::optional<uint64_t> Object::entry_of_original(uint64_t address) const {
  auto after = std::upper_bound(by_original_.begin(), by_original_.end(), address,
                                [](uint64_t a, const prof_format::MapEntry& entry) { return a < entry.original; });
  if (after != by_original_.begin()) {
    const prof_format::MapEntry& entry = *(after - 1);
    if (address - entry.original < entry.original_size) return entry.function;
  }
  if (const Symbol* symbol = symbols_.find(address)) return symbol->address;
  auto next = std::upper_bound(starts_.begin(), starts_.end(), address);
  if (next == starts_.begin()) return {};
  return *std::prev(next);
}

bool Object::is_counted(uint64_t entry) const {
  const auto at = std::lower_bound(by_original_.begin(), by_original_.end(), entry,
                                   [](const prof_format::MapEntry& e, uint64_t a) { return e.original < a; });
  return at != by_original_.end() && at->original == entry && at->function == entry;
}

const std::string* Object::import_name(uint64_t entry) const {
  const auto at = imports_.find(entry);
  return at != imports_.end() ? &at->second : nullptr;
}

uint64_t Object::entry_of(uint64_t address) const {
  auto after = std::upper_bound(map_.begin(), map_.end(), address,
                                [](uint64_t a, const prof_format::MapEntry& entry) { return a < entry.copy; });
  if (after != map_.begin()) {
    const prof_format::MapEntry& entry = *(after - 1);
    if (address - entry.copy < entry.copy_size) return entry.function;
  }
  const Symbol* symbol = symbols_.find(address);
  return symbol ? symbol->address : address;
}

Object open_program(const Profile& profile, const std::string& given, std::vector<std::string>& remarks) {
  if (profile.modules().empty()) {
    throw Error(profile.path() + ": the profile does not say which program it is of" +
                (profile.damage().empty() ? "" : "; it is damaged: " + profile.damage()[0]));
  }
  const Module& module = profile.modules()[0];
  auto check = [&](const ElfFile& rewritten) {
    if (!rewritten.is_rewritten()) {
      throw Error(rewritten.path() + ": was not rewritten by profld, so it is not the program of " + profile.path());
    }
    if (!may_be_same(rewritten.build_id(), module.build_id)) {
      throw Error(rewritten.path() + ": is not the program of " + profile.path() + ": its build-id is " +
                  hexadecimal(rewritten.build_id()) + ", the profile's is " + hexadecimal(module.build_id));
    }
  };
  auto set_rewritten = [&](Object& object, ElfFile rewritten) {
    if (std::string remark = object.set_rewritten(std::move(rewritten)); !remark.empty()) remarks.push_back(remark);
  };
  auto open_recorded = [&](const char* advice) {
    try {
      return ElfFile(module.path);
    } catch (const Error& e) {
      throw Error(std::string(e.what()) + advice);
    }
  };

  if (given.empty()) {
    Object object(original_name(module.path));
    ElfFile rewritten = open_recorded("; if the profiled program was moved, name it: prof PROGRAM PROFILE");
    check(rewritten);
    set_rewritten(object, std::move(rewritten));
    object.finish();
    return object;
  }
  ElfFile file(given);
  Object object(original_name(given));
  if (file.is_rewritten()) {
    check(file);
    set_rewritten(object, std::move(file));
  } else {
    ElfFile rewritten = open_recorded("; the rewritten program is needed to read its profile");
    check(rewritten);
    if (!may_be_same(file.build_id(), rewritten.original_build_id())) {
      throw Error(given + ": is not the program of " + profile.path() + ": its build-id is " +
                  hexadecimal(file.build_id()) + ", that of the original of " + module.path + " is " +
                  hexadecimal(rewritten.original_build_id()));
    }
    set_rewritten(object, std::move(rewritten));
    object.add_symbols(std::move(file));
  }
  object.finish();
  return object;
}

FunctionTable::FunctionTable(Object program, bool raw_names) : raw_names_(raw_names) {
  objects_.push_back(std::move(program));
}

uint32_t FunctionTable::at(uint32_t object, uint64_t entry) {
  auto [at, is_new] = function_index_.try_emplace({object, entry}, uint32_t(functions_.size()));
  if (is_new) {
    Function f{object, entry, "#" + hex_name(entry), ""};
    if (const std::string* import = objects_[object].import_name(entry)) {
      f.raw_name = *import;
      f.name = raw_names_ ? *import : demangled(import->c_str());
      f.is_import = true;
    } else if (const Symbol* symbol = objects_[object].symbols().find(entry)) {
      std::string offset = symbol->address == entry ? "" : "+0x" + hex_name(entry - symbol->address);
      f.raw_name = symbol->name + offset;
      f.name = raw_names_ ? f.raw_name : demangled(symbol->name) + offset;
    } else {
      f.raw_name = f.name;
    }
    functions_.push_back(std::move(f));
  }
  return at->second;
}

uint32_t FunctionTable::library(const Module& module) {
  const std::string& key = module.build_id.empty() ? module.path : module.build_id;
  auto [at, is_new] = library_index_.try_emplace(key, uint32_t(objects_.size()));
  if (is_new) {
    Object object(original_name(module.path));
    try {
      if (ElfFile file(module.path); may_be_same(file.build_id(), module.build_id)) {
        if (std::string remark = object.set_rewritten(std::move(file)); !remark.empty()) remarks_.push_back(remark);
      } else {
        remarks_.push_back(module.path + ": has changed since it was profiled; its functions have no names");
      }
    } catch (const Error& e) {
      remarks_.push_back(std::string(e.what()) + "; its functions have no names");
    }
    object.finish(program().undefined_names());
    objects_.push_back(std::move(object));
  }
  return at->second;
}

uint32_t FunctionTable::unknown_object() {
  if (unknown_object_ == 0) {
    unknown_object_ = uint32_t(objects_.size());
    objects_.emplace_back("unknown");
  }
  return unknown_object_;
}

uint32_t FunctionTable::unknown_function(uint32_t object) {
  auto [at, is_new] = function_index_.try_emplace({object, UINT64_MAX}, uint32_t(functions_.size()));
  if (is_new) functions_.push_back({object, 0, "[unknown]", "[unknown]"});
  return at->second;
}

uint32_t FunctionTable::nameless_code(const std::string& name) {
  auto [at, is_new] = library_index_.try_emplace(name, uint32_t(objects_.size()));
  if (is_new) objects_.emplace_back(name);
  auto [function, is_new_function] = function_index_.try_emplace({at->second, UINT64_MAX}, uint32_t(functions_.size()));
  if (is_new_function) functions_.push_back({at->second, 0, name, name});
  return function->second;
}

uint32_t Resolver::look_up(uint64_t pc) {
  const uint64_t call = pc - 1;  // the last byte of `call _profin`: surely inside the copy
  for (size_t i = 0; i < modules_.size(); ++i) {
    const Module& module = modules_[i];
    if (call < module.start || call >= module.end) continue;
    const uint32_t object = i == 0 ? 0 : table_.library(module);
    return table_.at(object, table_.objects()[object].entry_of(call - module.bias));
  }
  return table_.at(table_.unknown_object(), pc);
}

}  // namespace prof
