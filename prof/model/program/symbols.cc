#include "symbols.h"

#include <elf.h>

#include <algorithm>
#include <string_view>
#include <tuple>

namespace prof {

namespace {

bool is_function(const Symbol& s) { return s.type == STT_FUNC || s.type == STT_GNU_IFUNC; }

// Without the version.
std::string_view name_of(const Symbol& s) {
  const std::string_view name = s.name;
  return name.substr(0, name.find('@', 1));
}

using Names = std::set<std::string, std::less<>>;

// What speaks against a name, the weightiest first. Of two names for an address the lesser is the better.
auto badness(const Symbol& s, const Names& used) {
  const std::string_view name = name_of(s);
  const size_t underscores = std::min(name.find_first_not_of('_'), name.size());
  return std::tuple(!is_function(s), s.binding == STB_LOCAL, s.is_old_version, !used.contains(name), underscores,
                    s.binding != STB_GLOBAL, name.size(), std::string_view(s.name));
}

uint64_t end_of(const Symbol& s) { return s.size > UINT64_MAX - s.address ? UINT64_MAX : s.address + s.size; }

}  // namespace

void SymbolTable::add(const ElfFile& file) {
  symbols_.insert(symbols_.end(), file.symbols().begin(), file.symbols().end());
  for (const Symbol& symbol : file.symbols()) languages_.note(symbol.name);
  for (const std::string& name : file.undefined_names()) languages_.note(name);
}

void SymbolTable::finish(const Names& used) {
  std::sort(symbols_.begin(), symbols_.end(), [&](const Symbol& a, const Symbol& b) {
    return a.address != b.address ? a.address < b.address : badness(a, used) < badness(b, used);
  });
  reach_.resize(symbols_.size());
  uint64_t reach = 0;
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (is_function(symbols_[i])) reach = std::max(reach, end_of(symbols_[i]));
    reach_[i] = reach;
  }
}

const Symbol* SymbolTable::find(uint64_t address) const {
  const auto at = std::lower_bound(symbols_.begin(), symbols_.end(), address,
                                   [](const Symbol& s, uint64_t a) { return s.address < a; });
  return at != symbols_.end() && at->address == address ? &*at : function_around(address);
}

const Symbol* SymbolTable::find_containing(uint64_t address) const {
  const Symbol* found = find(address);
  if (!found || is_function(*found)) return found;
  const Symbol* around = function_around(address);
  return around ? around : found;
}

const Symbol* SymbolTable::function_around(uint64_t address) const {
  const auto at = std::lower_bound(symbols_.begin(), symbols_.end(), address,
                                   [](const Symbol& s, uint64_t a) { return s.address < a; });
  for (size_t i = size_t(at - symbols_.begin()); i-- > 0 && reach_[i] > address;) {
    const Symbol& s = symbols_[i];
    if (!is_function(s) || end_of(s) <= address) continue;
    while (i > 0 && symbols_[i - 1].address == s.address && is_function(symbols_[i - 1]) &&
           end_of(symbols_[i - 1]) > address) {
      --i;
    }
    return &symbols_[i];
  }
  return nullptr;
}

const Symbol* SymbolTable::last_without_size(uint64_t address) const {
  auto at = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                             [](uint64_t a, const Symbol& s) { return a < s.address; });
  if (at == symbols_.begin()) return nullptr;
  const uint64_t last = std::prev(at)->address;
  at = std::lower_bound(symbols_.begin(), symbols_.end(), last,
                        [](const Symbol& s, uint64_t a) { return s.address < a; });
  return at->size == 0 ? &*at : nullptr;
}

const Symbol* SymbolTable::find_name(const std::string& name) const {
  for (const Symbol& s : symbols_) {
    if (name == s.name) return &s;
  }
  return nullptr;
}

}  // namespace prof
