#include "object.h"

#include <algorithm>
#include <filesystem>

#include "prof/read/error.h"
#include "prof/read/file.h"
#include "prof/read/skeleton.h"

namespace prof {

namespace {

// profld's default name for the copy of `lua` is `lua.prof`.
std::string original_name(const std::string& path) {
  std::string name = base_name(path);
  if (name.size() > 5 && name.ends_with(".prof")) name.resize(name.size() - 5);
  return name;
}

}  // namespace

void Object::set_rewritten(ElfFile rewritten) {
  map_ = rewritten.map();
  imports_ = rewritten.imports();
  undefined_names_ = rewritten.undefined_names();
  starts_ = rewritten.unwind_starts();
  is_rewritten_ = rewritten.is_rewritten();
  original_build_id_ = is_rewritten_ ? rewritten.original_build_id() : rewritten.build_id();
  add_symbols(std::move(rewritten));
}

void Object::add_symbols(ElfFile file) { files_.push_back(std::move(file)); }

void Object::add_debug_file(const DebugSearch& search, std::vector<std::string>& remarks) {
  auto has_symtab = [](const ElfFile& file) { return file.has_symtab(); };
  if (files_.empty() || std::any_of(files_.begin(), files_.end(), has_symtab)) return;
  DebugFile found = find_debug_file(files_[0], search, remarks);
  if (!found.file || !found.file->has_symtab()) {
    std::optional<ElfFile> packed = packed_symbols(files_[0]);
    lacks_symbols_ = !packed;
    if (packed) files_.push_back(std::move(*packed));
  }
  if (found.file) files_.push_back(std::move(*found.file));
  expected_debug_file_ = found.expected;
}

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
  if (const Symbol* symbol = symbols_.find_containing(address)) return symbol->address;
  auto next = std::upper_bound(starts_.begin(), starts_.end(), address);
  const std::optional<uint64_t> start = next == starts_.begin() ? std::nullopt : std::optional(*std::prev(next));
  const Symbol* last = symbols_.last_without_size(address);
  if (!last || (start && last->address <= *start)) return start;
  if (last->type != STT_NOTYPE) return last->address;
  // A label may lie within a function, unless the one before has ended: so does _start of the dynamic linker, which has
  // no unwind table.
  const Symbol* before = start ? symbols_.find(*start) : nullptr;
  const bool has_ended = before && before->size != 0 && before->address + before->size <= last->address;
  return has_ended ? last->address : start;
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

namespace {

// Whether functions of a module have calls, or its blocks counts: these are told by its map. Of samples by address one
// may have come while a program that was never rewritten ran between libraries that were.
bool is_counted_in(const Profile& profile, uint32_t index) {
  const Module& module = profile.modules()[index];
  if (std::ranges::any_of(profile.counters(), [&](const ModuleCounters& counted) { return counted.module == index; }))
    return true;
  if (profile.header().type == prof_format::kAddresses) return false;
  const auto is_inside = [&](const RecordedNode& node) { return node.pc > module.start && node.pc <= module.end; };
  return std::ranges::any_of(profile.threads(),
                             [&](const Thread& thread) { return std::ranges::any_of(thread.nodes, is_inside); });
}

// Opens the program of a profile.
class Opener {
 public:
  Opener(const Profile& profile, const DebugSearch& search, std::vector<std::string>& remarks)
      : profile_(profile), module_(profile.modules()[0]), search_(search), remarks_(remarks) {
    is_needed_ = profile.modules().size() == 1 || is_counted_in(profile, 0);
  }

  Object open(const std::string& given) {
    if (given.empty()) return open_recorded();
    ElfFile file(given);
    search_.beside.push_back(std::filesystem::path(given).parent_path().string());
    Object object(original_name(given), Object::Kind::program, module_.path);
    if (file.is_rewritten() || (!is_needed_ && may_be_same(file.build_id(), module_.build_id))) {
      check(file);
    } else {
      ElfFile recorded = read_recorded("; the rewritten program is needed to read its profile");
      if (recorded.is_library()) {
        object.set_unlisted();
      } else {
        check(recorded);
        check_original(file, recorded);
        object.set_rewritten(std::move(recorded));
      }
    }
    object.is_missing() ? object.set_rewritten(std::move(file)) : object.add_symbols(std::move(file));
    object.add_debug_file(search_, remarks_);
    object.finish();
    return object;
  }

