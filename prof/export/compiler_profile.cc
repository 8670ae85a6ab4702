// Profiles for compilers, which make a faster program if they know how often each place of it runs: for clang
// -fprofile-sample-use and gcc -fauto-profile.
//
// The problem. A compiler has no addresses when it wants to know how often a place runs, only the source. So counts of
// blocks of the finished program have to be those of places in the source, as the compiler will name them: the function
// that has the code, the calls in it that were inlined, a line and a discriminator in the last of these. Debug
// information has all of that, for each row of the line table.
//
// One place of the source may have several pieces of code: a loop that was unrolled, the blocks that one expression was
// made of. Each is a part of it that ran so often, and the greatest of them is how often the place ran. Where clang
// itself made copies of a place that share its executions, as in a loop that does four turns in one, it wrote their
// number into the discriminator: the count is multiplied by that.
//
// Several bodies of one function, as work and work.constprop.0, ran one beside the other: theirs are added up, and so
// are those of processes that are shown apart.

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exports.h"
#include "linker-rewrite/names/demangle.h"
#include "prof/model/blocks/annotation.h"
#include "prof/model/blocks/call_sites.h"
#include "prof/model/blocks/executions.h"
#include "prof/model/program/object_debug_info.h"
#include "prof/model/tree/modules.h"
#include "prof/read/error.h"

namespace prof {

namespace {

// What clang writes into a discriminator (llvm/IR/DebugInfoMetadata.h): three numbers, from the lowest bits on. The
// first tells blocks of one line apart, the second is by how much counts have to be multiplied. Each is one bit 1 if it
// is 0; else a bit 0, five bits of it, and a bit that says whether seven more follow.
struct ClangDiscriminator {
  explicit ClangDiscriminator(unsigned bits) : block(take(bits)), factor(std::max(1u, take(bits))) {}
  unsigned block, factor;

 private:
  static unsigned take(unsigned& bits) {
    if (bits & 1) return bits >>= 1, 0;
    const bool is_long = bits & 0x40;
    const unsigned number = (bits >> 1 & 0x1f) | (is_long ? bits >> 2 & 0xfe0 : 0);
    bits >>= is_long ? 14 : 7;
    return number;
  }
};

// Where something stands in a function.
struct Place {
  unsigned line = 0;  // from the function's name on
  unsigned discriminator = 0;
  auto operator<=>(const Place&) const = default;
};

// How often the places of a function ran. What was inlined into it is at the places of the calls.
struct Counts {
  uint64_t calls = 0;
  std::map<Place, uint64_t> lines;
  std::map<Place, std::map<std::string, uint64_t>> callees;
  std::map<std::pair<Place, std::string>, Counts> inlined;

  uint64_t total() const {
    uint64_t sum = 0;
    for (const auto& [place, count] : lines) sum += count;
    for (const auto& [call, counts] : inlined) sum += counts.total();
    return sum;
  }

  void add(const Counts& more) {
    calls += more.calls;
    for (const auto& [place, count] : more.lines) lines[place] += count;
    for (const auto& [place, functions] : more.callees)
      for (const auto& [function, count] : functions) callees[place][function] += count;
    for (const auto& [call, counts] : more.inlined) inlined[call].add(counts);
  }
};

using Profile = std::map<std::string, Counts>;  // by the names of functions

void raise(uint64_t& count, uint64_t at_least) { count = std::max(count, at_least); }

enum class Compiler { clang, gcc };

// The counts of one profile.
class Collector {
 public:
  Collector(const Analysis& part, const DebugSearch& search, Compiler compiler)
      : part_(part),
        search_(search),
        is_for_clang_(compiler == Compiler::clang),
        objects_(part.functions, search),
        executions_(part.blocks),
        modules_(part) {}

  void collect() {
    for (const BlockCount& block : part_.blocks)
      if (modules_.is_wanted(block.object)) add(block);
    add_calls_of_functions();
    if (is_for_clang_) add_calls_of_places();
  }

  // Adds them, bodies of one name together.
  void add_to(Profile& profile) const {
    for (const auto& [body, function] : functions_) profile[function.name].add(function.counts);
  }

