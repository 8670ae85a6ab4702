// From program counters in a profile to functions of the original program.
//
// A node's program counter lies in a copy that profld made. Subtracting the module's bias gives an address in the
// rewritten file, whose .prof.map leads to the original function's entry, whose name is a symbol of the original (the
// rewritten file keeps those), or of a separate debug file that carries the original's build-id.

#ifndef PROF_MODEL_PROGRAM_FUNCTIONS_H
#define PROF_MODEL_PROGRAM_FUNCTIONS_H

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "linker-rewrite/names/pattern.h"
#include "object.h"
#include "prof/read/copy_steps.h"
#include "prof/read/profile.h"

namespace prof {

struct InlinedFrame;

struct Function {
  uint32_t object;       // index into FunctionTable::objects; 0 is the program
  uint64_t address;      // entry in the original, link-time; of an import, what stands for it in a module that calls it
  std::string name;      // for people
  std::string raw_name;  // as in the symbol table, or equal to `name` if there is no symbol
  bool is_import = false;   // of a library that is not known, in the object "[libraries]": format/map.h
  bool has_calls = true;    // false: it stands for code whose calls nobody counts, "[kernel]"
  bool has_name = true;     // false: its name is made of its address
  bool is_inlined = false;  // it stands for all code of the object that a function was inlined to, and has no address
  std::string file = {};    // of an inlined one: where it is declared, as InlinedFrame has it
  unsigned line = 0;
};

class FunctionTable {
 public:
  // `raw_names`: functions are shown under the names in the symbol table.
  // `search`: for the debug files of libraries.
  FunctionTable(Object program, bool raw_names, DebugSearch search = {});

  // Before the first function: names are demangled, and not simplified (names/demangle.h).
  void use_whole_names() { whole_names_ = true; }

  const std::vector<Object>& objects() const { return objects_; }
  const std::vector<Function>& functions() const { return functions_; }
  const Object& program() const { return objects_[0]; }

  // A symbol of a file, for people.
  std::string name_of(const std::string& symbol, const Object& file) const;

  // The function's name with its library after it, "inflate [libz.so.1]".
  std::string name_with_module(const Function& function) const;

  // What patterns (names/pattern.h) are compared with.
  prof_names::Name name_for_patterns(const Function& function) const;

  // Index of the function at an original address, which is added if it is new. An import is one function, whichever
  // modules call it.
  uint32_t at(uint32_t object, uint64_t entry);

  // Index of the function that stands for what was inlined of one.
  uint32_t inlined(uint32_t object, const InlinedFrame& frame);

  // Index of the object that a library in a profile is; opened if it is new.
  uint32_t library(const Module& module);

  // Index of the object that stands for code in no module.
  uint32_t unknown_object();

  // What to tell the user of libraries that were opened since the last call.
  std::vector<std::string> take_remarks() { return std::exchange(remarks_, {}); }
  // Index of a function that stands for all code of an object whose functions are not known.
  uint32_t unknown_function(uint32_t object);

  // Nobody counts the calls of a function of the table.
  void set_uncounted(uint32_t function) { functions_[function].has_calls = false; }
  void set_counted(uint32_t function) { functions_[function].has_calls = true; }
  // Index of the function that an instruction of an object is in, an address in the original, or of its
  // unknown_function; its calls are set uncounted.
  uint32_t uncounted(uint32_t object, uint64_t address);

  // Index of the function, and its object, of this name, which stands for code in no file: "[kernel]".
  uint32_t nameless_code(const std::string& name);

 private:
  uint32_t object_without_file(const std::string& name);
  uint32_t import(const std::string& name, uint64_t entry, const Object& file);  // which calls it

  std::vector<Object> objects_;
  std::vector<Function> functions_;
  std::map<std::string, uint32_t> library_index_;  // by build-id, or by path if there is none
  uint32_t unknown_object_ = 0;                    // 0 until needed
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> function_index_;
  std::map<std::string, uint32_t> import_index_;
  std::map<std::tuple<uint32_t, std::string, std::string, unsigned>, uint32_t> inlined_index_;
  bool raw_names_, whole_names_ = false;
  DebugSearch search_;
  std::vector<std::string> remarks_;
};

// Finds the functions of one profile's program counters, or of the addresses in one of a program without hooks.
class Resolver {
 public:
  // Both must outlive the resolver.
  Resolver(FunctionTable& table, const Profile& profile)
      : table_(table),
        modules_(profile.modules()),
        are_instructions_(profile.header().type == prof_format::kAddresses) {}

  // Index of the function in the table.
  uint32_t find(uint64_t pc) {
    auto [at, is_new] = known_.try_emplace(pc, 0);
    if (is_new) at->second = look_up(pc);
    return at->second;
  }

  // The same by Node::pc of a hook, also in a program whose other counters are of addresses.
  uint32_t find_hook(uint64_t pc);

  // Index of the function that stands for code without calls of its own: "[kernel]".
  uint32_t uncalled(const std::string& name) { return table_.nameless_code(name); }

 private:
  uint32_t look_up(uint64_t pc);
  uint32_t look_up_instruction(uint32_t object, uint64_t address);
  bool is_program(size_t module) const { return module == 0 && table_.program().is_listed(); }

  FunctionTable& table_;
  const std::vector<Module>& modules_;  // the first is the program, if that is listed
  const bool are_instructions_;
  std::map<uint32_t, CopySteps> steps_;  // by object
  std::unordered_map<uint64_t, uint32_t> known_;
};

}  // namespace prof

#endif
