// Which function of one build is which of another.
//
// Addresses tell in one build only, names in all where a function has one of its own. A compiler may make another of
// it, though: a clone for some arguments (foo.constprop.0), the part that is seldom run (foo.part.0), and number
// lambdas and local functions anew with each that is added. And a person may have changed its parameters. So functions
// are matched in passes, each of those that the passes before have left over: by address in one build; by the linker's
// name; by the name that people see; by the linker's name without what compilers append; by the name without
// parameters; by that without numbers. Modules are the same if their names are, and programs whatever their names are.
//
// Where several functions are alike by a name, those that have it exactly are matched in order of their addresses, and
// those that only resemble it in order of their calls: the busiest clone with the busiest.

#ifndef PROF_MODEL_COMPARE_MATCHING_H
#define PROF_MODEL_COMPARE_MATCHING_H

#include <cstdint>
#include <string>
#include <vector>

namespace prof {

struct MatchedFunction {
  std::string name, raw_name;  // as of a Function
  std::string module;          // "" of the program
  std::string build_id;        // of the module
  uint64_t address = 0;
  bool has_address = true;  // it is that of a function of the module
  bool has_name = true;     // else its name is made of its address, and means nothing in another build
  double calls = 0;
};

inline constexpr uint32_t kNoFunction = UINT32_MAX;

// For each of `second`, which of `first` it is; kNoFunction if it is none of them.
std::vector<uint32_t> match(const std::vector<MatchedFunction>& first, const std::vector<MatchedFunction>& second);

// A name for people without its return type, its list of parameters, what follows that, and the hash that Rust adds:
// "n::foo<int>" of "void n::foo<int>(int) const [clone .isra.0]".
std::string without_parameters(const std::string& name);

// The same without the numbers of lambdas and of functions within functions.
std::string without_numbers(const std::string& name);

}  // namespace prof

#endif
