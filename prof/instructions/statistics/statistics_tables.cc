#include "statistics_tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/read/file.h"
#include "prof/views/text/json_writer.h"
#include "prof/views/text/numbers.h"
#include "prof/views/text/text_columns.h"

namespace prof {

namespace {

using Cell = StatisticsTable::Cell;

double percent_of(uint64_t part, uint64_t whole) { return whole ? double(part) * 100 / double(whole) : 0; }

// By address, the functions of one module after the other.
std::vector<uint32_t> in_order(const TraceCounts& counts, const TraceNames& names) {
  std::vector<uint32_t> order(counts.instructions().size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](uint32_t i) {
    const CountedInstruction& in = counts.instructions()[i];
    return std::make_tuple(names.functions()[in.place.function].module, in.address, i);
  };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  return order;
}

// "main+0x1c".
std::string spot(const CountedInstruction& in, const TraceNames& names) {
  const TracedFunction& f = names.functions()[in.place.function];
  if (!in.place.address || !f.entry) return f.name + " " + prof_text::hexadecimal(in.address);
  return in.address == f.entry ? f.name : f.name + "+" + prof_text::hexadecimal(in.address - f.entry);
}

struct Sum {
  uint64_t instructions = 0, loads = 0, stores = 0;
  void add(const CountedInstruction& in) {
    instructions += in.executions;
    loads += in.loads;
    stores += in.stores;
  }
};

class Tables {
 public:
  Tables(const TraceCounts& counts, const MemoryStatistics& memory, TraceNames& names, bool has_memory)
      : counts_(counts), memory_(memory), names_(names), has_memory_(has_memory), order_(in_order(counts, names)) {}

  StatisticsTable functions() const {
    StatisticsTable table = with_sums("functions", "Functions");
    table.columns.push_back({"module", ""});
    table.columns.push_back({"function", "function"});
    std::map<uint32_t, Sum> sums;
    for (const CountedInstruction& in : counts_.instructions()) sums[in.place.function].add(in);
    for (const auto& [function, sum] : sums) {
      const TracedFunction& f = names_.functions()[function];
      add(table, sum, {names_.module_names()[f.module], f.name});
    }
    sort_by_use(table);
    return table;
  }

  StatisticsTable lines() {
    StatisticsTable table = with_sums("lines", "Lines of the source");
    table.columns.push_back({"file", ""});
    table.columns.push_back({"line", ""});
    table.columns.push_back({"place", "line"});
    std::map<std::pair<std::string, unsigned>, Sum> sums;
    for (const CountedInstruction& in : counts_.instructions()) {
      const std::optional<SourceLine> line = names_.line(in.place);
      if (line) sums[{line->file, line->line}].add(in);
    }
    for (const auto& [line, sum] : sums)
      add(table, sum, {line.first, uint64_t(line.second), base_name(line.first) + ":" + std::to_string(line.second)});
    sort_by_use(table);
    return table;
  }

  StatisticsTable mix() const {
    StatisticsTable table = with_sums("mix", "Kinds of instructions");
    table.columns.push_back({"kind", "kind"});
    std::array<Sum, kInstructionKinds> sums;
    for (const CountedInstruction& in : counts_.instructions()) sums[size_t(in.kind)].add(in);
    for (size_t kind = 0; kind < sums.size(); ++kind)
      if (sums[kind].instructions) add(table, sums[kind], {std::string(name_of(InstructionKind(kind)))});
    sort_by_use(table);
    return table;
  }

  StatisticsTable branches() const {
    StatisticsTable table{"branches",
                          "Branches",
                          {{"executions", "executions"},
                           {"taken", "taken"},
                           {"not_taken", "not taken"},
                           {"taken_percent", "taken%"},
                           {"module", ""},
                           {"address", ""},
                           {"place", "branch"}},
                          {},
                          true};
    for (const uint32_t i : order_) {
      const CountedInstruction& in = counts_.instructions()[i];
      if (!in.is_branch()) continue;
      const double percent = percent_of(in.taken, in.taken + in.not_taken);
      table.rows.push_back({in.executions, in.taken, in.not_taken, percent, module_of(in),
                            prof_text::hexadecimal(in.address), spot(in, names_)});
    }
    sort_by_use(table);
    return table;
  }

