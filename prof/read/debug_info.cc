#include "debug_info.h"

#include <dwarf.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <tuple>

namespace prof {

const LineRange* LineTable::find(uint64_t address) const {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), address,
                                [](uint64_t a, const LineRange& range) { return a < range.start; });
  if (after == ranges.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

namespace {

// Adds the paths of a table's files, each once.
class Files {
 public:
  explicit Files(LineTable& table) : table_(table) {}

  uint32_t index_of(const char* path) {
    const auto [at, is_new] = known_.try_emplace(path, 0);
    if (!is_new) return at->second;
    const std::string normal = std::filesystem::path(path).lexically_normal().string();
    const auto [same, is_first] = by_normal_.try_emplace(normal, uint32_t(table_.files.size()));
    if (is_first) table_.files.push_back(normal);
    return at->second = same->second;
  }

 private:
  LineTable& table_;
  std::map<const char*, uint32_t> known_;  // libdw has each path once
  std::map<std::string, uint32_t> by_normal_;
};

}  // namespace

void for_each_line_row(Dwarf_Die& unit, const std::function<void(const LineRow&)>& use) {
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(&unit, &lines, &count) != 0) return;
  for (size_t i = 0; i + 1 < count; ++i) {
    Dwarf_Line* row = dwarf_onesrcline(lines, i);
    Dwarf_Addr start = 0, end = 0, before = 0;
    bool is_end = false;
    int line = 0;
    if (dwarf_lineaddr(row, &start) != 0 || dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &end) != 0) continue;
    if (start >= end || dwarf_lineendsequence(row, &is_end) != 0 || is_end || dwarf_lineno(row, &line) != 0) continue;
    const char* path = dwarf_linesrc(row, nullptr, nullptr);
    if (!path) continue;
    const bool is_shared = i > 0 && dwarf_lineaddr(dwarf_onesrcline(lines, i - 1), &before) == 0 && before == start;
    unsigned discriminator = 0;
    dwarf_linediscriminator(row, &discriminator);
    use({start, end, path, line > 0 ? uint32_t(line) : 0, is_shared, discriminator});
  }
}

LineTable read_line_table(Dwarf_Die& unit) {
  LineTable table;
  Files files(table);
  for_each_line_row(unit, [&](const LineRow& row) {
    const LineRange range{row.start, row.end, files.index_of(row.path), row.line, row.is_shared};
    LineRange* last = table.ranges.empty() ? nullptr : &table.ranges.back();
    if (last && last->end == range.start && last->file == range.file && last->line == range.line)
      last->end = range.end;
    else
      table.ranges.push_back(range);
  });
  return table;
}

namespace {

std::string text_of(Dwarf_Die& entry, unsigned kind) {
  Dwarf_Attribute attribute;
  const char* text = dwarf_formstring(dwarf_attr_integrate(&entry, kind, &attribute));
  return text ? text : "";
}

unsigned number_of(Dwarf_Die entry, unsigned kind) {
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  return dwarf_formudata(dwarf_attr(&entry, kind, &attribute), &number) == 0 ? unsigned(number) : 0;
}

// The entry that declares a member of a class, if it is not the one given.
Dwarf_Die declaration_of(Dwarf_Die entry) {
  constexpr int kMaxReferences = 8;  // of one entry to the next; a damaged file may have circles
  Dwarf_Attribute attribute;
  for (int i = 0; i < kMaxReferences && dwarf_attr(&entry, DW_AT_specification, &attribute); ++i)
    if (!dwarf_formref_die(&attribute, &entry)) break;
  return entry;
}

bool is_cplusplus(Dwarf_Die& unit) {
  constexpr int kCplusplus17 = 0x2b, kCplusplus20 = 0x2c;  // of DWARF 6; dwarf.h may be older
  switch (dwarf_srclang(&unit)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case kCplusplus17:
    case kCplusplus20:
      return true;
    default:
      return false;
  }
}

// Not dwarf_decl_file of libdw, to which the number 0 is no file: that is how DWARF 5 numbers the file that was
// compiled.
std::string file_of(Dwarf_Die& entry) {
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  if (dwarf_formudata(dwarf_attr_integrate(&entry, DW_AT_decl_file, &attribute), &number) != 0) return "";
  Dwarf_Die unit;
  Dwarf_Half version = 0;
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (!dwarf_cu_die(attribute.cu, &unit, &version, nullptr, nullptr, nullptr, nullptr, nullptr)) return "";
  if ((number == 0 && version < 5) || dwarf_getsrcfiles(&unit, &files, &count) != 0 || number >= count) return "";
  const char* file = dwarf_filesrc(files, number, nullptr, nullptr);
  return file ? file : "";
}

unsigned line_of(Dwarf_Die& entry) {
  int line = 0;
  return dwarf_decl_line(&entry, &line) == 0 && line > 0 ? unsigned(line) : 0;
}

}  // namespace

