#include "two_profiles.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "libprof/printable.h"
#include "prof/read/file.h"
#include "prof/views/compare/difference.h"

namespace prof {

namespace {

using nlohmann::ordered_json;
using prof_text::printable;

// Times are packed in parts of a second: as short as a picosecond, so that the digits that are shown are right, but so
// long that the longest of all has room in the 53 bits of a browser's numbers.
class Unit {
 public:
  explicit Unit(const Difference& d) {
    double longest = 0;
    for (size_t s = 0; s < 2; ++s) {
      longest = std::max(longest, d.all[s].self.mean(d.sides[s].runs));
      for (const ComparedFunction& f : d.functions) longest = std::max(longest, f.sides[s].total.mean(d.sides[s].runs));
      for (const ComparedContext& c : d.contexts) longest = std::max(longest, c.sides[s].total.mean(d.sides[s].runs));
    }
    while (longest * in_second_ > kGreatest && in_second_ > 1) in_second_ /= 10;
  }

  double in_second() const { return in_second_; }
  int64_t of(double seconds) const { return std::llround(std::clamp(seconds * in_second_, -kGreatest, kGreatest)); }

 private:
  static constexpr double kGreatest = 0x1p50;
  double in_second_ = 1e12;
};

// What a column is of: contexts or functions, with their parents, or none.
using Sides = std::array<Figures, 2>;
struct Compared {
  const Sides* sides;
  std::array<bool, 2> occurs;
};
struct Part {
  std::string name;  // "nodes."
  std::vector<Compared> compared;
  std::vector<uint32_t> parents;  // of nodes; empty of sums
};

ordered_json table_of(const DifferenceTable& table) {
  ordered_json titles = ordered_json::array(), rows = ordered_json::array(), sum = ordered_json::array();
  for (const TextColumn& column : table.columns) {
    titles.push_back(column.title);
    sum.push_back(column.cells.back());
  }
  for (size_t row = 0; row < table.functions.size(); ++row) {
    ordered_json& cells = rows.emplace_back(ordered_json::array({table.functions[row]}));
    for (const TextColumn& column : table.columns) cells.push_back(column.cells[row]);
  }
  return {{"titles", std::move(titles)}, {"rows", std::move(rows)}, {"sum", std::move(sum)}};
}

std::string program_of(const Difference& difference) {
  const std::string a = base_name(difference.sides[0].program), b = base_name(difference.sides[1].program);
  return printable(a == b ? a : a + "->" + b);
}

ordered_json document_of(const Difference& difference, const Unit& unit, const std::vector<std::string>& remarks) {
  DifferenceTable table = difference_table(difference, {});
  std::vector<std::string> names, modules, said;
  std::vector<size_t> module_of;
  for (const ComparedFunction& f : difference.functions) {
    names.push_back(name_text(f));
    const std::string module = printable(f.module);
    const auto at = std::find(modules.begin(), modules.end(), module);
    module_of.push_back(size_t(at - modules.begin()));
    if (at == modules.end()) modules.push_back(module);
  }
  for (const std::string& remark : remarks) said.push_back(printable(remark));
  std::vector<std::string> measures = {"calls", "calls_a"}, shown = {"calls_b", "calls_a"};
  if (difference.timed) {
    measures.insert(measures.begin(), {"time", "time_a"});
    shown.insert(shown.begin(), {"time_b", "time_a"});
  }
  const std::vector<std::string> no_raw(names.size()), no_address(names.size(), "0x0");
  return {{"part", ""},
          {"program", program_of(difference)},
          {"header", std::move(table.header)},
          {"begun", ordered_json()},
          {"remarks", said},
          {"hz", unit.in_second()},
          {"clock", 0},
          {"chance", 0},
          {"runs", {difference.sides[0].runs, difference.sides[1].runs}},
          {"measures", measures},
          {"names", shown},
          {"table", table_of(table)},
          {"functions", {{"name", names}, {"raw", no_raw}, {"module", module_of}, {"address", no_address}}},
          {"modules", modules}};
}

// Of functions with self time on a side, and in none of their contexts there: that time, as contexts that nobody
// called.
std::vector<ComparedContext> without_contexts(const Difference& d) {
  std::array<std::vector<bool>, 2> has_self = {std::vector<bool>(d.functions.size()),
                                               std::vector<bool>(d.functions.size())};
  for (size_t i = 1; i < d.contexts.size(); ++i)
    for (size_t s = 0; s < 2; ++s)
      if (d.contexts[i].sides[s].self.mean(1) != 0) has_self[s][d.contexts[i].function] = true;
  std::vector<ComparedContext> others;
  for (uint32_t f = 0; f < d.functions.size(); ++f) {
    ComparedContext context;
    context.function = f;
    for (size_t s = 0; s < 2; ++s) {
      const Figures& from = d.functions[f].sides[s];
      if (has_self[s][f] || from.self.mean(1) == 0) continue;
      Figures& to = context.sides[s];
      to.self = to.total = from.self;
      to.self_range = to.total_range = from.self_range;
      to.self_probe = to.total_probe = from.self_probe;
      to.has_doubtful_self = to.has_doubtful_total = from.has_doubtful_self;
      context.occurs[s] = true;
    }
    if (context.occurs[0] || context.occurs[1]) others.push_back(context);
  }
  return others;
}

// Packs the columns of contexts, or of functions.
class Columns {
 public:
  Columns(const Difference& difference, const Unit& unit, const Part& part, Packed& packed)
      : d_(difference), unit_(unit), part_(part), packed_(packed) {}

