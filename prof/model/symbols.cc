#include "symbols.h"

#include <elf.h>
#define HAVE_DECL_BASENAME 1  // else libiberty declares its own, at odds with libc's
#include <libiberty/demangle.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace prof {

namespace {

bool is_function(const Symbol& s) { return s.type == STT_FUNC || s.type == STT_GNU_IFUNC; }

size_t leading_underscores(const Symbol& s) { return std::strspn(s.name, "_"); }

// Whether `a` is the better of two names for the same address.
bool is_better(const Symbol& a, const Symbol& b) {
  if (is_function(a) != is_function(b)) return is_function(a);
  auto rank = [](const Symbol& s) { return s.binding == STB_GLOBAL ? 0 : s.binding == STB_WEAK ? 1 : 2; };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (leading_underscores(a) != leading_underscores(b)) return leading_underscores(a) < leading_underscores(b);
  return std::strcmp(a.name, b.name) < 0;
}

uint64_t end_of(const Symbol& s) { return s.size > UINT64_MAX - s.address ? UINT64_MAX : s.address + s.size; }

}  // namespace

void SymbolTable::add(const ElfFile& file) {
  symbols_.insert(symbols_.end(), file.symbols().begin(), file.symbols().end());
}

void SymbolTable::finish() {
  std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return a.address != b.address ? a.address < b.address : is_better(a, b);
  });
  reach_.resize(symbols_.size());
  uint64_t reach = 0;
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (is_function(symbols_[i])) reach = std::max(reach, end_of(symbols_[i]));
    reach_[i] = reach;
  }
}

const Symbol* SymbolTable::find(uint64_t address) const {
  auto at = std::lower_bound(symbols_.begin(), symbols_.end(), address,
                             [](const Symbol& s, uint64_t a) { return s.address < a; });
  if (at != symbols_.end() && at->address == address) return &*at;
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

const Symbol* SymbolTable::find_name(const std::string& name) const {
  for (const Symbol& s : symbols_) {
    if (name == s.name) return &s;
  }
  return nullptr;
}

std::string demangled(const char* name) {
  std::string plain = name;
  if (size_t version = plain.find('@'); version != std::string::npos && version > 0) plain.resize(version);
  char* readable = cplus_demangle(plain.c_str(), DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
  if (!readable && plain.starts_with("_D")) readable = dlang_demangle(plain.c_str(), DMGL_DLANG);
  if (!readable) return plain;
  plain = readable;
  std::free(readable);
  return plain;
}

}  // namespace prof
