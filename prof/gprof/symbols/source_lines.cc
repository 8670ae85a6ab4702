#include "source_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "prof/read/debug_info.h"
#include "symbols.h"

namespace prof::gprof {

namespace {

constexpr unsigned kMaxDepth = 200;
constexpr uint64_t kMaxEntries = 100'000'000;  // more come from damaged files

// Texts, each once.
class Texts {
 public:
  uint32_t index_of(const std::string& text) { return index_.try_emplace(text, uint32_t(index_.size())).first->second; }
  std::vector<std::string> list() const {
    std::vector<std::string> texts(index_.size());
    for (const auto& [text, index] : index_) texts[index] = text;
    return texts;
  }

 private:
  std::map<std::string, uint32_t> index_;
};

// A range of addresses, and what is said of it. `what` is an index: in `lines` into `places`, in `bodies` into
// `functions`.
struct Stretch {
  uint64_t start, end;
  uint32_t what;
};

class Reader {
 public:
  explicit Reader(DwarfFile& dwarf) : dwarf_(dwarf) { functions.index_of(""); }

  void read() {
    dwarf_.each_unit([&](Dwarf_Die& entry) {
      const int tag = dwarf_tag(&entry);
      if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit) return true;
      read_lines(entry);
      if (std::optional<Dwarf_Die> whole = dwarf_.unit_with_functions(entry)) read_functions(*whole, 0);
      return true;
    });
    std::stable_sort(lines.begin(), lines.end(), [](const Stretch& a, const Stretch& b) { return a.start < b.start; });
    // Outer functions before those inlined into them.
    std::stable_sort(bodies.begin(), bodies.end(), [](const Stretch& a, const Stretch& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
  }

  Texts files, functions;
  std::vector<std::pair<uint32_t, unsigned>> places;  // file, an index into `files`, and line
  std::vector<Stretch> lines, bodies;

 private:
  // The path of a file, from the folder in which the compiler ran.
  static std::string path_of(const char* file, Dwarf_Die& unit) {
    if (*file == '/') return file;
    Dwarf_Attribute attribute;
    const char* folder = dwarf_formstring(dwarf_attr(&unit, DW_AT_comp_dir, &attribute));
    return folder && *folder ? std::string(folder) + "/" + file : file;
  }

  void read_lines(Dwarf_Die& unit) {
    std::map<std::string, uint32_t, std::less<>> known;  // by what libdw calls them
    for_each_line_row(unit, [&](const LineRow& row) {
      if (row.line == 0) return;
      auto at = known.find(std::string_view(row.path));
      if (at == known.end()) at = known.emplace(row.path, files.index_of(path_of(row.path, unit))).first;
      lines.push_back({row.start, row.end, uint32_t(places.size())});
      places.emplace_back(at->second, row.line);
    });
  }

  static std::string name_of(Dwarf_Die& entry) {
    Dwarf_Attribute attribute;
    for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
      const char* name = dwarf_formstring(dwarf_attr_integrate(&entry, kind, &attribute));
      if (name && *name) return name;
    }
    return "";
  }

  void add_body(Dwarf_Die& entry) {
    std::optional<uint32_t> name;
    Dwarf_Addr base = 0, start = 0, end = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(&entry, at, &base, &start, &end)) > 0;) {
      if (start >= end || ++entries_ > kMaxEntries) continue;
      if (!name) name = functions.index_of(name_of(entry));
      bodies.push_back({start, end, *name});
    }
  }

  void read_functions(Dwarf_Die& parent, unsigned depth) {
    Dwarf_Die child;
    if (depth > kMaxDepth || dwarf_child(&parent, &child) != 0) return;
    do {
      if (++entries_ > kMaxEntries) return;
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) add_body(child);
      if (dwarf_haschildren(&child) > 0) read_functions(child, depth + 1);
    } while (dwarf_siblingof(&child, &child) == 0);
  }

  DwarfFile& dwarf_;
  uint64_t entries_ = 0;
};

// Tells the stretch that an address is in; to be asked in ascending order. Of several it is the one that began last.
class Cursor {
 public:
  explicit Cursor(const std::vector<Stretch>& stretches) : stretches_(stretches) {}