  void pack() const {
    pack_side(1, "");
    pack_side(0, "a.");
    pack_changes();
  }

 private:
  // How far what changed may be from what it seems to be.
  struct Ends {
    const Unit& unit;
    std::vector<uint64_t> low, high;
    // Returns whether it is known.
    bool add(const Change& change) {
      low.push_back(uint64_t(unit.of(change.amount() - change.range.low)));
      high.push_back(uint64_t(unit.of(change.range.high - change.amount())));
      return change.is_known;
    }
  };

  void begin(const std::string& name) const { packed_.column(name, part_.compared.size()); }

  void pack_side(size_t side, const std::string& prefix) const {
    const std::string name = prefix + part_.name;
    auto figures = [&](size_t i) -> const Figures& { return (*part_.compared[i].sides)[side]; };
    const size_t count = part_.compared.size(), runs = d_.sides[side].runs;
    begin(name + "calls");
    for (size_t i = 0; i < count; ++i) packed_.number(uint64_t(std::llround(figures(i).calls.mean(1))));
    begin(name + "flags");
    for (size_t i = 0; i < count; ++i)
      packed_.number(uint64_t(figures(i).has_doubtful_calls) << 2 | uint64_t(figures(i).has_doubtful_self) << 3 |
                     uint64_t(figures(i).has_doubtful_total) << 4);
    if (!d_.timed) return;
    begin(name + "self");
    for (size_t i = 0; i < count; ++i) packed_.number(uint64_t(unit_.of(figures(i).self.mean(runs))));
    // Less what is expected of it; see contents.h.
    std::vector<int64_t> expected(count);
    for (size_t i = count; i-- > 0;) {
      expected[i] += unit_.of(figures(i).self.mean(runs));
      if (!part_.parents.empty() && i != 0) expected[part_.parents[i]] += unit_.of(figures(i).total.mean(runs));
    }
    begin(name + "total");
    for (size_t i = 0; i < count; ++i) {
      const bool is_root = !part_.parents.empty() && i == 0;
      packed_.signed_number(is_root ? 0 : unit_.of(figures(i).total.mean(runs)) - expected[i]);
    }
  }

  void pack_changes() const {
    const std::string name = "change." + part_.name;
    std::vector<uint64_t> marks;
    Ends self{unit_, {}, {}}, total{unit_, {}, {}};
    for (const Compared& one : part_.compared) {
      const Change calls = d_.calls(*one.sides);
      marks.push_back(uint64_t(calls.is_known || calls.amount() == 0) | uint64_t(one.occurs[0]) << 3 |
                      uint64_t(one.occurs[1]) << 4);
      if (!d_.timed) continue;
      marks.back() |= uint64_t(self.add(d_.self(*one.sides))) << 1 | uint64_t(total.add(d_.total(*one.sides))) << 2;
    }
    pack_numbers(name + "marks", marks);
    if (!d_.timed) return;
    pack_numbers(name + "self_low", self.low);
    pack_numbers(name + "self_high", self.high);
    pack_numbers(name + "total_low", total.low);
    pack_numbers(name + "total_high", total.high);
  }

  void pack_numbers(const std::string& name, const std::vector<uint64_t>& numbers) const {
    begin(name);
    for (const uint64_t n : numbers) packed_.number(n);
  }

  const Difference& d_;
  const Unit& unit_;
  const Part& part_;
  Packed& packed_;
};

void pack_nodes(const Difference& d, const Unit& unit, Packed& packed) {
  const ComparedContext root;  // without calls and time: what it has is of code that is not profiled
  const std::vector<ComparedContext> others = without_contexts(d);
  std::vector<const ComparedContext*> contexts = {&root};
  for (size_t i = 1; i < d.contexts.size(); ++i) contexts.push_back(&d.contexts[i]);
  for (const ComparedContext& context : others) contexts.push_back(&context);
  Part part{"nodes.", {}, {}};
  for (const ComparedContext* context : contexts) {
    part.compared.push_back({&context->sides, context->occurs});
    part.parents.push_back(context->parent);
  }
  packed.column("nodes.parent", contexts.size());
  for (size_t i = 0; i < contexts.size(); ++i) packed.number(i - contexts[i]->parent);
  packed.column("nodes.function", contexts.size());
  for (size_t i = 0; i < contexts.size(); ++i)
    packed.signed_number(int64_t(contexts[i]->function) - int64_t(i == 0 ? 0 : contexts[i - 1]->function));
  Columns(d, unit, part, packed).pack();
}

void pack_sums(const Difference& d, const Unit& unit, Packed& packed) {
  packed.column("sums.known", d.functions.size());
  for (const ComparedFunction& f : d.functions) packed.number(uint64_t(f.has_calls) | 2);
  Sides all = d.all;
  for (Figures& side : all) {
    side.total = side.self;
    side.total_range = side.self_range;
    side.total_probe = side.self_probe;
    side.has_doubtful_total = side.has_doubtful_self;
  }
  Part part{"sums.", {}, {}};
  for (const ComparedFunction& f : d.functions) part.compared.push_back({&f.sides, f.occurs});
  part.compared.push_back({&all, {true, true}});
  Columns(d, unit, part, packed).pack();
}

}  // namespace

void pack(const Difference& difference, const std::vector<std::string>& remarks, Packed& packed) {
  const Unit unit(difference);
  packed.document(document_of(difference, unit, remarks).dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  pack_nodes(difference, unit, packed);
  pack_sums(difference, unit, packed);
}

}  // namespace prof
