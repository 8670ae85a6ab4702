// A profile for BOLT, which lays the code of a finished program out anew: how often each branch was taken, in the text
// form that BOLT calls fdata (bolt/lib/Profile/DataReader.cpp):
//
//     1 main 3c 1 main 10 0 999            from function and offset, to function and offset: mispredicted, taken
//     1 main 45 1 work 0 0 1000            a call
//     0 [unknown] 0 1 work 0 0 7           entries of a function, from nobody knows where
//
// Offsets are hexadecimal, counts are not. How often branches are mispredicted is not known, and 0.
//
// BOLT takes a function's branches only if each of them is an arc in its own flow graph of the function, so there must
// be none that it does not know, and what goes on to the next instruction is an arc as well. Its basic blocks are
// longer than ours (flow_graph.h): they do not end at calls, so some of ours are joined here. One begins
//
//     where a jump, a branch or a table of jumps leads to, and
//     after an instruction that ends one: a jump, a branch, a return, one that stops.
//
// It ends, as BOLT says it, with its last instruction that is no nop.
//
// Nearly always counts of blocks tell how often each arc was taken (flow_graph.h). A remark says how much of the
// profile is a guess because they do not.
//
// Names are those of the original's symbol table. Of names that other files cannot see there may be several alike, so
// BOLT numbers them by their addresses: work/1, work/2.

#include <gelf.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exports.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/model/blocks/call_sites.h"
#include "prof/model/blocks/executions.h"
#include "prof/model/blocks/flow_graph.h"
#include "prof/model/program/object_debug_info.h"
#include "prof/model/tree/modules.h"
#include "prof/read/error.h"

namespace prof {

namespace {

// The functions of a file, as BOLT tells them apart and names them: by its symbol table alone.
class BoltFunctions {
 public:
  explicit BoltFunctions(const ElfFile& file) {
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(file.elf(), section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB) read(file.elf(), section, header);
    }
  }

  bool are_none() const { return functions_.empty(); }

  // "1 NAME OFFSET" for an address in a function; "" for others.
  std::string place(uint64_t address) const {
    const Function* function = at(address);
    return function ? "1 " + function->name + " " + prof_text::hexadecimal_digits(address - function->start) : "";
  }

  // Whether two addresses are of one function.
  bool are_of_one(uint64_t a, uint64_t b) const { return at(a) == at(b); }

 private:
  struct Function {
    uint64_t start, end, section_end;
    std::string name;
    bool is_local;
  };
  struct Named {
    GElf_Sym symbol;
    const char* name;
    uint64_t section_end;
  };

  void read(Elf* elf, Elf_Scn* section, const GElf_Shdr& header) {
    Elf_Data* data = elf_getdata(section, nullptr);
    std::vector<Named> all;
    Named s{};
    for (int i = 1; data && gelf_getsym(data, i, &s.symbol); ++i) {
      s.name = elf_strptr(elf, header.sh_link, s.symbol.st_name);
      const unsigned char type = GELF_ST_TYPE(s.symbol.st_info);
      GElf_Shdr holder;
      if (!s.name || !*s.name || type == STT_FILE || type == STT_SECTION || s.symbol.st_shndx >= SHN_LORESERVE ||
          !gelf_getshdr(elf_getscn(elf, s.symbol.st_shndx), &holder) || !(holder.sh_flags & SHF_ALLOC))
        continue;
      s.section_end = holder.sh_addr + holder.sh_size;
      all.push_back(s);
    }
    std::ranges::stable_sort(all, {}, [](const Named& named) { return named.symbol.st_value; });
    std::map<std::string_view, unsigned> locals;  // how many of a name there were
    for (const Named& named : all) {
      const bool is_local = GELF_ST_BIND(named.symbol.st_info) == STB_LOCAL;
      const std::string number = is_local ? "/" + std::to_string(++locals[named.name]) : "";
      if (GELF_ST_TYPE(named.symbol.st_info) == STT_FUNC) add(named, escaped(named.name) + number, is_local);
    }
    // One of assembly may not say where it ends.
    for (size_t f = 0; f < functions_.size(); ++f) {
      Function& function = functions_[f];
      const bool is_last = f + 1 == functions_.size() || functions_[f + 1].start > function.section_end;
      if (function.end == function.start) function.end = is_last ? function.section_end : functions_[f + 1].start;
    }
  }

  // In the order of their addresses. One that begins in another is a second way into that.
  void add(const Named& named, const std::string& name, bool is_local) {
    const uint64_t start = named.symbol.st_value, size = named.symbol.st_size;
    const uint64_t end = size > UINT64_MAX - start ? UINT64_MAX : start + size;
    if (functions_.empty() || start >= std::max(functions_.back().end, functions_.back().start + 1)) {
      functions_.push_back({start, end, named.section_end, name, is_local});
    } else if (Function& last = functions_.back(); start == last.start) {
      last.end = std::max(last.end, end);
      if (last.is_local && !is_local) last.name = name, last.is_local = false;
    }
  }