  // Why there are none, if that is so; else "".
  std::string problem() const {
    if (!functions_.empty()) return "";
    if (std::string problem = modules_.problem(part_.profiles.at(0)); !problem.empty()) return problem;
    const std::string program = part_.functions.program().name();
    const std::vector<std::string> problems = problems_of_debug_info();
    if (!problems.empty()) return problems[0];
    if (has_functions_)
      return program +
             ": its debug information does not say where functions begin in the source; compile with -g or "
             "-fdebug-info-for-profiling";
    return program + ": no block that ran is of a function with debug information";
  }

  // What the user ought to know of the counts.
  std::vector<std::string> remarks() {
    SourceText sources = sources_of(part_, search_);
    for (const auto& [file, last_line] : files_)
      sources.note_program(file.second, last_line, objects_.at(file.first).code.time_made());
    std::vector<std::string> remarks = sources.remarks(false);
    const std::vector<std::string> problems = problems_of_debug_info();
    remarks.insert(remarks.end(), problems.begin(), problems.end());
    if (const int percent = percent_of(executions_left_out_, executions_of_all_); percent > 0)
      remarks.push_back(
          part_.functions.program().name() + ": " + std::to_string(percent) +
          " % of what ran is left out: the debug information has no source line or no symbol name for it");
    for (std::string& remark : modules_.remarks_on_coverage()) remarks.push_back(std::move(remark));
    constexpr uint64_t kMany = 500;  // of so many rows of the line table, some have one if any has
    if (is_for_clang_ && rows_of_clang_ > kMany && !has_discriminators_)
      remarks.push_back(part_.functions.program().name() +
                        ": what stands several times in one line is not told apart; compile with "
                        "-fdebug-info-for-profiling");
    return remarks;
  }

 private:
  // A body of a function: there are several if the compiler made special ones of it.
  struct Body {
    std::string name;
    Counts counts;
  };
  // A place in the counts of a body, or of what was inlined into it.
  struct Found {
    Counts* counts = nullptr;  // null if it is not known
    Place place;
    unsigned factor = 1;
  };

  static int percent_of(uint64_t part, uint64_t all) {
    return all == 0 ? 0 : int(double(part) / double(all) * 100 + 0.5);
  }

  // Of what was looked at; without those objects that have none at all, if others have.
  std::vector<std::string> problems_of_debug_info() const {
    std::vector<std::string> problems;
    objects_.each([&](uint32_t, const std::string& name, const OpenedObject& object) {
      const std::string problem = functions_.empty() ? object.info.problem() : object.info.unreadable();
      if (!problem.empty()) problems.push_back(name + ": " + problem);
    });
    return problems;
  }

  // The place that a position in a file is at, in a function that is declared in a line of it.
  Place place_in(const InlinedFrame& function, const SourcePosition& position, bool is_of_clang) {
    return {(position.line - function.line) & 0xffff,  // as both compilers have it
            is_of_clang && is_for_clang_ ? ClangDiscriminator(position.discriminator).block : 0};
  }

  Found find(uint32_t object, uint64_t address, const LineRow& row) {
    const std::optional<CodeOrigin> origin = objects_.at(object).info.origin_at(address);
    if (!origin || row.line == 0) return {};
    has_functions_ = true;
    const InlinedFrame* function = origin->function;
    const auto [body, is_new] = functions_.try_emplace(origin->body);
    if (is_new) body->second.name = function->line == 0 ? "" : name_with_code(object, address, *function);
    if (body->second.name.empty()) {
      functions_.erase(body);
      return {};
    }
    const bool is_of_clang = is_of_clang_at(object, address);
    const auto has_no_name = [&](const InlinedCall& call) {
      return call.callee->line == 0 || name_of(*call.callee).empty();
    };
    if (std::ranges::any_of(origin->calls, has_no_name)) return {};
    Counts* counts = &body->second.counts;
    for (const InlinedCall& call : origin->calls) {
      counts = &counts->inlined[{place_in(*function, call.call, is_of_clang), name_of(*call.callee)}];
      function = call.callee;
    }
    if (is_of_clang) ++rows_of_clang_;
    has_discriminators_ = has_discriminators_ || row.discriminator != 0;
    return {counts, place_in(*function, {row.line, row.discriminator}, is_of_clang),
            is_of_clang ? ClangDiscriminator(row.discriminator).factor : 1};
  }

