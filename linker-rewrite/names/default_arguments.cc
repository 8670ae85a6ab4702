#include "default_arguments.h"

#include <algorithm>

namespace prof_names {

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

}  // namespace

void leave_out_defaults(std::string_view name, std::vector<std::string>& arguments) {
  const auto known =
      std::find_if(templates().begin(), templates().end(), [&](const Template& t) { return t.name == name; });
  if (known == templates().end()) return;
  while (!arguments.empty() && arguments.size() <= known->arguments.size() &&
         is_default(arguments.back(), known->arguments[arguments.size() - 1], arguments)) {
    arguments.pop_back();
  }
}

}  // namespace prof_names
