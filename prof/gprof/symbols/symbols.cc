#include "symbols.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include "prof/read/debug_info.h"

namespace prof::gprof {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A string table from the name of a symbol on.
class NameReader {
 public:
  explicit NameReader(std::string_view table) : table_(table) {}

  char letter() const { return table_.empty() ? '\0' : table_.front(); }
  void next() { table_.remove_prefix(table_.empty() ? 0 : 1); }
  std::string_view rest() const { return table_.substr(0, table_.find('\0')); }

 private:
  std::string_view table_;
};

// After a dot: numbers, with dots in between. `name` is at the dot, and after it at the end, or at the next dot.
bool skip_number(NameReader& name) {
  for (const std::string_view clone : {".clone.", ".constprop."}) {
    const std::string_view rest = name.rest();
    if (rest.size() <= clone.size() || !rest.starts_with(clone)) continue;
    for (size_t i = 1; i < clone.size(); ++i) name.next();
    break;
  }
  bool has_digit = false;
  for (name.next(); name.letter() != '\0'; name.next()) {
    if (has_digit && name.letter() == '.') break;
    if (!is_digit(name.letter())) return false;
    has_digit = true;
  }
  return true;
}

// Whether gprof takes a local symbol of this name. `table`: the string table from there on, since gprof does not stop
// at the end of a name that ends with a number after a dot.
bool is_local_name(std::string_view table) {
  const std::string_view name = table.substr(0, table.find('\0'));
  if (name.empty() || name.starts_with("__gnu_compiled") || name.starts_with("___gnu_compiled")) return false;
  for (NameReader reader(table); reader.letter() != '\0'; reader.next()) {
    if (reader.letter() == '$') return false;
    while (reader.letter() == '.')
      if (!skip_number(reader)) return false;
  }
  return true;
}

// Where the bytes of sections are, and what they are for.
class Sections {
 public:
  explicit Sections(const ElfFile& file) : elf_(file.elf()) {
    if (elf_getshdrstrndx(elf_, &names_) != 0) names_ = 0;
  }

  std::optional<GElf_Shdr> header(size_t index) const {
    GElf_Shdr header;
    Elf_Scn* section = elf_getscn(elf_, index);
    return section && gelf_getshdr(section, &header) ? std::optional(header) : std::nullopt;
  }

  std::string_view bytes(size_t index) const {
    Elf_Scn* section = elf_getscn(elf_, index);
    const Elf_Data* data = section ? elf_getdata(section, nullptr) : nullptr;
    return data && data->d_buf ? std::string_view(static_cast<const char*>(data->d_buf), data->d_size) : "";
  }

  std::string_view name(const GElf_Shdr& header) const {
    const char* name = elf_strptr(elf_, names_, header.sh_name);
    return name ? name : "";
  }

  // By profld.
  bool is_added(const GElf_Shdr& section) const { return name(section).starts_with(".prof."); }

  // Address of the last byte of .text; 0 without one.
  uint64_t text_end() const {
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) && name(header) == ".text") return header.sh_addr + header.sh_size - 1;
    }
    return 0;
  }

 private:
  Elf* elf_;
  size_t names_ = 0;
};

// The function that a symbol is, if gprof takes it for one.
// `names`: the string table.
std::optional<Function> function_of(const GElf_Sym& s, std::string_view names, const Sections& sections,
                                    const SymbolOptions& options) {
  const unsigned type = GELF_ST_TYPE(s.st_info), binding = GELF_ST_BIND(s.st_info);
  if (s.st_name >= names.size() || type == STT_SECTION || type == STT_FILE || type == STT_GNU_IFUNC) return {};
  if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_COMMON) return {};
  const std::optional<GElf_Shdr> section =
      s.st_shndx < SHN_LORESERVE ? sections.header(s.st_shndx) : std::optional<GElf_Shdr>();
  if (section && sections.is_added(*section)) return {};

  Function function;
  function.address = s.st_value;
  function.name = names.substr(s.st_name, names.find('\0', s.st_name) - s.st_name);
  function.is_function = type == STT_FUNC;
  function.is_static = binding == STB_LOCAL;
  if (binding == STB_WEAK) return type == STT_OBJECT ? std::nullopt : std::optional(function);
  if (binding != STB_GLOBAL && binding != STB_LOCAL) return {};
  if (!section || !(section->sh_flags & SHF_EXECINSTR)) return {};
  if (!function.is_static) return function;
  if (options.no_static || !is_local_name(names.substr(s.st_name)) || (options.only_functions && !function.is_function))
    return {};
  return function;
}

char letter(const std::string& name, size_t at) { return at < name.size() ? name[at] : '\0'; }

// Whether gprof keeps the later one of two functions at an address.
bool goes_before(const Function& later, const Function& kept) {
  if (later.is_static != kept.is_static) return kept.is_static;
  if (later.is_function != kept.is_function) return later.is_function;
  return (letter(later.name, 0) != '_' && letter(kept.name, 0) == '_') ||
         (!later.name.empty() && letter(later.name, 1) != '_' && letter(kept.name, 1) == '_');
}