 private:
  Object open_recorded() {
    Object object(original_name(module_.path), Object::Kind::program, module_.path);
    try {
      ElfFile file = read_recorded("; if the profiled program was moved, name it: prof PROGRAM PROFILE");
      if (file.is_library()) return unlisted();
      check(file);
      object.set_rewritten(std::move(file));
      object.add_debug_file(search_, remarks_);
    } catch (const Error& e) {
      if (is_needed_) throw;  // else only the names are missing that it calls functions of libraries by
      remarks_.emplace_back(e.what());
    }
    object.finish();
    return object;
  }

  // No module of the profile is the program, which is known by its arguments only.
  Object unlisted() const {
    const std::string& command = profile_.command_line();
    Object object(original_name(command.substr(0, command.find(' '))), Object::Kind::program);
    object.set_unlisted();
    object.finish();
    return object;
  }

  ElfFile read_recorded(const char* advice) const {
    try {
      return file_of(module_);
    } catch (const Error& e) {
      throw Error(std::string(e.what()) + advice);
    }
  }

  void check(const ElfFile& file) const {
    if (is_needed_ && !file.is_rewritten()) {
      throw Error(file.path() + ": was not rewritten by profld, so it is not the program of " + profile_.path() +
                  "; name the copy that ran, or no program");
    }
    if (!may_be_same(file.build_id(), module_.build_id)) {
      throw Error(file.path() + ": is not the program of " + profile_.path() + ": its build-id is " +
                  build_id_text(file.build_id()) + ", the profile's is " + build_id_text(module_.build_id) +
                  "; name the file that ran, or no program");
    }
  }

  void check_original(const ElfFile& file, const ElfFile& recorded) const {
    const std::string& id = recorded.is_rewritten() ? recorded.original_build_id() : recorded.build_id();
    if (may_be_same(file.build_id(), id)) return;
    throw Error(file.path() + ": is not the original of " + module_.path + ": its build-id is " +
                build_id_text(file.build_id()) + ", the original has " + build_id_text(id) +
                "; name the file that profld rewrote");
  }

  const Profile& profile_;
  const Module& module_;
  DebugSearch search_;
  std::vector<std::string>& remarks_;
  bool is_needed_ = true;
};

}  // namespace

Object open_program(const Profile& profile, const std::string& given, const DebugSearch& search,
                    std::vector<std::string>& remarks) {
  if (profile.modules().empty()) {
    throw Error(profile.path() + ": the profile does not say which program it is of" +
                (profile.damage().empty() ? "" : "; it is damaged: " + profile.damage()[0]));
  }
  return Opener(profile, search, remarks).open(given);
}

Object open_library(const Module& module, const std::set<std::string, std::less<>>& used, const DebugSearch& search,
                    std::vector<std::string>& remarks) {
  std::string name = original_name(module.path);
  std::optional<ElfFile> file;
  try {
    file.emplace(file_of(module));
    if (!may_be_same(file->build_id(), module.build_id)) {
      remarks.push_back(
          module.path +
          ": has changed since it was profiled, so its functions are shown by their addresses; profile again for "
          "names");
      file.reset();
    }
  } catch (const Error& e) {
    remarks.push_back(std::string(e.what()) + "; its functions are shown by their addresses");
  }
  if (file && !file->soname().empty()) name = file->soname();
  Object object(name, Object::Kind::library, module.path);
  if (file) {
    object.set_rewritten(std::move(*file));
    object.add_debug_file(search, remarks);
  }
  object.finish(used);
  return object;
}

}  // namespace prof
