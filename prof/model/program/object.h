// A program or a library, as profiles name it: what leads from an address in it to the entry of a function, and to a
// name.

#ifndef PROF_MODEL_PROGRAM_OBJECT_H
#define PROF_MODEL_PROGRAM_OBJECT_H

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "debug_files.h"
#include "prof/read/elf_file.h"
#include "prof/read/profile.h"
#include "symbols.h"

namespace prof {

// A program or library whose functions occur in a profile.
class Object {
 public:
  enum class Kind { program, library, no_file };  // no_file: what stands for other code, such as the kernel's

  // `path`: as profiles have it; empty if there is no file.
  Object(std::string name, Kind kind, std::string path = {})
      : name_(std::move(name)), path_(std::move(path)), kind_(kind) {}

  // Sets what leads from copies to originals, and adds the names of `rewritten`.
  void set_rewritten(ElfFile rewritten);
  void add_symbols(ElfFile file);
  // Adds the names of the debug file if the files above were stripped. A remark says why one cannot be used.
  void add_debug_file(const DebugSearch& search, std::vector<std::string>& remarks);
  // Once, after the above. `used`: names by which the program calls functions of this object.
  void finish(const std::set<std::string, std::less<>>& used = {});

  // For people: the file name of a program before it was rewritten; the soname of a library, or its file name.
  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  Kind kind() const { return kind_; }
  bool is_rewritten() const { return is_rewritten_; }

  // A program that is no module of its profile, whose first one is a library.
  void set_unlisted() { is_listed_ = false; }
  bool is_listed() const { return is_listed_; }

  // Its file could not be read, or is another one: addresses are of the copy, and have no names.
  bool is_missing() const { return kind_ != Kind::no_file && files_.empty(); }
  const SymbolTable& symbols() const { return symbols_; }

  // Files with its symbols: the rewritten one first. Files of debug information may be among them.
  const std::vector<ElfFile>& files() const { return files_; }

  // It was stripped, and no debug file was found.
  bool lacks_symbols() const { return lacks_symbols_; }
  // Where that would be; empty if nothing tells.
  const std::string& expected_debug_file() const { return expected_debug_file_; }

  // The entry, in the original, of the function whose copy contains `address` (link-time); an address outside all
  // copies is taken for one of the original.
  uint64_t entry_of(uint64_t address) const;

  // The entry of the function that an address (link-time) of the original is in, if that is known.
  std::optional<uint64_t> entry_of_original(uint64_t address) const;

  // Whether the function at an entry was rewritten, so that its calls are counted.
  bool is_counted(uint64_t entry) const;

  // What was copied, by address of the original; imports are among it. Empty if it was not rewritten.
  const std::vector<prof_format::MapEntry>& copies() const { return by_original_; }

  // The name of a function of another file that it calls, if `entry` stands for one (format/map.h); else null.
  const std::string* import_name(uint64_t entry) const;

  // The names of functions of other files that it calls itself; of code that was not rewritten, too.
  const std::set<std::string, std::less<>>& undefined_names() const { return undefined_names_; }

  // Of the program before it was rewritten, or of a library that was not; raw bytes, empty if it has none.
  const std::string& original_build_id() const { return original_build_id_; }

 private:
  std::string name_, path_;
  Kind kind_;
  bool is_rewritten_ = false, is_listed_ = true, lacks_symbols_ = false;
  std::string expected_debug_file_;
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
//
// If none of a profile's calls are of the program, it need not be there, nor have been rewritten: its libraries were.
Object open_program(const Profile& profile, const std::string& given, const DebugSearch& search,
                    std::vector<std::string>& remarks);

// A library of a profile, with names that the program uses, if it uses any. If it cannot be read it is missing, and a
// remark says why.
Object open_library(const Module& module, const std::set<std::string, std::less<>>& used, const DebugSearch& search,
                    std::vector<std::string>& remarks);

}  // namespace prof

#endif