  StatisticsTable targets() const {
    StatisticsTable table{"targets",
                          "Targets of indirect jumps and calls",
                          {{"times", "times"},
                           {"percent", "%"},
                           {"module", ""},
                           {"address", ""},
                           {"from", ""},
                           {"target_address", ""},
                           {"target", ""},
                           {"place", "from -> target"}},
                          {},
                          true};
    for (const uint32_t i : order_) {
      const CountedInstruction& in = counts_.instructions()[i];
      for (const auto& [index, times] : in.targets) {
        const CountedInstruction& target = counts_.instructions()[index];
        const std::string from = spot(in, names_), to = spot(target, names_);
        table.rows.push_back({times, percent_of(times, in.executions), module_of(in),
                              prof_text::hexadecimal(in.address), from, prof_text::hexadecimal(target.address), to,
                              from + " -> " + to});
      }
    }
    sort_by_use(table);
    return table;
  }

  // Stretches of code of which each instruction ran equally often.
  StatisticsTable regions() const {
    StatisticsTable table{"regions",
                          "Hot regions",
                          {{"instructions", "instructions"},
                           {"percent", "%"},
                           {"executions", "executions"},
                           {"bytes", "bytes"},
                           {"module", ""},
                           {"address", ""},
                           {"place", "region"}},
                          {},
                          true};
    const auto& all = counts_.instructions();
    for (size_t i = 0; i < order_.size();) {
      const CountedInstruction& first = all[order_[i]];
      uint64_t instructions = 0, end = first.address;
      for (; i < order_.size(); ++i) {
        const CountedInstruction& in = all[order_[i]];
        if (in.address != end || in.place.function != first.place.function || in.executions != first.executions) break;
        instructions += in.executions;
        end += in.length;
      }
      table.rows.push_back({instructions, percent_of(instructions, counts_.total()), first.executions,
                            end - first.address, module_of(first), prof_text::hexadecimal(first.address),
                            spot(first, names_)});
    }
    sort_by_use(table);
    return table;
  }

  StatisticsTable working_set() const {
    StatisticsTable table{
        "working-set", "Working set by time", {{"code_pages", "code pages"}, {"code_lines", "code lines"}}, {}, false};
    if (has_memory_) {
      table.columns.push_back({"data_pages", "data pages"});
      table.columns.push_back({"data_lines", "data lines"});
    }
    table.columns.push_back({"instructions", ""});
    table.columns.push_back({"first_instruction", ""});
    table.columns.push_back({"range", "instructions"});
    for (const WorkingSetWindow& w : memory_.working_set().windows()) {
      std::vector<Cell> row = {w.code_pages, w.code_lines};
      if (has_memory_) row.insert(row.end(), {w.data_pages, w.data_lines});
      row.insert(row.end(), {w.instructions, w.first_instruction,
                             std::to_string(w.first_instruction) + "-" +
                                 std::to_string(w.first_instruction + w.instructions - 1)});
      table.rows.push_back(std::move(row));
    }
    return table;
  }

  StatisticsTable reuse() const {
    StatisticsTable table{
        "reuse",
        "Reuse distances, in lines of 64 bytes",
        {{"touches", "touches"}, {"percent", "%"}, {"least", ""}, {"most", ""}, {"range", "distance"}},
        {},
        false};
    if (!memory_.reuse()) return table;
    const auto& counts = memory_.reuse()->counts();
    uint64_t all = memory_.reuse()->first_touches();
    for (const uint64_t count : counts) all += count;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (!counts[i]) continue;
      const uint64_t least = i ? uint64_t(1) << (i - 1) : 0, most = i ? least * 2 - 1 : 0;
      std::string range = std::to_string(least);
      if (most > least) range += "-" + std::to_string(most);
      table.rows.push_back({counts[i], percent_of(counts[i], all), least, most, range});
    }
    const uint64_t first = memory_.reuse()->first_touches();
    if (first)
      table.rows.push_back({first, percent_of(first, all), uint64_t(0), uint64_t(0), std::string("first touch")});
    return table;
  }