  static std::string escaped(const std::string& name) {
    std::string text;
    for (const char c : name) text += c == ' ' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return text;
  }

  const Function* at(uint64_t address) const {
    const auto after = std::ranges::upper_bound(functions_, address, {}, &Function::start);
    if (after == functions_.begin()) return nullptr;
    const Function& function = *std::prev(after);
    return address == function.start || address < function.end ? &function : nullptr;
  }

  std::vector<Function> functions_;  // by address
};

using Branch = std::pair<std::string, std::string>;  // from and to

struct BranchCounts {
  std::map<Branch, uint64_t> branches;
  uint64_t all = 0, estimated = 0;  // executions of branches in functions

  // False if it cannot be said where it is.
  bool add(std::string from, std::string to, uint64_t count) {
    if (from.empty() || to.empty()) return false;
    if (count != 0) add_up(branches[{std::move(from), std::move(to)}], count);
    return true;
  }
};

constexpr char kUnknown[] = "0 [unknown] 0";

// The branches of one function.
class FunctionBranches {
 public:
  FunctionBranches(const FlowGraph& graph, const BoltFunctions& names, BranchCounts& counts)
      : graph_(graph), names_(names), counts_(counts), begins_(graph.blocks.size()), came_(graph.blocks.size()) {}

  void add() {
    find_beginnings();
    for (const FlowArc& arc : graph_.arcs) add(arc);
    // Unwinders come to landing pads. Of what begins elsewhere BOLT takes none.
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      const FlowBlock& block = graph_.blocks[b];
      if (block.start != graph_.entry && begins_[b] && block.count > came_[b])
        counts_.add(kUnknown, names_.place(block.start), block.count - came_[b]);
    }
  }

 private:
  void find_beginnings() {
    const auto begin = [this](uint64_t address) {
      const auto at = std::ranges::lower_bound(graph_.blocks, address, {}, &FlowBlock::start);
      if (at != graph_.blocks.end() && at->start == address) begins_[size_t(at - graph_.blocks.begin())] = true;
    };
    begin(graph_.entry);
    for (const FlowArc& arc : graph_.arcs)
      if (graph_.blocks[arc.from].has_targets && (arc.is_likely || arc.count != 0)) begins_[arc.to] = true;
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      const FlowBlock& block = graph_.blocks[b];
      const Transfer transfer = block.last.transfer;
      const bool is_call = transfer == Transfer::call || transfer == Transfer::call_indirect;
      if (b == 0 || graph_.blocks[b - 1].end != block.start ||
          !names_.are_of_one(graph_.blocks[b - 1].start, block.start))
        begins_[b] = true;
      if (transfer == Transfer::none || is_call) continue;
      begin(block.end);
      if (block.last.target) begin(*block.last.target);
    }
  }

  void add(const FlowArc& arc) {
    add_up(came_[arc.to], arc.count);
    if (!begins_[arc.to]) return;
    // The instruction may be in an earlier one of the blocks that are one of BOLT's.
    uint32_t from = arc.from;
    while (!graph_.blocks[from].last_but_nops && !begins_[from]) --from;
    const FlowBlock& block = graph_.blocks[from];
    counts_.add(names_.place(block.last_but_nops.value_or(block.last.address)),
                names_.place(graph_.blocks[arc.to].start), arc.count);
    add_up(counts_.all, arc.count);
    if (!arc.is_exact) add_up(counts_.estimated, arc.count);
  }

  const FlowGraph& graph_;
  const BoltFunctions& names_;
  BranchCounts& counts_;
  std::vector<bool> begins_;    // by block, whether one of BOLT's begins there
  std::vector<uint64_t> came_;  // by block, by known arcs
};

class BoltProfile : public Export {
 public:
  BoltProfile(std::string path, const DebugSearch& search) : path_(std::move(path)), search_(search) {}

  void add(const Analysis& part) override {
    const CountedModules modules(part);
    if (std::string problem = modules.problem(part.profiles.at(0)); !problem.empty()) {
      if (problem_.empty()) problem_ = std::move(problem);
      return;
    }
    OpenedObjects objects(part.functions, search_);
    std::map<uint32_t, BoltFunctions> names;
    for (uint32_t o = 0; o < part.functions.objects().size(); ++o) {
      if (!modules.has_counts(o)) continue;
      const Object& object = part.functions.objects()[o];
      check_is_only(object.name());
      const BoltFunctions& functions = names.try_emplace(o, original(object, objects.at(o).code)).first->second;
      if (functions.are_none() && problem_.empty())
        problem_ = object.name() + ": is stripped; BOLT finds functions by their symbols";
    }
    add_branches(part, objects, names);
    add_calls(part, names);
    for (std::string& remark : modules.remarks_on_coverage()) remark_once(std::move(remark));
  }

