#include "ordering.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include "libprof/printable.h"
#include "prof/read/error.h"

namespace prof::gprof {

std::vector<SymbolPlace> read_object_map(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(path + ": cannot be read");
  std::vector<SymbolPlace> places;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':'), last = line.rfind(' ');
    if (colon == std::string::npos || colon == 0 || last == std::string::npos || last < colon) continue;
    // ADDRESS TYPE SYMBOL: the type is one letter, between blanks.
    if (last < 2 || line[last - 2] != ' ' || last + 1 == line.size()) continue;
    places.push_back({line.substr(0, colon), line.substr(last + 1)});
  }
  if (places.empty()) throw Error(path + ": no line is FILE:ADDRESS TYPE SYMBOL; make it with nm --print-file-name");
  return places;
}

namespace {

struct Item {
  std::string name;
  uint64_t calls = 0;  // of it
  bool is_used = false;
};

struct Link {
  uint32_t caller, callee;  // indices of items, not the same
  uint64_t calls;
};

constexpr double kSharedPart = 0.9, kChainedPart = 0.99;  // of all calls
constexpr double kMaxShared = 0.0125;                     // of the functions in question

// The first arcs, that with the most calls first, that make a part of all calls.
std::vector<Link> making_up(const std::vector<Link>& links, double part) {
  double all = 0, sum = 0;
  for (const Link& link : links) all += double(link.calls);
  std::vector<Link> first;
  for (const Link& link : links) {
    if (sum >= part * all) break;
    sum += double(link.calls);
    first.push_back(link);
  }
  return first;
}

// Part 1. By calls.
std::vector<uint32_t> shared_items(const std::vector<Item>& items, const std::vector<Link>& links) {
  std::map<uint32_t, std::set<uint32_t>> callers;
  for (const Link& link : making_up(links, kSharedPart)) callers[link.callee].insert(link.caller);
  std::vector<uint32_t> shared;
  for (const auto& [callee, from] : callers)
    if (from.size() > 1) shared.push_back(callee);
  std::stable_sort(shared.begin(), shared.end(),
                   [&](uint32_t a, uint32_t b) { return items[a].calls > items[b].calls; });
  shared.resize(std::min(shared.size(), size_t(kMaxShared * double(items.size()))));
  return shared;
}

// Items in a row, of which each knows in which.
class Chains {
 public:
  explicit Chains(size_t count) : chains_(count), chain_of_(count) {
    for (uint32_t i = 0; i < count; ++i) chains_[i] = {i};
    std::iota(chain_of_.begin(), chain_of_.end(), 0);
  }

  const std::vector<uint32_t>& of(uint32_t item) const { return chains_[chain_of_[item]]; }

  // Makes one chain of those of two items, of the four ways to do so by that which has them nearest to each other.
  void join(uint32_t a, uint32_t b) {
    const uint32_t to = chain_of_[a], from = chain_of_[b];
    if (to == from) return;
    std::vector<uint32_t>&first = chains_[to], &second = chains_[from];
    // The end of the first and the begin of the second meet.
    if (distance_to_begin(first, a) < distance_to_end(first, a)) std::reverse(first.begin(), first.end());
    if (distance_to_end(second, b) < distance_to_begin(second, b)) std::reverse(second.begin(), second.end());
    for (const uint32_t item : second) chain_of_[item] = to;
    first.insert(first.end(), second.begin(), second.end());
    second.clear();
  }

 private:
  static size_t distance_to_begin(const std::vector<uint32_t>& chain, uint32_t item) {
    return size_t(std::find(chain.begin(), chain.end(), item) - chain.begin());
  }
  static size_t distance_to_end(const std::vector<uint32_t>& chain, uint32_t item) {
    return chain.size() - 1 - distance_to_begin(chain, item);
  }

