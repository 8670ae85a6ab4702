// Templates: templates ROUNDS. Most of what runs was instantiated from the standard library's: containers of
// containers, a regular expression, a sort with a comparison of tuples, type-erased functions. What it prints depends
// on nothing but ROUNDS.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

using Value = std::variant<long, std::string, std::vector<long>>;

struct Size {
  size_t operator()(long n) const { return size_t(n); }
  size_t operator()(const std::string& s) const { return s.size(); }
  size_t operator()(const std::vector<long>& v) const { return v.size(); }
};

std::string name_of(unsigned i) { return "item-" + std::to_string(i * 7919 % 1009) + (i % 3 ? "=x" : ""); }

size_t round(unsigned r) {
  std::map<std::string, std::unordered_map<unsigned, Value>> groups;
  for (unsigned i = 0; i < 400; ++i) {
    const std::string name = name_of(i + r);
    auto& group = groups[name.substr(0, 7)];
    if (i % 3 == 0) group[i] = long(i);
    if (i % 3 == 1) group[i] = name;
    if (i % 3 == 2) group[i] = std::vector<long>(i % 11, long(i));
  }
  static const std::regex pattern("(item)-([0-9]{1,2})[0-9]*(=x)?");
  std::vector<std::tuple<size_t, std::string, unsigned>> found;
  for (const auto& [key, group] : groups) {
    for (const auto& [i, value] : group) {
      std::smatch parts;
      const std::string name = name_of(i);
      if (std::regex_match(name, parts, pattern))
        found.emplace_back(std::visit(Size(), value), parts[2].str() + key, i);
    }
  }
  std::sort(found.begin(), found.end());
  const std::vector<std::function<size_t(size_t)>> steps = {[](size_t n) { return n + 1; },
                                                            [r](size_t n) { return n ^ r; }, std::negate<size_t>()};
  size_t sum = 0;
  for (const auto& [size, text, i] : found) sum = steps[i % steps.size()](sum * 31 + size + text.size());
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned rounds = argc > 1 ? unsigned(std::atoi(argv[1])) : 1;
  size_t sum = 0;
  for (unsigned r = 0; r < rounds; ++r) sum += round(r);
  std::printf("%zx\n", sum);
}