DebugInfo::DebugInfo(const ElfFile& file) : dwarf_(file) {}

void DebugInfo::add_scopes(Dwarf_Die& parent, unsigned depth, uint32_t scope, Scopes& to) {
  Dwarf_Die child;
  if (depth > kMaxDepth || dwarf_child(&parent, &child) != 0) return;
  do {
    if (is_exhausted()) return;
    uint32_t inner = scope;
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram: {
        to.of_functions[child.addr] = scope;
        // What is inside a member function has the scope in which the member is declared.
        const auto declared = to.of_functions.find(declaration_of(child).addr);
        if (declared != to.of_functions.end()) inner = declared->second;
      }
        [[fallthrough]];
      case DW_TAG_namespace:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type: {
        if (!dwarf_haschildren(&child)) break;
        const bool has_name = !text_of(child, DW_AT_name).empty();
        to.all.push_back({inner, child, has_name ? 0 : ++to.all[inner].unnamed});
        add_scopes(child, depth + 1, uint32_t(to.all.size() - 1), to);
        break;
      }
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
        add_scopes(child, depth + 1, scope, to);
        break;
      default:
        break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

// libdw's own function for this (dwarf_getscopes_die) goes through a whole unit for each name, and into nested blocks
// however deep they are.
const DebugInfo::Scopes& DebugInfo::scopes_of(Dwarf_Die& function) {
  static const Scopes none;
  Dwarf_Die unit;
  if (!dwarf_diecu(&function, &unit, nullptr, nullptr) || !is_cplusplus(unit)) return none;
  const auto [at, is_new] = scopes_.try_emplace(dwarf_dieoffset(&unit));
  if (is_new) add_scopes(unit, 0, 0, at->second);
  return at->second;
}

// The name for linkers if it has one, else that in the source. Members of local classes of C++, as lambdas are, have
// none for linkers, and that in the source is only "operator()": they get the scopes that they are declared in,
// "main::{lambda#1}::operator()".
std::string DebugInfo::name_of(Dwarf_Die& function) {
  for (unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (std::string name = text_of(function, kind); !name.empty()) return name;
  const std::string own = text_of(function, DW_AT_name);
  if (own.empty()) return own;
  const Scopes& scopes = scopes_of(function);
  const auto declared = scopes.of_functions.find(declaration_of(function).addr);
  std::string name = own;
  for (uint32_t s = declared == scopes.of_functions.end() ? 0 : declared->second; s != 0; s = scopes.all[s].parent) {
    Dwarf_Die entry = scopes.all[s].entry;
    std::string scope = text_of(entry, DW_AT_name);
    if (scope.empty() && dwarf_tag(&entry) == DW_TAG_namespace) scope = "(anonymous namespace)";
    if (scope.empty())
      scope = (own == "operator()" ? "{lambda#" : "{unnamed#") + std::to_string(scopes.all[s].number) + "}";
    name.insert(0, scope + "::");
  }
  return name;
}

const DebugInfo::Range* DebugInfo::find(const Ranges& ranges, uint64_t address) {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), address,
                                [](uint64_t a, const Range& range) { return a < range.start; });
  if (after == ranges.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

void DebugInfo::add_ranges(Dwarf_Die& entry, Ranges& to) {
  Dwarf_Addr base = 0, start = 0, end = 0;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(&entry, at, &base, &start, &end)) > 0 && !is_exhausted();)
    if (start < end) to.push_back({start, end, entry});
}

DebugInfo::Extent DebugInfo::extent_of(Dwarf_Die& entry, const SamplesByAddress& samples) {
  Extent extent;
  Dwarf_Addr base = 0, start = 0, end = 0;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(&entry, at, &base, &start, &end)) > 0 && !is_exhausted();) {
    if (start >= end) continue;
    extent.bytes += end - start;
    for (auto s = samples.lower_bound(start); s != samples.end() && s->first < end; ++s) extent.samples += s->second;
  }
  return extent;
}

