#include "demangle.h"
#define HAVE_DECL_BASENAME 1  // else libiberty declares its own, at odds with libc's
#include <libiberty/demangle.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parts.h"

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
// .constprop.1.isra.0, .cold, .llvm.123, ._omp_fn.2; .2 of a local one; .avx2.1, .default and .resolver of
// target_clones. Go has dots in names of its own, main.run, so it is not any word.
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

namespace {

// Templates with their default arguments, in which $0 and $1 are the first two arguments; - where there is no default.
// Those of a library's own, which begin with an underscore, are mostly given the defaults of what they are made for.
struct Template {
  std::string_view name;
  std::vector<std::string_view> arguments;
};

const std::vector<Template>& templates() {
  constexpr std::string_view kPairs = "std::allocator<std::pair<$0 const, $1>>";
  static const std::vector<Template> all = {
      {"std::vector", {"-", "std::allocator<$0>"}},
      {"std::deque", {"-", "std::allocator<$0>"}},
      {"std::list", {"-", "std::allocator<$0>"}},
      {"std::forward_list", {"-", "std::allocator<$0>"}},
      {"std::set", {"-", "std::less<$0>", "std::allocator<$0>"}},
      {"std::multiset", {"-", "std::less<$0>", "std::allocator<$0>"}},
      {"std::map", {"-", "-", "std::less<$0>", kPairs}},
      {"std::multimap", {"-", "-", "std::less<$0>", kPairs}},
      {"std::unordered_set", {"-", "std::hash<$0>", "std::equal_to<$0>", "std::allocator<$0>"}},
      {"std::unordered_multiset", {"-", "std::hash<$0>", "std::equal_to<$0>", "std::allocator<$0>"}},
      {"std::unordered_map", {"-", "-", "std::hash<$0>", "std::equal_to<$0>", kPairs}},
      {"std::unordered_multimap", {"-", "-", "std::hash<$0>", "std::equal_to<$0>", kPairs}},
      {"std::stack", {"-", "std::deque<$0>"}},
      {"std::queue", {"-", "std::deque<$0>"}},
      {"std::priority_queue", {"-", "std::vector<$0>", "std::less<$0>"}},
      {"std::unique_ptr", {"-", "std::default_delete<$0>"}},
      {"std::__uniq_ptr_impl", {"-", "std::default_delete<$0>"}},
      {"std::__uniq_ptr_data", {"-", "std::default_delete<$0>"}},
      {"std::basic_string", {"-", "std::char_traits<$0>", "std::allocator<$0>"}},
      {"std::basic_string_view", {"-", "std::char_traits<$0>"}},
      {"std::basic_ios", {"-", "std::char_traits<$0>"}},
      {"std::basic_istream", {"-", "std::char_traits<$0>"}},
      {"std::basic_ostream", {"-", "std::char_traits<$0>"}},
      {"std::basic_iostream", {"-", "std::char_traits<$0>"}},
      {"std::basic_streambuf", {"-", "std::char_traits<$0>"}},
      {"std::basic_filebuf", {"-", "std::char_traits<$0>"}},
      {"std::basic_ifstream", {"-", "std::char_traits<$0>"}},
      {"std::basic_ofstream", {"-", "std::char_traits<$0>"}},
      {"std::basic_fstream", {"-", "std::char_traits<$0>"}},
      {"std::basic_stringbuf", {"-", "std::char_traits<$0>", "std::allocator<$0>"}},
      {"std::basic_istringstream", {"-", "std::char_traits<$0>", "std::allocator<$0>"}},
      {"std::basic_ostringstream", {"-", "std::char_traits<$0>", "std::allocator<$0>"}},
      {"std::basic_stringstream", {"-", "std::char_traits<$0>", "std::allocator<$0>"}},
      {"std::istream_iterator", {"-", "char", "std::char_traits<char>", "long"}},
      {"std::ostream_iterator", {"-", "char", "std::char_traits<char>"}},
      {"std::istreambuf_iterator", {"-", "std::char_traits<$0>"}},
      {"std::ostreambuf_iterator", {"-", "std::char_traits<$0>"}},
      {"std::num_get", {"-", "std::istreambuf_iterator<$0>"}},
      {"std::num_put", {"-", "std::ostreambuf_iterator<$0>"}},
      {"std::money_get", {"-", "std::istreambuf_iterator<$0>"}},
      {"std::money_put", {"-", "std::ostreambuf_iterator<$0>"}},
      {"std::time_get", {"-", "std::istreambuf_iterator<$0>"}},
      {"std::time_put", {"-", "std::ostreambuf_iterator<$0>"}},
      {"std::basic_regex", {"-", "std::regex_traits<$0>"}},
      {"std::match_results", {"-", "std::allocator<std::sub_match<$0>>"}},
      {"std::chrono::duration", {"-", "std::ratio<1l, 1l>"}},
      {"std::_Vector_base", {"-", "std::allocator<$0>"}},
      {"std::_Deque_base", {"-", "std::allocator<$0>"}},
      {"std::_List_base", {"-", "std::allocator<$0>"}},
      {"std::_Fwd_list_base", {"-", "std::allocator<$0>"}},
      {"std::_Rb_tree", {"-", "-", "std::_Select1st<$1>|std::_Identity<$1>", "std::less<$0>", "std::allocator<$1>"}},
      {"std::_Hashtable",
       {"-", "-", "std::allocator<$1>", "std::__detail::_Select1st|std::__detail::_Identity", "std::equal_to<$0>",
        "std::hash<$0>", "std::__detail::_Mod_range_hashing", "std::__detail::_Default_ranged_hash",
        "std::__detail::_Prime_rehash_policy",
        "std::__detail::_Hashtable_traits<false, false, true>|std::__detail::_Hashtable_traits<true, false, true>"}},
      {"alloc::vec::Vec", {"-", "alloc::alloc::Global"}},
      {"alloc::boxed::Box", {"-", "alloc::alloc::Global"}},
      {"alloc::rc::Rc", {"-", "alloc::alloc::Global"}},
      {"alloc::sync::Arc", {"-", "alloc::alloc::Global"}},
      {"std::collections::hash::map::HashMap", {"-", "-", "std::collections::hash::map::RandomState"}},
      {"std::collections::hash::set::HashSet", {"-", "std::collections::hash::map::RandomState"}},
  };
  return all;
}

// A default argument with the first two arguments in the places of $0 and $1.
std::string filled_in(std::string_view pattern, const std::vector<std::string>& arguments) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const size_t n = pattern[i] == '$' && i + 1 < pattern.size() ? size_t(pattern[i + 1] - '0') : arguments.size();
    if (n < arguments.size()) {
      text += arguments[n];
      ++i;
    } else {
      text += pattern[i];
    }
  }
  return text;
}