  const Stretch* at(uint64_t address) {
    for (; next_ < stretches_.size() && stretches_[next_].start <= address; ++next_)
      open_.push_back(&stretches_[next_]);
    while (!open_.empty() && open_.back()->end <= address) open_.pop_back();
    return open_.empty() ? nullptr : open_.back();
  }

 private:
  const std::vector<Stretch>& stretches_;
  size_t next_ = 0;
  std::vector<const Stretch*> open_;
};

std::vector<SourceRange> ranges_of(const Reader& reader) {
  std::set<uint64_t> bounds;
  for (const auto* list : {&reader.lines, &reader.bodies})
    for (const Stretch& stretch : *list) bounds.insert({stretch.start, stretch.end});
  std::vector<SourceRange> ranges;
  Cursor line(reader.lines), body(reader.bodies);
  for (auto bound = bounds.begin(); bound != bounds.end(); ++bound) {
    const Stretch *row = line.at(*bound), *function = body.at(*bound);
    if (!row) continue;
    const auto [file, number] = reader.places[row->what];
    const SourceRange range = {*bound, *std::next(bound), file, number, function ? function->what : 0};
    if (!ranges.empty()) {
      SourceRange& last = ranges.back();
      if (last.end == range.start && last.file == file && last.line == number && last.function == range.function) {
        last.end = range.end;
        continue;
      }
    }
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace

SourceLines::SourceLines(const ElfFile& file, const DebugSearch& search) {
  std::optional<ElfFile> dwz;
  DwarfFile dwarf(file);
  if (const DwzLink link = dwarf.dwz_link(); !link.build_id.empty()) {
    if (std::optional<ElfFile> found = find_dwz_file(file, link, search))
      dwarf.set_dwz_file(dwz.emplace(std::move(*found)));
    else
      problem_ = part_is_missing(link);
  }
  Reader reader(dwarf);
  reader.read();
  ranges_ = ranges_of(reader);
  files_ = reader.files.list();
  functions_ = reader.functions.list();
  if (problem_.empty()) problem_ = dwarf.problem();
}

const SourceRange* SourceLines::find(uint64_t address) const {
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](uint64_t a, const SourceRange& range) { return a < range.start; });
  if (after == ranges_.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

TextBounds text_bounds(const ElfFile& file) {
  size_t names = 0;
  if (elf_getshdrstrndx(file.elf(), &names) != 0) return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(file.elf(), section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_size == 0) continue;
    const char* name = elf_strptr(file.elf(), names, header.sh_name);
    if (name && std::strcmp(name, ".text") == 0) return {header.sh_addr, header.sh_addr + header.sh_size - 1};
  }
  return {};
}

void add_first_lines(std::vector<Function>& functions, const SourceLines& lines) {
  for (Function& function : functions) {
    const SourceRange* range = lines.find(function.address);
    if (!range) continue;
    function.file = lines.files()[range->file];
    function.line = range->line;
  }
}

std::vector<Function> line_symbols(const std::vector<Function>& functions, const SourceLines& lines, TextBounds text) {
  const auto count = uint32_t(functions.size());
  std::vector<Function> symbols;
  for (const Function& function : functions) {
    if (function.end < function.address)
      continue;  // gprof has such a one at the end (symbols.h), and leaves it out here
    symbols.push_back(function);
    symbols.back().end = 0;  // it ends where the next one begins, which may be a line now
  }
  const size_t first_line = symbols.size();
  for (const SourceRange& range : lines.ranges()) {
    if (range.start < text.first || range.start > text.last) continue;
    const uint32_t around = function_at(functions, count, range.start);
    Function symbol;
    symbol.address = range.start;
    symbol.name = lines.functions()[range.function];
    if (symbol.name.empty() && around != kNone) symbol.name = functions[around].name;  // in the padding after it
    if (symbol.name.empty()) continue;
    symbol.file = lines.files()[range.file];
    symbol.line = range.line;
    symbol.is_static = around != kNone && functions[around].is_static;
    symbol.is_function = false;
    const bool has_last = symbols.size() > first_line;
    if (has_last && symbol.line == symbols.back().line && symbol.name == symbols.back().name &&
        symbol.file == symbols.back().file)
      continue;
    symbols.push_back(std::move(symbol));
  }
  settle_symbols(symbols, text.last);
  return symbols;
}

}  // namespace prof::gprof