  // Compiled by clang, or another with the same code generator. Discriminators of others are not what clang looks for.
  bool is_of_clang_at(uint32_t object, uint64_t address) {
    ObjectDebugInfo& info = objects_.at(object).info;
    const auto [at, is_new] = is_of_clang_.try_emplace(&info.rows_at(address));
    if (is_new) {
      const std::string producer = info.producer_at(address);
      at->second = producer.find("clang") != std::string::npos || producer.find("LLVM") != std::string::npos;
    }
    return at->second;
  }

  // One that was made of scopes in the source ("main::{lambda#1}::operator()") is none, and LLVM's text has colons and
  // blanks between its fields.
  static bool is_for_linkers(const std::string& name) {
    return std::ranges::all_of(name, [](unsigned char c) { return c > ' ' && c != ':' && c != 0x7f; });
  }

  // The name by which the compiler looks for a function, "" if there is none: that for linkers, or of functions that
  // have none, with gcc, that in the source.
  std::string name_of(const InlinedFrame& function) const {
    return is_for_linkers(function.raw_name) ? function.raw_name : is_for_clang_ ? "" : function.source_name;
  }

  // The same of the function that has the code at an address. gcc does not say the name for linkers of static functions
  // of C++, whose symbols do.
  std::string name_with_code(uint32_t o, uint64_t address, const InlinedFrame& function) const {
    const Object& object = part_.functions.objects()[o];
    const std::optional<uint64_t> entry = object.entry_of_original(address);
    const Symbol* symbol = entry && !function.raw_name.starts_with("_Z") ? object.symbols().find(*entry) : nullptr;
    const std::string_view name = symbol ? prof_names::without_clone(symbol->name) : "";
    return name.starts_with("_Z") ? std::string(name) : name_of(function);
  }

  // The same of any function.
  std::string name_of(const Function& function) {
    if (!function.is_import)
      if (const auto origin = objects_.at(function.object).info.origin_at(function.address))
        return name_with_code(function.object, function.address, *origin->function);
    return function.has_name && is_for_linkers(function.raw_name) ? function.raw_name : "";
  }

  void add(const BlockCount& block) {
    const std::vector<LineRow>& rows = objects_.at(block.object).info.rows_at(block.address);
    auto row = std::ranges::upper_bound(rows, block.address, {}, &LineRow::end);
    bool has_place = false;
    for (; row != rows.end() && row->start < block.address + block.size; ++row) {
      const Found found = find(block.object, std::max(row->start, block.address), *row);
      if (!found.counts) continue;
      has_place = true;
      raise(found.counts->lines[found.place], block.count * found.factor);
      if (block.count == 0) continue;
      uint32_t& last_line = files_[{block.object, row->path}];
      last_line = std::max(last_line, row->line);
    }
    executions_of_all_ += block.count;
    if (!has_place) executions_left_out_ += block.count;
  }

  // A part of a function that the compiler made a function of: its calls are none of the function's.
  static bool is_part(const Function& function) { return function.raw_name.find(".part.") != std::string::npos; }

  Body* body_at(const Function& function) {
    if (function.is_import || function.is_inlined || !modules_.is_wanted(function.object)) return nullptr;
    const auto origin = objects_.at(function.object).info.origin_at(function.address);
    const auto body = origin ? functions_.find(origin->body) : functions_.end();
    return body == functions_.end() ? nullptr : &body->second;
  }

  void add_calls_of_functions() {
    const std::vector<Function>& functions = part_.functions.functions();
    for (uint32_t f = 0; f < functions.size(); ++f) {
      Body* body = is_part(functions[f]) ? nullptr : body_at(functions[f]);
      if (!body) continue;
      // Where counts do not tell the calls, they are no more than executions of the first block.
      const uint64_t begun = executions_.at(functions[f].object, functions[f].address).value_or(0);
      raise(body->counts.calls, part_.sums[f].calls != 0 ? part_.sums[f].calls : begun);
    }
  }