  void finish() override {
    if (counts_.branches.empty())
      throw Error(problem_.empty()
                      ? module_ + ": none of the functions that its symbols name ran, and BOLT knows no others"
                      : problem_);
    write_file(path_, [this](Output& out) {
      for (const auto& [branch, count] : counts_.branches) {
        out.text(branch.first + " " + branch.second + " 0 ");
        out.number(count);
        out.byte('\n');
      }
    });
    const auto percent = int(100 * double(counts_.estimated) / double(std::max<uint64_t>(counts_.all, 1)) + 0.5);
    if (percent > 0)
      remarks_.push_back(path_ + ": " + std::to_string(percent) +
                         " % of the branches taken are estimates: counts of blocks do not tell the ways between them");
  }

  std::vector<std::string> remarks() const override { return remarks_; }

 private:
  void remark_once(std::string remark) {
    if (std::ranges::find(remarks_, remark) == remarks_.end()) remarks_.push_back(std::move(remark));
  }

  void check_is_only(const std::string& module) {
    if (module_.empty()) module_ = module;
    if (module != module_)
      throw Error("counts are of " + module_ + " and " + module +
                  ", but BOLT works on one file; name one with --module");
  }

  const ElfFile& original(const Object& object, const OriginalCode& code) {
    if (!code.is_original())
      throw Error(object.name() +
                  ": the program as it was before profld is not there, and it is what BOLT works on; "
                  "name it: prof --bolt FILE PROGRAM PROFILE");
    if (!code.file()->has_section(".rela.text"))
      remark_once(object.name() + ": is not linked with --emit-relocs; without it BOLT does not move functions");
    if (code.file()->build_id().empty())
      remark_once(object.name() + ": has no build-id, so nothing tells whether it is the program that ran");
    return *code.file();
  }

  void add_branches(const Analysis& part, OpenedObjects& objects, const std::map<uint32_t, BoltFunctions>& names) {
    std::map<std::pair<uint32_t, uint64_t>, std::vector<BlockCount>> functions;  // by object and entry
    for (const BlockCount& block : part.blocks)
      if (names.contains(block.object))
        if (const auto entry = part.functions.objects()[block.object].entry_of_original(block.address))
          functions[{block.object, *entry}].push_back(block);
    for (const auto& [function, blocks] : functions) {
      if (std::ranges::all_of(blocks, [](const BlockCount& block) { return block.count == 0; })) continue;
      const auto& [object, entry] = function;
      const OriginalCode& code = objects.at(object).code;
      const FlowGraph graph = flow_graph(blocks, part.ways, entry,
                                         [&](uint64_t address, uint64_t size) { return code.bytes(address, size); });
      FunctionBranches(graph, names.at(object), counts_).add();
    }
  }

  // Calls, and what else entered functions.
  void add_calls(const Analysis& part, const std::map<uint32_t, BoltFunctions>& names) {
    const std::vector<Function>& functions = part.functions.functions();
    const Executions executions(part.blocks);
    std::vector<std::string> ignored;
    std::vector<uint64_t> known(functions.size());
    for (const CallSite& site : call_sites(part, search_, ignored)) {
      const Function &caller = functions[site.caller], &callee = functions[site.callee];
      if (site.known != CallSite::Known::exactly || !site.is_instruction || callee.is_import ||
          caller.object != callee.object || !names.contains(caller.object))
        continue;
      const BoltFunctions& file = names.at(caller.object);
      if (counts_.add(file.place(site.address), file.place(callee.address), site.calls))
        add_up(known[site.callee], site.calls);
    }
    for (uint32_t f = 0; f < functions.size(); ++f) {
      const Function& function = functions[f];
      if (function.is_import || function.is_inlined || !names.contains(function.object)) continue;
      // Where counts do not tell the calls, they are no more than executions of the first block.
      const uint64_t calls =
          part.sums[f].calls != 0 ? part.sums[f].calls : executions.at(function.object, function.address).value_or(0);
      if (calls > known[f]) counts_.add(kUnknown, names.at(function.object).place(function.address), calls - known[f]);
    }
  }

  const std::string path_;
  const DebugSearch& search_;
  BranchCounts counts_;
  std::string module_;   // what the counts are of
  std::string problem_;  // why there are no branches
  std::vector<std::string> remarks_;
};

}  // namespace

std::unique_ptr<Export> bolt_export(std::string path, const DebugSearch& search) {
  return std::make_unique<BoltProfile>(std::move(path), search);
}

}  // namespace prof
