#include "contents.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/export/contexts.h"
#include "prof/read/error.h"
#include "prof/read/file.h"
#include "prof/read/header.h"
#include "prof/views/run/views.h"
#include "timeline.h"

namespace prof {

namespace {

using nlohmann::ordered_json;
using prof_text::printable;

// When the first process began.
ordered_json begun(const Analysis& analysis) {
  uint64_t first = UINT64_MAX;
  for (const std::string& path : analysis.profiles) {
    prof_format::Header header;
    try {
      if (!analysis.is_gmon() && peek_at_header(path, header)) first = std::min(first, header.realtime_start);
    } catch (const Error&) {  // it was there a moment ago
    }
  }
  return first == UINT64_MAX || first == 0 ? ordered_json() : ordered_json(first);
}

const char* key_of(Measure measure) {
  switch (measure) {
    case Measure::calls:
      return "calls";
    case Measure::waiting:
      return "waiting";
    case Measure::processor:
      return "processor";
    case Measure::time:
      break;
  }
  return "time";
}

ordered_json table_of(const FlatTable& table) {
  ordered_json titles = ordered_json::array(), rows = ordered_json::array();
  for (const FlatTable::Column& column : table.columns) titles.push_back(column.texts.title);
  for (size_t row = 0; row < table.functions.size(); ++row) {
    ordered_json& cells = rows.emplace_back(ordered_json::array({table.functions[row]}));
    for (const FlatTable::Column& column : table.columns) cells.push_back(column.texts.cells[row]);
  }
  return {{"titles", std::move(titles)}, {"rows", std::move(rows)}};
}

ordered_json functions_of(const Analysis& analysis) {
  std::vector<std::string> names, raw, addresses;
  std::vector<uint32_t> modules;
  for (uint32_t f = 0; f < analysis.functions.functions().size(); ++f) {
    const Function& function = analysis.functions.functions()[f];
    names.push_back(printed_name(analysis, f));
    raw.push_back(function.raw_name == function.name ? "" : printable(function.raw_name));
    modules.push_back(function.object);
    const std::string declared = function.line == 0 ? "0x0" : function.file + ':' + std::to_string(function.line);
    addresses.push_back(function.is_inlined ? printable(declared) : prof_text::hexadecimal(function.address));
  }
  return {{"name", names}, {"raw", raw}, {"module", modules}, {"address", addresses}};
}

ordered_json document_of(const Analysis& analysis) {
  const FlatTable table = flat_table(analysis);
  std::vector<std::string> remarks, modules, measures, names;
  for (const std::string& remark : analysis.remarks) remarks.push_back(printable(remark));
  for (const Object& object : analysis.functions.objects()) modules.push_back(printable(object.name()));
  std::vector<Measure> known = measures_of(analysis);
  if (analysis.by_two_runs())
    known.insert(known.end() - 1, Measure::waiting);  // what is left of the one without the other
  for (const Measure measure : known) {
    measures.emplace_back(key_of(measure));
    names.emplace_back(name_of(measure, analysis));
  }
  return {{"part", part_name(analysis)},
          {"program", printable(base_name(analysis.program))},
          {"header", table.header},
          {"begun", begun(analysis)},
          {"remarks", remarks},
          {"hz", analysis.rate()},
          {"clock", analysis.tsc_hz},
          {"chance", analysis.sampled ? analysis.sampled->weight / analysis.sampled->all : 0.0},
          {"measures", measures},
          {"names", names},
          {"table", table_of(table)},
          {"functions", functions_of(analysis)},
          {"modules", modules},
          {"timeline", timeline_of(analysis)}};
}

// Times of functions that are in no context, as nodes that nobody called.
std::vector<CallNode> without_contexts(const Analysis& analysis) {
  const std::vector<Values> self = self_without_nodes(analysis, measures_of(analysis));
  std::vector<CallNode> nodes;
  for (uint32_t f = 0; f < self.size(); ++f) {
    if (self[f] == Values{}) continue;
    CallNode& node = nodes.emplace_back();
    add_self(node, analysis.sums[f]);
    node.calls = 0;
    node.function = f;
    begin_total(node);
  }
  return nodes;
}

int64_t rounded(double n) { return std::llround(std::clamp(n, -0x1p62, 0x1p62)); }
// What is too great for a difference comes of a damaged profile, and may wrap around.
int64_t difference(uint64_t a, uint64_t b) { return int64_t(a - b); }

// Packs columns of calls and times; of nodes with `parents`, or of sums, where that is empty.
template <class At>
class Times {
 public:
  Times(const Analysis& analysis, std::string prefix, size_t count, const At& at, const std::vector<uint32_t>& parents,
        Packed& packed)
      : analysis_(analysis), prefix_(std::move(prefix)), count_(count), at_(at), parents_(parents), packed_(packed) {}

