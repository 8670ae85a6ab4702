// Debug information (DWARF), as far as it tells of lines of the source, and of what was inlined: of the function at an
// address, where it stands in the source, and which functions the compiler put into its code instead of calling them.
//
// libdw reads it. Programs have up to gigabytes of it, so only the list of its units is read as a whole: each is the
// information on one file that was compiled, and says which addresses its code has. (The table .debug_aranges has the
// same, but clang writes none.) The functions of a unit are looked through when an address in it is asked for.
//
// An inlined function has an entry in that of the function whose code it is in, with the addresses of that part. What
// was inlined into an inlined function stands inside its entry; its bytes are counted for itself alone, so that all
// parts together are no more than the whole. Names and lines are in the entries that these refer to (abstract origins),
// which may lie in another file, made by dwz(1).
//
// The file may be damaged in any way. libdw checks its own bounds; entries that lead in circles or repeat each other
// without end are left after a great number of steps.
//
// What cannot be read is told by DwarfFile::problem().

#ifndef PROF_READ_DEBUG_INFO_H
#define PROF_READ_DEBUG_INFO_H

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dwarf_file.h"
#include "elf_file.h"

namespace prof {

// The line table of a compiled file: which line of the source each instruction was made of.

// A row of the table that has addresses. The path is the compiler's, and lives as long as the debug information.
struct LineRow {
  uint64_t start = 0, end = 0;  // link-time, not empty: a row holds up to the address of the next
  const char* path = nullptr;
  uint32_t line = 0;       // 0: of no line
  bool is_shared = false;  // the row in front of it begins at the same address, and is empty
  uint32_t discriminator = 0;
};

// Calls `use` with each row of a compiled file, whose entry is `unit`: by address, as libdw has sorted them. With none
// if there is no table, or it is damaged.
void for_each_line_row(Dwarf_Die& unit, const std::function<void(const LineRow&)>& use);

// Code that was made of one line: addresses (link-time) from `start` up to `end`.
struct LineRange {
  uint64_t start = 0, end = 0;
  uint32_t file = 0;  // index into LineTable::files
  uint32_t line = 0;  // 0: of no line
  // Other lines have rows for `start` as well: the compiler moved or removed their instructions.
  bool is_shared = false;
};

struct LineTable {
  std::vector<LineRange> ranges;   // by address, not overlapping, none empty
  std::vector<std::string> files;  // paths, as the compiler saw them, without "." and ".."

  // What an address is of; null if nothing tells.
  const LineRange* find(uint64_t address) const;
};

// `unit`: the entry of a compiled file. Empty if there is no table, or it is damaged.
LineTable read_line_table(Dwarf_Die& unit);

struct InlinedFunction {
  std::string raw_name;  // as linkers would call it
  std::string name;      // for people; the same, unless somebody demangled it
  std::string file;      // where it stands in the source: a path, as the compiler saw it; empty if unknown
  unsigned line = 0;
  uint64_t places = 0;   // how often it is in the function's code
  uint64_t bytes = 0;    // of the code, without those of functions inlined into it
  uint64_t samples = 0;  // that were taken in these bytes
};

// An inlined function, as it stands in the source.
struct InlinedFrame {
  std::string raw_name;  // as linkers would call it
  std::string file;      // where it is declared: a path, as the compiler saw it; empty if unknown
  unsigned line = 0;
  std::string source_name = {};  // as its author called it, without namespaces and classes
};

// A place in a file of the source. What stands several times in a line, as in `a ? b : c`, differs in its discriminator
// (DWARF 4, 6.2.2); 0 if the compiler gave none.
struct SourcePosition {
  unsigned line = 0, discriminator = 0;
};

// A call in whose place the compiler put the function's code.
struct InlinedCall {
  SourcePosition call;
  const InlinedFrame* callee = nullptr;
};

// The function that the source has code in, and the calls from there to it that are inlined, the outermost first.
struct CodeOrigin {
  const InlinedFrame* function = nullptr;
  std::vector<InlinedCall> calls = {};
  const void* body = nullptr;  // different for each of several bodies of one function, as in work and work.constprop.0
};

// A label of the source: of goto, not of switch.
struct SourceLabel {
  uint64_t address = 0;  // link-time
  std::string file;
  unsigned line = 0;
};

struct FunctionSource {
  std::string file;  // as above; empty if nothing is known
  unsigned line = 0;
  uint64_t bytes = 0;                    // of code
  std::vector<InlinedFunction> inlined;  // that with the most samples first, and of these that with the most bytes
  bool has_result = false;               // it returns a value
  std::vector<SourceLabel> labels = {};
  uint64_t samples = 0;  // that were taken in the code
};

// How many samples were taken at link-time addresses.
using SamplesByAddress = std::map<uint64_t, uint64_t>;

struct SourceLine {
  std::string file;  // a path, as the compiler saw it
  unsigned line = 0;
};

class DebugInfo {
 public:
  // `file` must outlive this object. Without debug information in it, nothing is found.
  explicit DebugInfo(const ElfFile& file);
  DebugInfo(const DebugInfo&) = delete;