bool is_default(const std::string& argument, std::string_view patterns, const std::vector<std::string>& arguments) {
  for (size_t end; !patterns.empty(); patterns.remove_prefix(std::min(end + 1, patterns.size()))) {
    end = std::min(patterns.find('|'), patterns.size());
    if (argument == filled_in(patterns.substr(0, end), arguments)) return true;
  }
  return false;
}

// Takes the last arguments away if they are the defaults of the template `name`, such as std::vector. Names and
// arguments are simplified ones.
void leave_out_defaults(std::string_view name, std::vector<std::string>& arguments) {
  const auto known =
      std::find_if(templates().begin(), templates().end(), [&](const Template& t) { return t.name == name; });
  if (known == templates().end()) return;
  while (!arguments.empty() && arguments.size() <= known->arguments.size() &&
         is_default(arguments.back(), known->arguments[arguments.size() - 1], arguments)) {
    arguments.pop_back();
  }
}

// Inline namespaces of libstdc++ and libc++, within std.
constexpr std::string_view kInlineNamespaces[] = {"__cxx11", "__1", "_V2"};

// What people call a template with these arguments.
struct Alias {
  std::string_view whole, name;
};
constexpr Alias kAliases[] = {
    {"std::chrono::duration<long, std::ratio<1l, 1000000000l>>", "std::chrono::nanoseconds"},
    {"std::chrono::duration<long, std::ratio<1l, 1000000l>>", "std::chrono::microseconds"},
    {"std::chrono::duration<long, std::ratio<1l, 1000l>>", "std::chrono::milliseconds"},
    {"std::chrono::duration<long>", "std::chrono::seconds"},
};

