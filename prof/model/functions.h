// From program counters in a profile to functions of the original program.
//
// A node's program counter lies in a copy that profld made. Subtracting the module's bias gives an address in the
// rewritten file, whose .prof.map leads to the original function's entry, whose name is a symbol of the original (the
// rewritten file keeps those), or of a separate debug file that carries the original's build-id.

#ifndef PROF_MODEL_FUNCTIONS_H
#define PROF_MODEL_FUNCTIONS_H

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "prof/read/elf_file.h"
#include "prof/read/profile.h"
#include "symbols.h"

namespace prof {

// A program or library whose functions occur in a profile.
class Object {
 public:
  explicit Object(std::string name) : name_(std::move(name)) {}

  // Sets what leads from copies to originals, and adds the names of `rewritten` and of its debug file. Returns what to
  // tell the user: why the debug file cannot be read; else "".
  std::string set_rewritten(ElfFile rewritten);
  void add_symbols(ElfFile file);
  // Once, after the above. `used`: names by which the program calls functions of this object.
  void finish(const std::set<std::string, std::less<>>& used = {});

  const std::string& name() const { return name_; }  // for people: the original's file name
  const SymbolTable& symbols() const { return symbols_; }

  // The entry, in the original, of the function whose copy contains `address` (link-time); an address outside all
  // copies is taken for one of the original.
  uint64_t entry_of(uint64_t address) const;

  // The entry of the function that an address (link-time) of the original is in, if that is known.
  std::optional<uint64_t> entry_of_original(uint64_t address) const;

  // Whether the function at an entry was rewritten, so that its calls are counted.
  bool is_counted(uint64_t entry) const;

  // The name of a function of another file that it calls, if `entry` stands for one (format/map.h); else null.
  const std::string* import_name(uint64_t entry) const;

  // The names of functions of other files that it calls itself; of code that was not rewritten, too.
  const std::set<std::string, std::less<>>& undefined_names() const { return undefined_names_; }

  // Of the program before it was rewritten, or of a library that was not; raw bytes, empty if it has none.
  const std::string& original_build_id() const { return original_build_id_; }

 private:
  std::string name_;
  std::string original_build_id_;
  std::vector<prof_format::MapEntry> map_;
  std::vector<prof_format::MapEntry> by_original_;  // the same, sorted by `original`
  std::vector<uint64_t> starts_;                    // of functions, where symbols do not tell
  std::map<uint64_t, std::string> imports_;
  std::set<std::string, std::less<>> undefined_names_;
  std::vector<ElfFile> files_;
  SymbolTable symbols_;
};

// The program of a profile. `given` is the file named by the user: the rewritten program, or the original; empty for
// the file that the profile names. Throws Error if it is another program than the profile's. What to tell the user is
// added to `remarks`.
Object open_program(const Profile& profile, const std::string& given, std::vector<std::string>& remarks);

struct Function {
  uint32_t object;         // index into FunctionTable::objects; 0 is the program
  uint64_t address;        // entry in the original, link-time; of an import, what stands for it
  std::string name;        // for people
  std::string raw_name;    // as in the symbol table, or equal to `name` if there is no symbol
  bool is_import = false;  // of another file than the object, which calls it
};

class FunctionTable {
 public:
  // `raw_names`: functions are shown under the names in the symbol table.
  FunctionTable(Object program, bool raw_names);

  const std::vector<Object>& objects() const { return objects_; }
  const std::vector<Function>& functions() const { return functions_; }
  const Object& program() const { return objects_[0]; }

  // Index of the function at an original address, which is added if it is new.
  uint32_t at(uint32_t object, uint64_t entry);

  // Index of the object that a library in a profile is; opened if it is new.
  uint32_t library(const Module& module);

  // Index of the object that stands for code in no module.
  uint32_t unknown_object();

  // What to tell the user of libraries that were opened since the last call.
  std::vector<std::string> take_remarks() { return std::exchange(remarks_, {}); }
  // Index of a function that stands for all code of an object whose functions are not known.
  uint32_t unknown_function(uint32_t object);

  // Index of the function, and its object, of this name, which stands for code in no file: "[kernel]".
  uint32_t nameless_code(const std::string& name);

 private:
  std::vector<Object> objects_;
  std::vector<Function> functions_;
  std::map<std::string, uint32_t> library_index_;  // by build-id, or by path if there is none
  uint32_t unknown_object_ = 0;                    // 0 until needed
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> function_index_;
  bool raw_names_;
  std::vector<std::string> remarks_;
};

// Finds the functions of one profile's program counters.
class Resolver {
 public:
  // Both must outlive the resolver.
  Resolver(FunctionTable& table, const Profile& profile) : table_(table), modules_(profile.modules()) {}

  // Index of the function in the table.
  uint32_t find(uint64_t pc) {
    auto [at, is_new] = known_.try_emplace(pc, 0);
    if (is_new) at->second = look_up(pc);
    return at->second;
  }

  // Index of the function that stands for code without calls of its own: "[kernel]".
  uint32_t uncalled(const std::string& name) { return table_.nameless_code(name); }

 private:
  uint32_t look_up(uint64_t pc);

  FunctionTable& table_;
  const std::vector<Module>& modules_;  // the first is the program
  std::unordered_map<uint64_t, uint32_t> known_;
};

}  // namespace prof

#endif