void DebugInfo::read_units() {
  has_units_ = true;
  dwarf_.each_unit([&](Dwarf_Die& entry) {
    const int tag = dwarf_tag(&entry);
    if (tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit) add_ranges(entry, units_);
    return !is_exhausted();
  });
  std::sort(units_.begin(), units_.end(), [](const Range& a, const Range& b) { return a.start < b.start; });
}

void DebugInfo::add_functions(Dwarf_Die& parent, unsigned depth, Ranges& to) {
  Dwarf_Die child;
  if (depth > kMaxDepth || dwarf_child(&parent, &child) != 0) return;
  do {
    if (is_exhausted()) return;
    const size_t before = to.size();
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram:
        add_ranges(child, to);
        if (to.size() > before) add_functions(child, depth + 1, to);  // functions inside functions
        break;
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_lexical_block:
        add_functions(child, depth + 1, to);
        break;
      default:
        break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

// Returns how much of the parent's code is of inlined functions. `known`: where an origin is in `to`.
DebugInfo::Extent DebugInfo::add_inlined(Dwarf_Die& parent, unsigned depth, const SamplesByAddress& samples,
                                         std::vector<InlinedFunction>& to, std::map<const void*, size_t>& known) {
  Extent covered;
  const auto cover = [&](const Extent& more) { covered.bytes += more.bytes, covered.samples += more.samples; };
  Dwarf_Die child;
  if (depth > kMaxDepth || dwarf_child(&parent, &child) != 0) return covered;
  do {
    if (is_exhausted()) break;
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block) {
      cover(add_inlined(child, depth + 1, samples, to, known));
    } else if (tag == DW_TAG_inlined_subroutine) {
      const Extent all = extent_of(child, samples), inside = add_inlined(child, depth + 1, samples, to, known);
      Dwarf_Attribute attribute;
      Dwarf_Die origin;
      if (!dwarf_formref_die(dwarf_attr(&child, DW_AT_abstract_origin, &attribute), &origin)) continue;
      const auto [at, is_new] = known.try_emplace(origin.addr, to.size());
      if (is_new)
        to.push_back({.raw_name = name_of(origin), .name = "", .file = file_of(origin), .line = line_of(origin)});
      ++to[at->second].places;
      to[at->second].bytes += all.bytes - std::min(all.bytes, inside.bytes);
      to[at->second].samples += all.samples - std::min(all.samples, inside.samples);
      cover(all);
    }
  } while (dwarf_siblingof(&child, &child) == 0);
  return covered;
}

std::optional<SourceLine> DebugInfo::line_at(uint64_t address) {
  if (!has_units_) read_units();
  const Range* unit = find(units_, address);
  if (!unit) return {};
  Dwarf_Die entry = unit->entry;
  Dwarf_Line* row = dwarf_getsrc_die(&entry, address);
  int number = 0;
  const char* file = row ? dwarf_linesrc(row, nullptr, nullptr) : nullptr;
  if (!file || dwarf_lineno(row, &number) != 0 || number <= 0) return {};
  return SourceLine{file, unsigned(number)};
}

void DebugInfo::add_labels(Dwarf_Die& parent, unsigned depth, std::vector<SourceLabel>& to) {
  Dwarf_Die child;
  if (depth > kMaxDepth || dwarf_child(&parent, &child) != 0) return;
  do {
    if (is_exhausted()) return;
    const int tag = dwarf_tag(&child);
    Dwarf_Addr address = 0;
    if (tag == DW_TAG_label && dwarf_lowpc(&child, &address) == 0)
      to.push_back({address, file_of(child), line_of(child)});
    else if (tag == DW_TAG_lexical_block)
      add_labels(child, depth + 1, to);
  } while (dwarf_siblingof(&child, &child) == 0);
}

const DebugInfo::Range* DebugInfo::find_function(uint64_t address) {
  if (!has_units_) read_units();
  const Range* unit = find(units_, address);
  if (!unit) return nullptr;
  Dwarf_Die unit_entry = unit->entry;
  const auto [at, is_new] = functions_.try_emplace(dwarf_dieoffset(&unit_entry));
  Ranges& functions = at->second;
  if (is_new) {
    if (std::optional<Dwarf_Die> whole = dwarf_.unit_with_functions(unit_entry)) add_functions(*whole, 0, functions);
    std::sort(functions.begin(), functions.end(), [](const Range& a, const Range& b) { return a.start < b.start; });
  }
  return find(functions, address);
}

std::optional<FunctionSource> DebugInfo::find(uint64_t address, const SamplesByAddress& samples) {
  const Range* function = find_function(address);
  if (!function) return {};
  Dwarf_Die entry = function->entry;
  Dwarf_Attribute result;
  const Extent all = extent_of(entry, samples);
  FunctionSource source{
      file_of(entry), line_of(entry), all.bytes, {}, dwarf_attr_integrate(&entry, DW_AT_type, &result) != nullptr};
  source.samples = all.samples;
  add_labels(entry, 0, source.labels);
  std::map<const void*, size_t> known;
  add_inlined(entry, 0, samples, source.inlined, known);
  for (InlinedFunction& f : source.inlined) f.name = f.raw_name;
  std::erase_if(source.inlined, [](const InlinedFunction& f) { return f.raw_name.empty(); });
  std::sort(source.inlined.begin(), source.inlined.end(), [](const InlinedFunction& a, const InlinedFunction& b) {
    return std::tie(b.samples, b.bytes, a.raw_name, a.line) < std::tie(a.samples, a.bytes, b.raw_name, b.line);
  });
  return source;
}

bool DebugInfo::InlinedPlace::has(uint64_t address) const {
  return std::ranges::any_of(ranges,
                             [&](const auto& range) { return range.first <= address && address < range.second; });
}

const InlinedFrame* DebugInfo::frame_of(Dwarf_Die function) {
  Dwarf_Attribute attribute;
  Dwarf_Die origin;
  if (!dwarf_formref_die(dwarf_attr(&function, DW_AT_abstract_origin, &attribute), &origin)) origin = function;
  const auto [at, is_new] = frames_.try_emplace(origin.addr);
  if (is_new) {
    at->second = {name_of(origin), file_of(origin), line_of(origin), text_of(origin, DW_AT_name)};
    // gcc says of a lambda where its class is declared.
    const Scopes& scopes = scopes_of(origin);
    const auto declared = scopes.of_functions.find(declaration_of(origin).addr);
    if (at->second.line == 0 && declared != scopes.of_functions.end() && declared->second != 0) {
      Dwarf_Die scope = scopes.all[declared->second].entry;
      at->second.file = file_of(scope);
      at->second.line = line_of(scope);
    }
  }
  return at->second.raw_name.empty() ? nullptr : &at->second;
}

void DebugInfo::add_places(Dwarf_Die& parent, unsigned depth, std::vector<InlinedPlace>& to) {
  Dwarf_Die child;
  if (depth > kMaxDepth || dwarf_child(&parent, &child) != 0) return;
  do {
    if (is_exhausted()) return;
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block) {
      add_places(child, depth + 1, to);
    } else if (tag == DW_TAG_inlined_subroutine) {
      const size_t index = to.size();
      InlinedPlace& place = to.emplace_back();
      Ranges ranges;
      add_ranges(child, ranges);
      for (const Range& range : ranges) place.ranges.emplace_back(range.start, range.end);
      place.entry = child;
      add_places(child, depth + 1, to);
      to[index].end = to.size();
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

std::vector<const DebugInfo::InlinedPlace*> DebugInfo::places_at(Dwarf_Die& function, uint64_t address) {
  const auto [at, is_new] = places_.try_emplace(function.addr);
  const std::vector<InlinedPlace>& places = at->second;
  if (is_new) add_places(function, 0, at->second);
  std::vector<const InlinedPlace*> found;
  for (size_t i = 0, end = places.size(); i < end;) {
    if (!places[i].has(address)) {
      i = places[i].end;
      continue;
    }
    found.push_back(&places[i]);
    end = places[i++].end;
  }
  return found;
}

std::vector<const InlinedFrame*> DebugInfo::inlined_at(uint64_t address) {
  const Range* function = find_function(address);
  if (!function) return {};
  Dwarf_Die entry = function->entry;
  std::vector<const InlinedFrame*> frames;
  for (const InlinedPlace* place : places_at(entry, address))
    if (const InlinedFrame* frame = frame_of(place->entry)) frames.push_back(frame);
  return frames;
}

std::optional<CodeOrigin> DebugInfo::origin_at(uint64_t address) {
  const Range* function = find_function(address);
  if (!function) return {};
  Dwarf_Die entry = function->entry;
  constexpr unsigned kGnuDiscriminator = 0x2136;  // DW_AT_GNU_discriminator, which dwarf.h has no name for
  CodeOrigin origin{.function = frame_of(entry), .body = entry.addr};
  if (!origin.function) return {};
  // Constructors and destructors have a name for linkers for each of their bodies, and one for all of them.
  Dwarf_Attribute own;
  if (const char* name = dwarf_formstring(dwarf_attr(&entry, DW_AT_linkage_name, &own));
      name && origin.function->raw_name != name) {
    InlinedFrame& frame = frames_.try_emplace(entry.addr, *origin.function).first->second;
    frame.raw_name = name;
    origin.function = &frame;
  }
  for (const InlinedPlace* place : places_at(entry, address)) {
    const InlinedFrame* callee = frame_of(place->entry);
    if (!callee) return {};
    origin.calls.push_back(
        {{number_of(place->entry, DW_AT_call_line), number_of(place->entry, kGnuDiscriminator)}, callee});
  }
  return origin;
}

const std::vector<LineRow>& DebugInfo::rows_at(uint64_t address) {
  static const std::vector<LineRow> none;
  if (!has_units_) read_units();
  const Range* unit = find(units_, address);
  if (!unit) return none;
  Dwarf_Die entry = unit->entry;
  const auto [at, is_new] = rows_.try_emplace(dwarf_dieoffset(&entry));
  std::vector<LineRow>& rows = at->second;
  if (is_new) for_each_line_row(entry, [&](const LineRow& row) { rows.push_back(row); });
  return rows;
}

std::string DebugInfo::producer_at(uint64_t address) {
  if (!has_units_) read_units();
  const Range* unit = find(units_, address);
  if (!unit) return "";
  Dwarf_Die entry = unit->entry;
  std::optional<Dwarf_Die> whole = dwarf_.unit_with_functions(entry);
  return whole ? text_of(*whole, DW_AT_producer) : "";
}

const LineTable& DebugInfo::lines_at(uint64_t address) {
  static const LineTable none;
  if (!has_units_) read_units();
  const Range* unit = find(units_, address);
  if (!unit) return none;
  Dwarf_Die entry = unit->entry;
  const auto [at, is_new] = lines_.try_emplace(dwarf_dieoffset(&entry));
  if (is_new) at->second = read_line_table(entry);
  return at->second;
}

}  // namespace prof