// The original, if the user named it; then the rewritten file, which has its symbols; then the debug file.
std::vector<Function> symbols_in_files(const Object& object, const SymbolOptions& options) {
  for (const bool rewritten : {false, true})
    for (const ElfFile& file : object.files()) {
      if (file.is_rewritten() != rewritten) continue;
      std::vector<Function> functions = symbols_of(file, options);
      if (!functions.empty()) return functions;
    }
  return {};
}

// What there is without .symtab: `names`, by address, and those of dynamic symbols.
std::vector<Function> known_symbols(const Object& object, std::map<uint64_t, std::string> names) {
  for (const ElfFile& file : object.files())
    for (const prof::Symbol& symbol : file.symbols()) {
      // Copies have symbols too; addresses here are those of originals.
      if (symbol.type == STT_FUNC && object.entry_of(symbol.address) == symbol.address)
        names.try_emplace(symbol.address, symbol.name);
    }
  std::vector<Function> functions;
  for (const auto& [address, name] : names) {
    Function function;
    function.address = address;
    function.name = name;
    functions.push_back(std::move(function));
  }
  if (functions.empty()) return functions;
  // The last function would get no ticks: call_graph.h.
  Function end;
  end.address = functions.back().address + 16;
  end.name = "_end_of_functions";
  functions.push_back(std::move(end));
  settle_symbols(functions, functions.back().address + 15);
  return functions;
}

}  // namespace

void settle_symbols(std::vector<Function>& functions, uint64_t text_end) {
  std::stable_sort(functions.begin(), functions.end(), [](const Function& a, const Function& b) {
    if (a.address != b.address) return a.address < b.address;
    if (a.is_function != b.is_function) return a.is_function;
    return !a.is_static && b.is_static;
  });
  size_t kept = 0;
  for (size_t i = 0; i < functions.size(); ++i) {
    Function& next = functions[i];
    if (kept > 0 && functions[kept - 1].address == next.address) {
      if (goes_before(next, functions[kept - 1])) functions[kept - 1] = std::move(next);
      continue;
    }
    if (kept > 0 && functions[kept - 1].end == 0) functions[kept - 1].end = next.address - 1;
    if (next.end != 0 && next.address > next.end) continue;
    if (kept != i) functions[kept] = std::move(next);
    ++kept;
  }
  functions.resize(kept);
  if (kept > 0 && functions.back().end == 0) functions.back().end = text_end;
}

std::vector<Function> symbols_of(const ElfFile& file, const SymbolOptions& options) {
  std::vector<Function> functions;
  const Sections sections(file);
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(file.elf(), section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (!data || header.sh_entsize != sizeof(Elf64_Sym)) continue;
    const std::string_view names = sections.bytes(header.sh_link);
    for (size_t i = 0; i < data->d_size / sizeof(Elf64_Sym); ++i) {
      GElf_Sym symbol;
      if (!gelf_getsym(data, int(i), &symbol)) continue;
      if (std::optional<Function> f = function_of(symbol, names, sections, options)) functions.push_back(std::move(*f));
    }
  }
  settle_symbols(functions, sections.text_end());
  return functions;
}

std::vector<Function> symbols_of_text(const std::string& text, uint64_t text_end) {
  std::vector<Function> functions;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string address, name;
    char type = 0;
    if (!(words >> address >> type >> name) || (type != 't' && type != 'T')) continue;
    Function function;
    const std::string_view digits =
        std::string_view(address).substr(address.starts_with("0x") || address.starts_with("0X") ? 2 : 0);
    std::from_chars(digits.data(), digits.data() + digits.size(), function.address, 16);
    function.name = name;
    function.is_static = type == 't';
    functions.push_back(std::move(function));
  }
  settle_symbols(functions, text_end);
  return functions;
}

std::vector<Function> symbols_of(const Object& object, const SymbolOptions& options) {
  std::vector<Function> functions = symbols_in_files(object, options);
  return functions.empty() ? known_symbols(object, {}) : functions;
}

std::vector<Function> symbols_of(const Analysis& analysis, uint32_t object, const SymbolOptions& options) {
  const Object& file = analysis.functions.objects()[object];
  std::vector<Function> functions = symbols_in_files(file, options);
  if (!functions.empty()) return functions;
  std::map<uint64_t, std::string> names;
  for (const prof::Function& f : analysis.functions.functions())
    if (f.object == object) names.try_emplace(f.address, f.raw_name);
  return known_symbols(file, std::move(names));
}

void add_sources(std::vector<Function>& functions, const ElfFile& file,
                 const std::function<bool(const Function&)>& wanted) {
  if (!has_debug_info(file)) return;
  DebugInfo debug(file);
  for (Function& function : functions) {
    if (!wanted(function)) continue;
    const std::optional<SourceLine> source = debug.line_at(function.address);
    if (!source) continue;
    function.file = source->file;
    function.line = source->line;
  }
}

}  // namespace prof::gprof