  std::vector<std::vector<uint32_t>> chains_;
  std::vector<uint32_t> chain_of_;
};

// The order of all items. `links` may name an arc once only.
std::vector<uint32_t> ordered(const std::vector<Item>& items, std::vector<Link> links) {
  std::stable_sort(links.begin(), links.end(), [](const Link& a, const Link& b) { return a.calls > b.calls; });
  std::vector<uint32_t> order;
  std::vector<bool> is_placed(items.size());
  const auto place = [&](uint32_t item) {
    if (!is_placed[item]) order.push_back(item);
    is_placed[item] = true;
  };
  for (const uint32_t item : shared_items(items, links)) place(item);

  const std::vector<Link> chained = making_up(links, kChainedPart);
  Chains chains(items.size());
  for (const Link& link : chained)
    if (!is_placed[link.caller] && !is_placed[link.callee]) chains.join(link.caller, link.callee);
  for (const Link& link : chained) {
    for (const uint32_t end : {link.caller, link.callee})
      if (!is_placed[end])
        for (const uint32_t item : chains.of(end)) place(item);
  }

  std::vector<uint32_t> rest;
  for (uint32_t i = 0; i < items.size(); ++i)
    if (items[i].is_used) rest.push_back(i);
  std::stable_sort(rest.begin(), rest.end(), [&](uint32_t a, uint32_t b) { return items[a].calls > items[b].calls; });
  for (const uint32_t item : rest) place(item);
  for (uint32_t i = 0; i < items.size(); ++i) place(i);
  return order;
}

bool is_used(const Function& f) { return f.calls > 0 || f.self_calls > 0 || f.ticks > 0; }

void print(const std::vector<Item>& items, const std::vector<Link>& links, Output& out) {
  for (const uint32_t item : ordered(items, links)) out.text(prof_text::printable(items[item].name) + "\n");
}

}  // namespace

void print_function_order(const CallGraph& graph, Output& out) {
  std::vector<Item> items;
  for (uint32_t f = 0; f < graph.function_count; ++f) {
    const Function& function = graph.functions[f];
    items.push_back({function.name, function.calls + function.self_calls, is_used(function)});
  }
  std::vector<Link> links;
  for (const Arc& arc : graph.arcs) {
    if (arc.calls == 0) continue;
    items[arc.caller].is_used = true;
    if (arc.caller != arc.callee) links.push_back({arc.caller, arc.callee, arc.calls});
  }
  print(items, links, out);
}

void print_file_order(const CallGraph& graph, const std::vector<SymbolPlace>& places, Output& out) {
  std::map<std::string, std::string> objects;  // by symbol
  for (const SymbolPlace& place : places) objects.try_emplace(place.symbol, place.file);
  std::vector<Item> items;
  std::map<std::string, uint32_t> index;  // of an object file
  const auto item_of = [&](const std::string& object) {
    const auto [at, is_new] = index.try_emplace(object, uint32_t(items.size()));
    if (is_new) items.push_back({object});
    return at->second;
  };
  // In the order of the program's functions, as far as it has them.
  std::vector<uint32_t> item_of_function(graph.function_count, kNone);
  for (uint32_t f = 0; f < graph.function_count; ++f) {
    const Function& function = graph.functions[f];
    const auto object = objects.find(function.name);
    if (object == objects.end()) continue;
    const uint32_t item = item_of_function[f] = item_of(object->second);
    items[item].calls += function.calls + function.self_calls;
    items[item].is_used = items[item].is_used || is_used(function);
  }
  for (const auto& [symbol, object] : objects) item_of(object);

  std::map<std::pair<uint32_t, uint32_t>, uint64_t> calls;
  for (const Arc& arc : graph.arcs) {
    const uint32_t caller = item_of_function[arc.caller], callee = item_of_function[arc.callee];
    if (arc.calls == 0 || caller == kNone) continue;
    items[caller].is_used = true;
    if (callee != kNone && caller != callee) calls[{caller, callee}] += arc.calls;
  }
  std::vector<Link> links;
  for (const auto& [ends, count] : calls) links.push_back({ends.first, ends.second, count});
  print(items, links, out);
}

}  // namespace prof::gprof
