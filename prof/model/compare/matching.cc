#include "matching.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "linker-rewrite/names/demangle.h"
#include "linker-rewrite/names/parts.h"
#include "prof/model/program/symbols.h"

namespace prof {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Rust's older names end with a part made of a hash, which every change of the crate changes.
bool is_rust_hash(std::string_view part) {
  return part.size() == 17 && part[0] == 'h' &&
         std::ranges::all_of(part.substr(1), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::string without_parameters(const std::string& full) {
  const std::optional<prof_names::Brackets> brackets = prof_names::Brackets::find(full);
  if (!brackets) return full;
  const prof_names::Parts parts = prof_names::parts_of(full, *brackets);
  std::string name(parts.path.front().data(), parts.path.back().data() + parts.path.back().size());
  const size_t part = name.rfind("::");
  if (part != std::string::npos && is_rust_hash(std::string_view(name).substr(part + 2))) name.resize(part);
  return name;
}

std::string without_numbers(const std::string& full) {
  const std::string name = without_parameters(full);
  std::string text;
  for (const char c : name) {
    const bool is_counted = text.ends_with('#') || text.ends_with("$_");  // as GCC and Clang write it
    if (is_digit(c) && is_counted) continue;
    text += c;
  }
  return text;
}

namespace {

class Matcher {
 public:
  Matcher(const std::vector<MatchedFunction>& first, const std::vector<MatchedFunction>& second)
      : first_(first), second_(second), is_taken_(first.size()), match_(second.size(), kNoFunction) {}

  // A key is what functions of one module must have in common; those with "" have nothing in common with any.
  using Key = std::function<std::string(const MatchedFunction&)>;

  void pass(bool by_calls, const Key& key) {
    std::unordered_map<std::string, std::vector<uint32_t>> left = left_over(by_calls, key);
    std::vector<uint32_t> order;
    for (uint32_t f = 0; f < second_.size(); ++f)
      if (match_[f] == kNoFunction) order.push_back(f);
    sort(second_, by_calls, order);
    std::unordered_map<std::string, size_t> next;
    for (const uint32_t f : order) {
      const std::string k = in_module(second_[f], key);
      const auto found = left.find(k);
      if (k.empty() || found == left.end()) continue;
      const size_t n = next[k]++;
      if (n >= found->second.size()) continue;
      match_[f] = found->second[n];
      is_taken_[match_[f]] = true;
    }
  }

  std::vector<uint32_t> result() { return std::move(match_); }

 private:
  static std::string in_module(const MatchedFunction& f, const Key& key) {
    const std::string k = key(f);
    return k.empty() ? "" : f.module + '\0' + k;
  }

  static void sort(const std::vector<MatchedFunction>& functions, bool by_calls, std::vector<uint32_t>& order) {
    std::sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
      const MatchedFunction &a = functions[x], &b = functions[y];
      if (by_calls && a.calls != b.calls) return a.calls > b.calls;
      return a.address != b.address ? a.address < b.address : x < y;
    });
  }

  // Of `first`, by key.
  std::unordered_map<std::string, std::vector<uint32_t>> left_over(bool by_calls, const Key& key) const {
    std::vector<uint32_t> order;
    for (uint32_t f = 0; f < first_.size(); ++f)
      if (!is_taken_[f]) order.push_back(f);
    sort(first_, by_calls, order);
    std::unordered_map<std::string, std::vector<uint32_t>> left;
    for (const uint32_t f : order)
      if (std::string k = in_module(first_[f], key); !k.empty()) left[std::move(k)].push_back(f);
    return left;
  }

  const std::vector<MatchedFunction>&first_, &second_;
  std::vector<bool> is_taken_;
  std::vector<uint32_t> match_;
};

}  // namespace

std::vector<uint32_t> match(const std::vector<MatchedFunction>& first, const std::vector<MatchedFunction>& second) {
  using F = MatchedFunction;
  auto named = [](const F& f, std::string name) { return f.has_name ? std::move(name) : std::string(); };
  Matcher m(first, second);
  m.pass(false, [](const F& f) {
    return f.build_id.empty() || !f.has_address ? "" : f.build_id + ' ' + std::to_string(f.address);
  });
  m.pass(false, [&](const F& f) { return named(f, f.raw_name); });
  m.pass(false, [&](const F& f) { return named(f, f.name); });
  const auto stem = [](const F& f) { return std::string(prof_names::without_clone(f.raw_name)); };
  m.pass(true, [&](const F& f) { return named(f, stem(f)); });
  const auto readable = [&](const F& f) { return prof_names::demangled(stem(f)); };
  m.pass(true, [&](const F& f) { return named(f, without_parameters(readable(f))); });
  m.pass(true, [&](const F& f) { return named(f, without_numbers(readable(f))); });
  return m.result();
}

}  // namespace prof