  // What was called from where, as far as that is sure.
  void add_calls_of_places() {
    const std::vector<Function>& functions = part_.functions.functions();
    std::vector<std::string> ignored;  // who has no code has no counts either
    for (const CallSite& site : call_sites(part_, search_, ignored)) {
      const Function& callee = functions[site.callee];
      const uint32_t object = functions[site.caller].object;
      if (site.known != CallSite::Known::exactly || !site.is_instruction || site.calls == 0 ||
          !modules_.is_wanted(object) || is_part(callee))
        continue;
      const std::vector<LineRow>& rows = objects_.at(object).info.rows_at(site.address);
      const auto row = std::ranges::upper_bound(rows, site.address, {}, &LineRow::end);
      if (row == rows.end() || row->start > site.address) continue;
      const Found found = find(object, site.address, *row);
      if (!found.counts) continue;
      const std::string name = name_of(callee);
      if (!name.empty()) raise(found.counts->callees[found.place][name], site.calls * found.factor);
    }
  }

  const Analysis& part_;
  const DebugSearch& search_;
  const bool is_for_clang_;
  OpenedObjects objects_;
  Executions executions_;
  CountedModules modules_;
  std::map<const void*, Body> functions_;
  std::unordered_map<const std::vector<LineRow>*, bool> is_of_clang_;
  std::map<std::pair<uint32_t, const char*>, uint32_t> files_;  // by object, the last line of each that ran
  uint64_t executions_of_all_ = 0, executions_left_out_ = 0;    // of blocks
  bool has_functions_ = false;                                  // in debug information
  uint64_t rows_of_clang_ = 0;
  bool has_discriminators_ = false;
};

// What both have in common: they are written when all parts are added up.
class CompilerProfile : public Export {
 public:
  CompilerProfile(std::string path, const DebugSearch& search, Compiler compiler)
      : path_(std::move(path)), search_(search), compiler_(compiler) {}

  void add(const Analysis& part) override {
    Collector collector(part, search_, compiler_);
    collector.collect();
    if (std::string problem = collector.problem(); !problem.empty()) {
      if (problem_.empty()) problem_ = problem;
      return;
    }
    collector.add_to(profile_);
    for (const std::string& remark : collector.remarks())
      if (std::ranges::find(remarks_, remark) == remarks_.end()) remarks_.push_back(remark);
  }

  void finish() override {
    if (profile_.empty()) throw Error(problem_);
    write_file(path_, [&](Output& out) { write(out); });
  }

  std::vector<std::string> remarks() const override { return remarks_; }

 protected:
  virtual void write(Output& out) = 0;

  // The functions that ran, those with the greatest sums first.
  std::vector<Profile::const_iterator> functions() const {
    std::vector<std::pair<uint64_t, Profile::const_iterator>> order;
    for (auto function = profile_.begin(); function != profile_.end(); ++function)
      if (const uint64_t total = function->second.total(); total != 0) order.emplace_back(total, function);
    std::ranges::stable_sort(order, std::ranges::greater(), [](const auto& f) { return f.first; });
    std::vector<Profile::const_iterator> sorted;
    for (const auto& [total, function] : order) sorted.push_back(function);
    return sorted;
  }

 private:
  const std::string path_;
  const DebugSearch& search_;
  const Compiler compiler_;
  Profile profile_;
  std::string problem_;  // of the first part without counts
  std::vector<std::string> remarks_;
};

// LLVM's sample profile as text (llvm/ProfileData/SampleProfReader.h):
//
//     main:12000:1                 function : counts added up : calls
//      3: 1000 work:1000           lines from the function's name on : count, functions called
//      3.2: 990                    the same line, told apart by its discriminator
//      5: step:8000                what was inlined from there: it, and its counts added up
//       1: 8000                    its lines, from its own name on
class LlvmProfile : public CompilerProfile {
 public:
  LlvmProfile(std::string path, const DebugSearch& search)
      : CompilerProfile(std::move(path), search, Compiler::clang) {}

 private:
  void write(Output& out) override {
    for (const auto& function : functions()) {
      const auto& [name, counts] = *function;
      out.text(name + ":" + std::to_string(counts.total()) + ":" + std::to_string(counts.calls) + "\n");
      write_places(counts, 1, out);
    }
  }

  static void write_place(const Place& place, size_t depth, Output& out) {
    out.text(std::string(depth, ' ') + std::to_string(place.line));
    if (place.discriminator != 0) out.text("." + std::to_string(place.discriminator));
    out.text(": ");
  }