// std::string of std::basic_string<char>, std::wostream of std::basic_ostream<wchar_t>; "" if it is no such template.
std::string character_alias(std::string_view name, const std::vector<std::string>& arguments) {
  constexpr std::string_view kBasic = "std::basic_";
  if (!name.starts_with(kBasic) || arguments.size() != 1) return "";
  constexpr std::string_view kPrefixes[][2] = {
      {"char", ""}, {"wchar_t", "w"}, {"char8_t", "u8"}, {"char16_t", "u16"}, {"char32_t", "u32"}};
  for (const auto& [type, prefix] : kPrefixes)
    if (arguments[0] == type) return "std::" + std::string(prefix) + std::string(name.substr(kBasic.size()));
  return "";
}

std::string joined(std::string_view name, const std::vector<std::string>& arguments) {
  std::string text = std::string(name) + "<";
  for (const std::string& argument : arguments) text += (&argument == arguments.data() ? "" : ", ") + argument;
  return text + ">";
}

class Simplifier {
 public:
  Simplifier(std::string_view text, const Brackets& brackets) : text_(text), brackets_(brackets) {}

  // What lies between two positions that are in the same brackets.
  std::string between(size_t from, size_t to) const {
    std::string out;
    for (size_t at = from; at < to;) at = step(at, out);
    return out;
  }

 private:
  // Adds what stands for the text at `at`; returns where to go on.
  size_t step(size_t at, std::string& out) const {
    if (const size_t end = brackets_.end_of_operator(at)) {
      out += text_.substr(at, end - at);
      return end;
    }
    const size_t end = brackets_.end_of(at);
    if (end && text_.substr(at).starts_with("[abi:")) return end + 1;
    if (end && text_[at] == '<') {
      add_template(at, end, out);
      return end + 1;
    }
    if (is_of_identifier(text_[at])) {
      size_t after = at;
      while (after < text_.size() && is_of_identifier(text_[after])) ++after;
      if (is_inline_namespace(at, after, out)) return after + 2;
      out += text_.substr(at, after - at);
      return after;
    }
    out += text_[at];
    return at + 1;
  }

  // The name that a text ends with, without template arguments: std::vector.
  static std::string_view last_path(std::string_view out) {
    size_t start = out.size();
    while (start > 0 && (is_of_identifier(out[start - 1]) || out[start - 1] == ':')) --start;
    return out.substr(start);
  }

  bool is_inline_namespace(size_t at, size_t after, std::string_view out) const {
    return std::ranges::find(kInlineNamespaces, text_.substr(at, after - at)) != std::end(kInlineNamespaces) &&
           text_.substr(after).starts_with("::") && last_path(out).starts_with("std::");
  }

  // The arguments in the brackets from `start` to `end`, after the name that `out` ends with.
  void add_template(size_t start, size_t end, std::string& out) const {
    std::vector<std::string> arguments;
    std::vector<size_t> ends = brackets_.commas(start + 1, end);
    ends.push_back(end);
    size_t from = start + 1;
    for (size_t comma : ends) {
      arguments.push_back(trimmed(between(from, comma)));
      from = comma + 1;
    }
    const std::string name(last_path(out));
    leave_out_defaults(name, arguments);
    std::string whole = joined(name, arguments);
    if (const std::string alias = character_alias(name, arguments); !alias.empty()) whole = alias;
    for (const Alias& alias : kAliases)
      if (whole == alias.whole) whole = alias.name;
    out.resize(out.size() - name.size());
    out += whole;
  }

  static std::string trimmed(const std::string& text) {
    const size_t first = text.find_first_not_of(' ');
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
  }

  std::string_view text_;
  const Brackets& brackets_;
};

}  // namespace

std::string simplified(const std::string& demangled) {
  if (demangled.find_first_of("<[:") == std::string::npos) return demangled;
  const std::optional<Brackets> brackets = Brackets::find(demangled);
  if (!brackets) return demangled;
  const std::string_view type = parts_of(demangled, *brackets).type;
  const size_t start = type.starts_with("decltype ") || type.starts_with("decltype(") ? type.size() : 0;
  return Simplifier(demangled, *brackets).between(start, demangled.size());
}

}  // namespace prof_names