  StatisticsTable caches() const {
    StatisticsTable table{"cache",
                          "Caches",
                          {{"references", "references"},
                           {"first_misses", "misses"},
                           {"first_percent", "%"},
                           {"last_misses", "last-level"},
                           {"last_percent", "%"},
                           {"kind", "kind"}},
                          {},
                          false};
    if (!memory_.caches()) return table;
    const CacheMisses& m = memory_.caches()->misses();
    const auto add_kind = [&](uint64_t references, uint64_t first, uint64_t last, const char* kind) {
      if (references)
        table.rows.push_back(
            {references, first, percent_of(first, references), last, percent_of(last, references), std::string(kind)});
    };
    add_kind(m.instructions, m.first_instructions, m.last_instructions, "instructions");
    add_kind(m.loads, m.first_loads, m.last_loads, "loads");
    add_kind(m.stores, m.first_stores, m.last_stores, "stores");
    return table;
  }

 private:
  StatisticsTable with_sums(const char* name, const char* title) const {
    StatisticsTable table{name, title, {{"instructions", "instructions"}, {"percent", "%"}}, {}, true};
    if (has_memory_) table.columns.insert(table.columns.end(), {{"loads", "loads"}, {"stores", "stores"}});
    return table;
  }
  void add(StatisticsTable& table, const Sum& sum, std::vector<Cell> rest) const {
    std::vector<Cell> row = {sum.instructions, percent_of(sum.instructions, counts_.total())};
    if (has_memory_) row.insert(row.end(), {sum.loads, sum.stores});
    row.insert(row.end(), rest.begin(), rest.end());
    table.rows.push_back(std::move(row));
  }
  static void sort_by_use(StatisticsTable& table) {
    std::stable_sort(table.rows.begin(), table.rows.end(),
                     [](const auto& a, const auto& b) { return std::get<uint64_t>(a[0]) > std::get<uint64_t>(b[0]); });
  }
  const std::string& module_of(const CountedInstruction& in) const {
    return names_.module_names()[names_.functions()[in.place.function].module];
  }

  const TraceCounts& counts_;
  const MemoryStatistics& memory_;
  TraceNames& names_;
  bool has_memory_;
  std::vector<uint32_t> order_;
};

}  // namespace

const std::vector<std::string>& statistics_table_names() {
  static const std::vector<std::string> names = {"functions", "lines",       "mix",   "branches", "targets",
                                                 "regions",   "working-set", "reuse", "cache"};
  return names;
}

std::vector<StatisticsTable> statistics_tables(const TraceCounts& counts, const MemoryStatistics& memory,
                                               TraceNames& names, bool has_memory) {
  Tables tables(counts, memory, names, has_memory);
  std::vector<StatisticsTable> all = {tables.functions(),   tables.lines(),   tables.mix(),
                                      tables.branches(),    tables.targets(), tables.regions(),
                                      tables.working_set(), tables.reuse(),   tables.caches()};
  std::erase_if(all, [](const StatisticsTable& table) { return table.rows.empty(); });
  return all;
}

namespace {

using Cell = StatisticsTable::Cell;

std::string text_of(const Cell& cell) {
  if (const auto* number = std::get_if<uint64_t>(&cell)) return std::to_string(*number);
  if (const auto* percent = std::get_if<double>(&cell)) return decimal(*percent, 2);
  return prof_text::printable(std::get<std::string>(cell));
}

void write(const Cell& cell, JsonWriter& json) {
  if (const auto* percent = std::get_if<double>(&cell)) return json.value(*percent, 2);
  std::visit([&](const auto& value) { json.value(value); }, cell);
}

void print_table(const StatisticsTable& table, const StatisticsForm& form, Output& out) {
  const size_t rows = table.is_sorted_by_use ? std::min(form.rows, table.rows.size()) : table.rows.size();
  std::vector<TextColumn> columns;
  std::vector<NamedLine> lines(rows);
  size_t last = 0;
  for (size_t c = 0; c < table.columns.size(); ++c)
    if (!table.columns[c].title.empty()) last = c;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].title.empty()) continue;
    if (c == last) {
      for (size_t r = 0; r < rows; ++r) lines[r].name = text_of(table.rows[r][c]);
      continue;
    }
    TextColumn& column = columns.emplace_back(TextColumn{table.columns[c].title});
    for (size_t r = 0; r < rows; ++r) column.cells.push_back(text_of(table.rows[r][c]));
  }
  out.text("\n" + table.title);
  if (rows < table.rows.size())
    out.text(" (" + std::to_string(rows) + " of " + std::to_string(table.rows.size()) + ")");
  out.text("\n");
  print_columns(std::move(columns), lines, form.terminal, out);
}