  // The file, for what is to be done before the first look-up.
  DwarfFile& file() { return dwarf_; }

  // The function whose code is at a link-time address, with its samples of those that are given.
  std::optional<FunctionSource> find(uint64_t address, const SamplesByAddress& samples = {});

  // The inlined functions that the instruction at a link-time address is of, the outermost first; it is of the function
  // that has the code itself if there are none. They live as long as this object.
  std::vector<const InlinedFrame*> inlined_at(uint64_t address);

  // What the instruction at a link-time address is of, as the source has it; nothing if no function is known there. The
  // frames live as long as this object.
  std::optional<CodeOrigin> origin_at(uint64_t address);

  // The rows of the line table of the compiled file that has the code at a link-time address, by address. They live as
  // long as this object.
  const std::vector<LineRow>& rows_at(uint64_t address);

  // The compiler of that file, as it names itself; "" if it does not.
  std::string producer_at(uint64_t address);

  // The line of the source that the instruction at a link-time address was made of, by the line table.
  std::optional<SourceLine> line_at(uint64_t address);

  // The lines of all code of the compiled file that has the code at a link-time address. It lives as long as this
  // object.
  const LineTable& lines_at(uint64_t address);

 private:
  struct Range {
    uint64_t start, end;
    Dwarf_Die entry;  // of a unit, or of a function
  };
  using Ranges = std::vector<Range>;  // by start

  // A place where a function was inlined. Those in it follow it, up to `end`.
  struct InlinedPlace {
    std::vector<std::pair<uint64_t, uint64_t>> ranges;  // of code: starts and ends
    Dwarf_Die entry = {};
    size_t end = 0;  // an index
    bool has(uint64_t address) const;
  };

  // The namespaces, classes and functions of a unit in which others are declared.
  struct Scope {
    uint32_t parent = 0;  // an index; of the first, the unit itself, meaningless
    Dwarf_Die entry = {};
    unsigned number = 0;   // of one without a name, as a lambda's class is: the how manieth there
    unsigned unnamed = 0;  // how many of these are in it
  };
  struct Scopes {
    std::vector<Scope> all = {Scope()};
    std::unordered_map<const void*, uint32_t> of_functions = {};  // by their entries: where they are declared
  };

  static const Range* find(const Ranges& ranges, uint64_t address);
  const Range* find_function(uint64_t address);
  bool is_exhausted() { return ++steps_ > kMaxSteps; }
  void add_ranges(Dwarf_Die& entry, Ranges& to);
  // Of code: how much it is, and how many samples are in it.
  struct Extent {
    uint64_t bytes = 0, samples = 0;
  };
  Extent extent_of(Dwarf_Die& entry, const SamplesByAddress& samples);
  void read_units();
  void add_functions(Dwarf_Die& parent, unsigned depth, Ranges& to);
  void add_labels(Dwarf_Die& parent, unsigned depth, std::vector<SourceLabel>& to);
  Extent add_inlined(Dwarf_Die& parent, unsigned depth, const SamplesByAddress& samples,
                     std::vector<InlinedFunction>& to, std::map<const void*, size_t>& known);
  void add_places(Dwarf_Die& parent, unsigned depth, std::vector<InlinedPlace>& to);
  const InlinedFrame* frame_of(Dwarf_Die function);
  std::vector<const InlinedPlace*> places_at(Dwarf_Die& function, uint64_t address);
  void add_scopes(Dwarf_Die& parent, unsigned depth, uint32_t scope, Scopes& to);
  const Scopes& scopes_of(Dwarf_Die& function);
  std::string name_of(Dwarf_Die& function);

  static constexpr uint64_t kMaxSteps = 100'000'000;
  static constexpr unsigned kMaxDepth = 200;

  DwarfFile dwarf_;
  uint64_t steps_ = 0;
  bool has_units_ = false;
  Ranges units_;
  std::map<Dwarf_Off, Ranges> functions_;                    // by the offset of their unit
  std::map<Dwarf_Off, LineTable> lines_;                     // the same
  std::map<Dwarf_Off, std::vector<LineRow>> rows_;           // the same
  std::map<const void*, std::vector<InlinedPlace>> places_;  // by the entry of the function that has the code
  std::map<const void*, InlinedFrame> frames_;               // by the entry that has the name
  std::map<Dwarf_Off, Scopes> scopes_;                       // by the offset of their unit
};

}  // namespace prof

#endif