  static void write_places(const Counts& counts, size_t depth, Output& out) {
    for (const auto& [place, count] : counts.lines) {
      write_place(place, depth, out);
      out.number(count);
      if (const auto called = counts.callees.find(place); called != counts.callees.end())
        for (const auto& [function, calls] : called->second) out.text(" " + function + ":" + std::to_string(calls));
      out.byte('\n');
    }
    for (const auto& [call, inlined] : counts.inlined) {
      write_place(call.first, depth, out);
      out.text(call.second + ":" + std::to_string(inlined.total()) + "\n");
      write_places(inlined, depth + 1, out);
    }
  }
};

// gcc's profile, as gcc 12 reads it (gcc/auto-profile.cc; gcov's format, version 2): words of 32 bits and counts of 64,
// the lowest byte first; strings have their length, with the NUL at the end, before them. There are no discriminators.
//
//     "adcg" 2 0
//     0xaa000000 LENGTH  N  STRING...       the names
//     0xac000000 LENGTH  N  { CALLS FUNCTION }...
//     0xae000000 LENGTH  0                  modules, of which there are none
//
//     FUNCTION: NAME PLACES INLINED { PLACE 0 COUNT }... { PLACE FUNCTION }...
//
// NAME is an index; PLACE is a line, from the function's name on, times 65536; the 0 says that nothing is told of calls
// through pointers. LENGTH is that of the rest of the section, in bytes.
class GccProfile : public CompilerProfile {
 public:
  GccProfile(std::string path, const DebugSearch& search) : CompilerProfile(std::move(path), search, Compiler::gcc) {}

 private:
  void write(Output& out) override {
    index_of("");  // gcc takes no name for the first
    const auto all = functions();
    add_word(functions_, uint32_t(all.size()));
    for (const auto& function : all) {
      add_count(functions_, function->second.calls);
      add_function(function->first, function->second);
    }
    std::string names;
    add_word(names, uint32_t(names_.size()));
    for (const std::string* name : order_) {
      add_word(names, uint32_t(name->size() + 1));
      names.append(name->c_str(), name->size() + 1);
    }
    std::string head, none;
    for (const uint32_t word : {0x67636461u, 2u, 0u}) add_word(head, word);
    add_word(none, 0);
    out.text(head);
    write_section(0xaa000000, names, out);
    write_section(0xac000000, functions_, out);
    write_section(0xae000000, none, out);
  }

  static void add_word(std::string& to, uint32_t word) {
    for (int i = 0; i < 4; ++i) to += char(word >> 8 * i);
  }
  static void add_count(std::string& to, uint64_t count) {
    add_word(to, uint32_t(count));
    add_word(to, uint32_t(count >> 32));
  }

  static void write_section(uint32_t tag, const std::string& content, Output& out) {
    std::string head;
    add_word(head, tag);
    add_word(head, uint32_t(content.size()));
    out.text(head);
    out.text(content);
  }

  uint32_t index_of(const std::string& name) {
    const auto [at, is_new] = names_.try_emplace(name, uint32_t(names_.size()));
    if (is_new) order_.push_back(&at->first);
    return at->second;
  }

  void add_function(const std::string& name, const Counts& counts) {
    add_word(functions_, index_of(name));
    add_word(functions_, uint32_t(counts.lines.size()));
    add_word(functions_, uint32_t(counts.inlined.size()));
    for (const auto& [place, count] : counts.lines) {
      add_word(functions_, place.line << 16);
      add_word(functions_, 0);
      add_count(functions_, count);
    }
    for (const auto& [call, inlined] : counts.inlined) {
      add_word(functions_, call.first.line << 16);
      add_function(call.second, inlined);
    }
  }

  std::string functions_;
  std::map<std::string, uint32_t> names_;
  std::vector<const std::string*> order_;  // of the names
};

}  // namespace

std::unique_ptr<Export> llvm_profile_export(std::string path, const DebugSearch& search) {
  return std::make_unique<LlvmProfile>(std::move(path), search);
}

std::unique_ptr<Export> gcc_profile_export(std::string path, const DebugSearch& search) {
  return std::make_unique<GccProfile>(std::move(path), search);
}

}  // namespace prof