std::string words_of(const std::vector<std::string>& command) {
  std::string text;
  for (size_t i = 1; i < command.size(); ++i) text += (i > 1 ? " " : "") + command[i];
  if (text.empty() && !command.empty()) text = command[0];
  return prof_text::printable(text);
}

void print_numbers(const TraceSummary& summary, Output& out) {
  std::string text = prof_text::count_of(summary.threads, "thread");
  if (summary.has_memory)
    text =
        prof_text::count_of(summary.loads, "load") + ", " + prof_text::count_of(summary.stores, "store") + ", " + text;
  if (summary.system_calls) text += ", " + prof_text::count_of(summary.system_calls, "system call");
  if (summary.signals) text += ", " + prof_text::count_of(summary.signals, "signal");
  if (!summary.end.empty()) text += ", " + summary.end;
  if (summary.is_partial) text += ", partial";
  out.text(text + "\n");
}

}  // namespace

void print_statistics_text(const TraceSummary& summary, const std::vector<StatisticsTable>& tables,
                           const StatisticsForm& form, Output& out) {
  out.text(std::to_string(summary.instructions) + " instructions\n");
  print_numbers(summary, out);
  if (!summary.command.empty()) out.text(words_of(summary.command) + "\n");
  for (const StatisticsTable& table : tables) print_table(table, form, out);
}

void print_statistics_json(const TraceSummary& summary, const std::vector<StatisticsTable>& tables, Output& out) {
  JsonWriter json(out);
  json.begin_object();
  json.member("instructions", summary.instructions);
  if (summary.has_memory) {
    json.member("loads", summary.loads);
    json.member("stores", summary.stores);
  }
  json.member("threads", summary.threads);
  json.member("system_calls", summary.system_calls);
  json.member("signals", summary.signals);
  json.member("origin", summary.origin);
  json.member("partial", summary.is_partial);
  json.member("end", summary.end);
  json.begin_array("command");
  for (const std::string& word : summary.command) json.value(word);
  json.end_array();
  for (const StatisticsTable& table : tables) {
    json.new_line();
    json.any_name(table.name);
    json.begin_array();
    for (const std::vector<Cell>& row : table.rows) {
      json.new_line();
      json.begin_object();
      for (size_t c = 0; c < row.size(); ++c) {
        json.any_name(table.columns[c].name);
        write(row[c], json);
      }
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
  out.byte('\n');
}

void print_statistics_csv(const TraceSummary& summary, const std::vector<StatisticsTable>& tables, Output& out) {
  out.text("table,instructions,loads,stores,threads,partial\ntrace," + std::to_string(summary.instructions) + "," +
           (summary.has_memory ? std::to_string(summary.loads) + "," + std::to_string(summary.stores) : ",") + "," +
           std::to_string(summary.threads) + "," + (summary.is_partial ? "1" : "0") + "\n");
  for (const StatisticsTable& table : tables) {
    std::string titles = "table";
    for (const StatisticsTable::Column& column : table.columns) titles += "," + column.name;
    out.text(titles + "\n");
    for (const std::vector<Cell>& row : table.rows) {
      std::string line = table.name;
      for (const Cell& cell : row) line += "," + csv_field(text_of(cell));
      out.text(line + "\n");
    }
  }
}

}  // namespace prof