  void pack() const {
    unsigned_column("calls", [](const auto& n) { return n.calls; });
    unsigned_column("flags", [](const auto& n) { return flags_of(n); });
    if (!analysis_.timed()) return;
    unsigned_column("self", [](const auto& n) { return n.self; });
    signed_column("self_low", [](const auto& n) { return difference(n.self, low(n.self_range)); });
    signed_column("self_high", [](const auto& n) { return difference(high(n.self_range), n.self); });
    total_column(
        "total", [](const auto& n) { return n.total; }, [](const auto& n) { return n.self; });
    total_column(
        "total_low", [](const auto& n) { return low(n.total_range); }, [](const auto& n) { return low(n.self_range); });
    total_column(
        "total_high", [](const auto& n) { return high(n.total_range); },
        [](const auto& n) { return high(n.self_range); });
    if (analysis_.estimated()) {
      unsigned_column("self_error", [](const auto& n) { return uint64_t(rounded(std::sqrt(n.self_variance))); });
      unsigned_column("total_error", [](const auto& n) { return uint64_t(rounded(std::sqrt(n.total_variance))); });
    }
    if (analysis_.has_waiting()) {
      unsigned_column("self_waiting", [](const auto& n) { return n.self_waiting; });
      total_column(
          "total_waiting", [](const auto& n) { return n.total_waiting; }, [](const auto& n) { return n.self_waiting; });
    }
  }

 private:
  static uint64_t low(const Range& range) { return uint64_t(rounded(range.low)); }
  static uint64_t high(const Range& range) { return uint64_t(rounded(range.high)); }

  template <class Node>
  static uint64_t flags_of(const Node& n) {
    bool has_tail_calls = false;
    if constexpr (requires { n.has_tail_calls; }) has_tail_calls = n.has_tail_calls;
    return uint64_t(has_tail_calls) | uint64_t(n.has_estimated_calls) << 1 | uint64_t(n.has_doubtful_calls) << 2 |
           uint64_t(n.has_doubtful_self) << 3 | uint64_t(n.has_doubtful_total) << 4;
  }

  template <class Of>
  void unsigned_column(const char* name, const Of& of) const {
    packed_.column(prefix_ + name, count_);
    for (size_t i = 0; i < count_; ++i) packed_.number(of(at_(i)));
  }
  template <class Of>
  void signed_column(const char* name, const Of& of) const {
    packed_.column(prefix_ + name, count_);
    for (size_t i = 0; i < count_; ++i) packed_.signed_number(of(at_(i)));
  }
  // The totals less what is expected of them. The root has none.
  template <class Of, class OfSelf>
  void total_column(const char* name, const Of& of, const OfSelf& of_self) const {
    std::vector<uint64_t> expected(count_);
    for (size_t i = count_; i-- > 0;) {
      expected[i] += of_self(at_(i));
      if (!parents_.empty() && i != 0) expected[parents_[i]] += of(at_(i));
    }
    packed_.column(prefix_ + name, count_);
    for (size_t i = 0; i < count_; ++i) {
      const bool is_root = !parents_.empty() && i == 0;
      packed_.signed_number(is_root ? 0 : difference(of(at_(i)), expected[i]));
    }
  }

  const Analysis& analysis_;
  const std::string prefix_;
  const size_t count_;
  const At& at_;
  const std::vector<uint32_t>& parents_;
  Packed& packed_;
};

template <class At>
void pack_times(const Analysis& analysis, const char* prefix, size_t count, const At& at,
                const std::vector<uint32_t>& parents, Packed& packed) {
  Times<At>(analysis, prefix, count, at, parents, packed).pack();
}

// The root as a node of no calls and no time: what it has is of code that is not profiled.
const CallNode kRoot;

void pack_nodes(const Analysis& analysis, Packed& packed) {
  const std::vector<CallNode>& nodes = analysis.tree.nodes;
  const std::vector<CallNode> others = without_contexts(analysis);
  const size_t in_tree = std::max<size_t>(nodes.size(), 1), count = in_tree + others.size();
  auto at = [&](size_t i) -> const CallNode& { return i == 0 ? kRoot : i < in_tree ? nodes[i] : others[i - in_tree]; };
  std::vector<uint32_t> parents;
  parents.reserve(count);
  for (size_t i = 0; i < count; ++i) parents.push_back(at(i).parent);
  packed.column("nodes.parent", count);  // how far it is before the node
  for (size_t i = 0; i < count; ++i) packed.number(i - parents[i]);
  packed.column("nodes.function", count);  // less that of the node before
  for (size_t i = 0; i < count; ++i)
    packed.signed_number(int64_t(at(i).function) - int64_t(i == 0 ? 0 : at(i - 1).function));
  pack_times(analysis, "nodes.", count, at, parents, packed);
  if (!analysis.cpu) return;
  const std::vector<CallNode>& others_nodes = analysis.cpu->tree.nodes;
  pack_times(
      analysis, "cpu.nodes.", count, [&](size_t i) -> const CallNode& { return i == 0 ? kRoot : others_nodes[i]; },
      parents, packed);
}

void pack_sums(const Analysis& analysis, Packed& packed) {
  const size_t count = analysis.sums.size();
  packed.column("sums.known", count);
  for (uint32_t f = 0; f < count; ++f)
    packed.number(uint64_t(analysis.counts_calls_of(f)) | uint64_t(analysis.has_total_of(f)) << 1);
  auto sum = [&](size_t f) -> const FunctionSum& { return analysis.sums[f]; };
  pack_times(analysis, "sums.", count, sum, {}, packed);
  if (!analysis.cpu) return;
  auto other = [&](size_t f) -> const FunctionSum& { return analysis.cpu->sums[f]; };
  pack_times(analysis, "cpu.sums.", count, other, {}, packed);
}

}  // namespace

void pack(const Analysis& analysis, Packed& packed) {
  packed.document(document_of(analysis).dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  pack_nodes(analysis, packed);
  pack_sums(analysis, packed);
  pack_timeline(analysis, packed);
}

}  // namespace prof
