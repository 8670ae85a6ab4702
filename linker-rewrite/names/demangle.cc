#include "demangle.h"

#define HAVE_DECL_BASENAME 1  // else libiberty declares its own, at odds with libc's
#include <libiberty/demangle.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

namespace prof_names {

namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What a function of libiberty has allocated.
std::optional<std::string> taken(char* text) {
  const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
  return text ? std::optional<std::string>(text) : std::nullopt;
}

std::optional<std::string> demangled_by_prefix(const std::string& symbol) {
  if (auto name = taken(cplus_demangle(symbol.c_str(), DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI))) return name;
  if (symbol.starts_with("_D")) return taken(dlang_demangle(symbol.c_str(), DMGL_DLANG));
  return std::nullopt;
}

// __module_MOD_procedure. Names of Fortran are in lower case.
std::optional<std::string> in_fortran_module(std::string_view symbol) {
  constexpr std::string_view kBetween = "_MOD_";
  const size_t middle = symbol.find(kBetween);
  if (!symbol.starts_with("__") || middle == std::string_view::npos || middle < 3) return std::nullopt;
  const std::string_view procedure = symbol.substr(middle + kBetween.size());
  if (procedure.empty()) return std::nullopt;
  return std::string(symbol.substr(2, middle - 2)) + "::" + std::string(procedure);
}

// procedure_, of no module.
std::optional<std::string> outside_fortran_modules(std::string_view symbol) {
  if (symbol.size() < 2 || !is_lower(symbol[0]) || !symbol.ends_with('_')) return std::nullopt;
  if (!std::ranges::all_of(symbol, [](char c) { return is_lower(c) || is_digit(c) || c == '_'; })) return std::nullopt;
  return std::string(symbol.substr(0, symbol.size() - 1));
}

// package__procedure; _ada_procedure of no package. libiberty puts what is no name of Ada in <>.
std::optional<std::string> of_ada(const std::string& symbol) {
  auto name = taken(ada_demangle(symbol.c_str(), 0));
  return name && !name->starts_with('<') ? name : std::nullopt;
}

std::optional<std::string> demangled_by_language(const std::string& symbol, Languages languages) {
  if (auto name = in_fortran_module(symbol)) return name;
  if (languages.has_ada || symbol.starts_with("_ada_"))
    if (auto name = of_ada(symbol)) return name;
  return languages.has_fortran ? outside_fortran_modules(symbol) : std::nullopt;
}

// What GCC and LLVM append to the names of the functions that they make of others, each word after a dot: .part.0,
// .constprop.1.isra.0, .cold, .llvm.123, ._omp_fn.2; .2 of a local one; .avx2.1, .default and .resolver of target_clones. Go
// has dots in names of its own, main.run, so it is not any word.
bool is_clone_word(std::string_view word) {
  constexpr std::string_view kWords[] = {"_omp_fn",    "cold",     "constprop", "default",  "isra",       "llvm",
                                         "localalias", "lto_priv", "part",      "resolver", "specialized"};
  constexpr std::string_view kTargets[] = {"arch_", "avx", "sse"};
  if (word.empty()) return false;
  return std::ranges::all_of(word, is_digit) || std::ranges::count(kWords, word) != 0 ||
         std::ranges::any_of(kTargets, [&](std::string_view target) { return word.starts_with(target); });
}

}  // namespace

void Languages::note(std::string_view symbol) {
  has_ada = has_ada || symbol.starts_with("__gnat_") || symbol.starts_with("_ada_");
  has_fortran = has_fortran || symbol.starts_with("_gfortran_");
}

std::string_view without_clone(std::string_view symbol) {
  for (size_t dot; (dot = symbol.rfind('.')) != std::string_view::npos && dot > 0;) {
    if (!is_clone_word(symbol.substr(dot + 1))) break;
    symbol = symbol.substr(0, dot);
  }
  return symbol;
}

std::string demangled(const std::string& symbol, Languages languages) {
  std::string plain = symbol;
  if (const size_t version = plain.find('@', 1); version != std::string::npos) plain.resize(version);
  if (auto name = demangled_by_prefix(plain)) return *name;
  const std::string stem(without_clone(plain));
  if (auto name = demangled_by_language(stem, languages)) return *name + plain.substr(stem.size());
  return plain;
}

// What stands in front of a name on some systems, and its version after it, stay.
std::string demangled_by_binutils(const std::string& symbol) {
  const size_t begin = std::min(symbol.find_first_not_of(".$"), symbol.size());
  const size_t end = std::min(symbol.find('@', begin), symbol.size());
  const std::string plain = symbol.substr(begin, end - begin);
  const auto name = taken(cplus_demangle(plain.c_str(), DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI));
  return name ? symbol.substr(0, begin) + *name + symbol.substr(end) : symbol;
}

}  // namespace prof_names
