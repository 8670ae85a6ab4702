#include "call_sites.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "executions.h"
#include "flow_graph.h"
#include "prof/model/program/object_debug_info.h"
#include "prof/model/tree/recorded.h"
#include "prof/read/instructions.h"

namespace prof {

namespace {

bool is_call(const Instruction& i) { return i.transfer == Transfer::call; }
bool is_indirect(const Instruction& i) {
  return i.transfer == Transfer::call_indirect || i.transfer == Transfer::jump_indirect;
}
bool is_jump(const Instruction& i) { return i.transfer == Transfer::jump || i.transfer == Transfer::branch; }

using Place = std::pair<uint32_t, uint64_t>;  // object, and entry in its original

struct CountedCall {
  Place from, to;
  uint64_t address, calls;
  bool is_jump = false;
};

// What the blocks say of places.
class Counting {
 public:
  Counting(const Recorded& recorded, const DebugSearch& search)
      : recorded_(recorded), objects_(recorded.functions, search) {
    group_blocks();
    for (const auto& [place, blocks] : blocks_) count_function(place, blocks);
  }

  const std::map<Place, uint64_t>& calls() const { return calls_; }
  // Those that ran, but nobody knows how often they were called.
  std::vector<Place> without_calls() const {
    std::vector<Place> places;
    for (const auto& [place, blocks] : blocks_)
      if (!calls_.contains(place)) places.push_back(place);
    return places;
  }
  const std::vector<CountedCall>& sites() const { return sites_; }
  // By function, how often it ran instructions that say nothing of where they lead.
  const std::map<Place, uint64_t>& indirect() const { return indirect_; }

 private:
  void group_blocks() {
    const std::vector<Object>& objects = recorded_.functions.objects();
    for (const BlockCount& block : recorded_.blocks)
      if (const auto entry = objects[block.object].entry_of_original(block.address))
        blocks_[{block.object, *entry}].push_back(block);
    std::erase_if(blocks_, [](const auto& function) {
      return std::ranges::all_of(function.second, [](const BlockCount& block) { return block.count == 0; });
    });
  }

  // Whether it matters how often control took an arc. Most functions have none back to their first block, and leave for
  // another function only by calls, and by jumps that nothing else follows.
  bool needs_counts(const FlowGraph& graph, Place place) const {
    const auto leads_to_entry = [&](const FlowArc& arc) { return graph.blocks[arc.to].start == place.second; };
    const auto may_leave = [&](const FlowBlock& block) {
      return block.last.transfer == Transfer::branch && block.last.target &&
             blocks_.contains({place.first, *block.last.target});
    };
    return std::ranges::any_of(graph.arcs, leads_to_entry) || std::ranges::any_of(graph.blocks, may_leave);
  }

  void count_function(Place place, const std::vector<BlockCount>& blocks) {
    const OriginalCode& code = objects_.at(place.first).code;
    FlowGraph graph =
        flow_graph_without_counts(blocks, recorded_.ways, place.second,
                                  [&](uint64_t address, uint64_t size) { return code.bytes(address, size); });
    if (needs_counts(graph, place)) count_arcs(graph);
    std::vector<uint64_t> within(graph.blocks.size());  // by block, what goes from it to others of the function
    std::vector<bool> is_sure(graph.blocks.size(), true);
    uint64_t back = 0;
    bool is_entry_sure = true;
    for (const FlowArc& arc : graph.arcs) {
      within[arc.from] += arc.count;
      is_sure[arc.from] = is_sure[arc.from] && arc.is_exact;
      if (graph.blocks[arc.to].start != place.second) continue;
      back += arc.count;
      is_entry_sure = is_entry_sure && arc.is_exact;
    }
    for (size_t b = 0; b < graph.blocks.size(); ++b) {
      const FlowBlock& block = graph.blocks[b];
      if (block.start == place.second && is_entry_sure && back <= block.count) calls_[place] = block.count - back;
      if (is_indirect(block.last) && !block.has_targets) add_up(indirect_[place], block.count);
      const std::optional<uint64_t> target = block.last.target;
      if (!target || !blocks_.contains({place.first, *target})) continue;
      const Place to = {place.first, *target};
      if (is_call(block.last)) sites_.push_back({place, to, block.last.address, block.count});
      // A jump to the own beginning is no call.
      if (is_jump(block.last) && to != place && is_sure[b] && within[b] <= block.count)
        sites_.push_back({place, to, block.last.address, block.count - within[b], true});
    }
  }

  const Recorded& recorded_;
  OpenedObjects objects_;
  std::map<Place, std::vector<BlockCount>> blocks_;  // by function; of those that ran
  std::map<Place, uint64_t> calls_, indirect_;
  std::vector<CountedCall> sites_;
};

}  // namespace

void count_calls_of_blocks(Recorded& recorded, const DebugSearch& search) {
  const Counting counting(recorded, search);
  std::vector<CallNode>& nodes = recorded.tree.nodes;
  std::map<uint32_t, uint32_t> node_of;  // by function, of those below the root
  uint32_t last = 0;
  for (uint32_t n = nodes[0].first_child; n != 0; n = nodes[n].next_sibling) {
    node_of[nodes[n].function] = n;
    last = n;
  }
  for (const auto& [place, calls] : counting.calls()) {
    const uint32_t function = recorded.functions.at(place.first, place.second);
    recorded.functions.set_counted(function);
    const auto [at, is_new] = node_of.try_emplace(function, uint32_t(nodes.size()));
    if (is_new) {
      (last == 0 ? nodes[0].first_child : nodes[last].next_sibling) = at->second;
      last = at->second;
      CallNode node;
      node.function = function;
      nodes.push_back(node);
    }
    nodes[at->second].calls = calls;
  }
  const auto function_at = [&](Place place) { return recorded.functions.at(place.first, place.second); };
  for (const Place& place : counting.without_calls()) recorded.functions.set_uncounted(function_at(place));
  for (const auto& [place, times] : counting.indirect()) {
    const uint32_t function = function_at(place);
    if (recorded.indirect_calls.size() <= function) recorded.indirect_calls.resize(function + 1);
    recorded.indirect_calls[function] = times;
  }
  for (const CountedCall& site : counting.sites())
    if (site.calls != 0)
      recorded.arcs.push_back({function_at(site.from), function_at(site.to), site.calls, site.is_jump});
}

std::vector<CallSite> call_sites_of_blocks(const Recorded& recorded, const DebugSearch& search) {
  const Counting counting(recorded, search);
  std::map<Place, uint32_t> functions;
  for (uint32_t f = 0; f < recorded.functions.functions().size(); ++f) {
    const Function& function = recorded.functions.functions()[f];
    functions.try_emplace({function.object, function.address}, f);
  }
  std::map<Place, uint64_t> left = counting.calls();
  std::vector<CallSite> found;
  for (const CountedCall& site : counting.sites()) {
    const auto at = left.find(site.to);
    const auto from = functions.find(site.from), to = functions.find(site.to);
    if (at == left.end() || from == functions.end() || to == functions.end()) continue;
    const uint64_t calls = std::min(site.calls, at->second);
    at->second -= calls;
    if (calls != 0) found.push_back({from->second, to->second, site.address, calls});
  }
  std::sort(found.begin(), found.end(), [](const CallSite& a, const CallSite& b) {
    return std::tuple(a.caller, a.callee, a.address) < std::tuple(b.caller, b.callee, b.address);
  });
  return found;
}

namespace {

struct Arc {
  uint32_t caller = 0, callee = 0;
  uint64_t calls = 0;
  bool has_jumps = false;
  uint64_t ends() const { return uint64_t(caller) << 32 | callee; }
};

// By caller and function called.
std::vector<Arc> arcs_of(const Tree& tree) {
  std::vector<Arc> arcs;
  arcs.reserve(tree.nodes.size());
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    const CallNode& node = tree.nodes[i];
    if (node.parent == 0 || node.calls == 0) continue;
    arcs.push_back({tree.nodes[node.parent].function, node.function, node.calls, node.has_tail_calls});
  }
  std::ranges::sort(arcs, {}, &Arc::ends);
  size_t sums = 0;
  for (const Arc& arc : arcs) {
    if (sums != 0 && arcs[sums - 1].ends() == arc.ends()) {
      add_up(arcs[sums - 1].calls, arc.calls);
      arcs[sums - 1].has_jumps |= arc.has_jumps;
    } else {
      arcs[sums++] = arc;
    }
  }
  arcs.resize(sums);
  return arcs;
}

// An instruction that calls, or jumps to what may be another function.
struct Site {
  uint64_t address = 0;
  Transfer transfer = Transfer::none;
  std::optional<uint64_t> target = {};      // in the same file
  std::string name = {};                    // of a function of another file; "" if it is none
  std::optional<uint64_t> executions = {};  // if they were counted
  bool is_indirect() const { return !target && name.empty(); }
  bool is_call() const { return transfer == Transfer::call || transfer == Transfer::call_indirect; }
};

// The sites in a caller that a call may have come from.
struct Candidates {
  std::vector<const Site*> direct, conditional, indirect;
};

class Finder {
 public:
  Finder(const Recorded& recorded, const DebugSearch& search)
      : recorded_(recorded), objects_(recorded.functions, search), executions_(recorded.blocks) {}

  std::vector<CallSite> find() {
    const std::vector<Arc> arcs = arcs_of(recorded_.tree);
    found_.reserve(arcs.size());
    const auto before = [](const CallSite& a, const CallSite& b) {
      return std::tuple(a.caller, a.callee, !a.is_instruction, a.address) <
             std::tuple(b.caller, b.callee, !b.is_instruction, b.address);
    };
    for (const Arc& arc : arcs) {
      const auto first = ptrdiff_t(found_.size());
      add(arc);
      std::sort(found_.begin() + first, found_.end(), before);
    }
    return std::move(found_);
  }

  std::vector<std::string> remarks() const {
    std::vector<std::string> remarks;
    objects_.each([&](uint32_t, const std::string& name, const OpenedObject& object) {
      if (!object.code.is_there())
        remarks.push_back(name +
                          ": its code is not there, so it is not known from where its functions call others; name the "
                          "program: prof PROGRAM PROFILE");
    });
    return remarks;
  }

 private:
  const Function& function(uint32_t f) const { return recorded_.functions.functions()[f]; }
  const Object& object(uint32_t o) const { return recorded_.functions.objects()[o]; }

  // Of a caller; those of the last one are kept, since arcs come caller by caller.
  const std::vector<Site>& sites_of(uint32_t caller) {
    if (caller_ == caller) return sites_;
    caller_ = caller;
    sites_.clear();
    const Function& f = function(caller);
    if (f.is_import || !f.has_calls || object(f.object).files().empty()) return sites_;
    const OriginalCode& code = objects_.at(f.object).code;
    const std::vector<CodeRange> ranges = code.ranges_of(f.address);
    for (const CodeRange& range : ranges)
      for (const Instruction& i : decode_instructions(code.bytes(range.start, range.size), range.start))
        add_site(i, f, ranges, code);
    return sites_;
  }

  void add_site(const Instruction& i, const Function& caller, const std::vector<CodeRange>& ranges,
                const OriginalCode& code) {
    if (i.transfer == Transfer::none || i.transfer == Transfer::ret || i.transfer == Transfer::stop) return;
    Site site{i.address, i.transfer, i.target, {}, executions_.at(caller.object, i.address)};
    const auto is_inside = [&](const CodeRange& r) { return *i.target - r.start < r.size; };
    if (i.target && !site.is_call() && std::any_of(ranges.begin(), ranges.end(), is_inside)) return;
    if (const auto where = i.target ? i.target : i.memory) {
      const auto [at, is_new] = names_.try_emplace({caller.object, *where});
      if (is_new) at->second = code.import_at(*where);
      site.name = at->second;
    }
    sites_.push_back(std::move(site));
  }

  // Whether a name by which a file calls a function is that of this one.
  bool is_name_of(const std::string& name, const Function& callee) {
    if (name.empty()) return false;
    if (name == callee.raw_name) return true;
    if (callee.is_import) return false;
    const auto [at, is_new] = addresses_.try_emplace({callee.object, name});
    if (is_new)
      if (const Symbol* symbol = object(callee.object).symbols().find_name(name)) at->second = symbol->address;
    return at->second == callee.address;
  }

  Candidates candidates_of(const Arc& arc) {
    Candidates found;
    const Function &from = function(arc.caller), &to = function(arc.callee);
    for (const Site& site : sites_of(arc.caller)) {
      if (!site.is_call() && !arc.has_jumps) continue;
      const bool is_same = (site.target && from.object == to.object && !to.is_import && *site.target == to.address) ||
                           is_name_of(site.name, to);
      if (site.executions == 0 || (!is_same && !site.is_indirect())) continue;
      (!is_same                            ? found.indirect
       : site.transfer == Transfer::branch ? found.conditional
                                           : found.direct)
          .push_back(&site);
    }
    return found;
  }

  void add(const Arc& arc) {
    const Candidates candidates = candidates_of(arc);
    const auto is_counted = [](const Site* site) { return site->executions.has_value(); };
    const auto all_counted = [&](const std::vector<const Site*>& sites) {
      return std::all_of(sites.begin(), sites.end(), is_counted);
    };
    CallSite site{arc.caller, arc.callee, function(arc.caller).address, arc.calls};
    if (executions_.are_known() && all_counted(candidates.direct))
      add_counted(site, candidates);
    else
      add_uncounted(site, candidates);
  }

  void add_at(CallSite site, const Site& at, uint64_t calls) {
    site.address = at.address;
    site.calls = calls;
    found_.push_back(site);
  }

  void add_at_caller(CallSite site, uint64_t calls, CallSite::Known known, size_t candidates) {
    site.calls = calls;
    site.known = known;
    site.candidates = uint32_t(candidates);
    site.is_instruction = false;
    found_.push_back(site);
  }

  void add_uncounted(const CallSite& site, Candidates candidates) {
    using Known = CallSite::Known;
    std::vector<const Site*>& direct = candidates.direct;
    direct.insert(direct.end(), candidates.conditional.begin(), candidates.conditional.end());
    const size_t indirect = candidates.indirect.size(), all = direct.size() + indirect;
    if (all == 0) return add_at_caller(site, site.calls, Known::of_other_code, 0);
    if (all == 1) return add_at(site, direct.empty() ? *candidates.indirect[0] : *direct[0], site.calls);
    if (direct.empty()) return add_at_caller(site, site.calls, Known::of_indirect_calls, indirect);
    if (direct.size() > 1) return add_at_caller(site, site.calls, Known::of_calls, all);
    CallSite likely = site;
    likely.known = Known::of_calls;
    likely.candidates = uint32_t(all);
    add_at(likely, *direct[0], site.calls);
  }

  void add_counted(const CallSite& as_given, const Candidates& candidates) {
    using Known = CallSite::Known;
    CallSite site = as_given;
    uint64_t rest = site.calls, executed = 0;
    for (const Site* direct : candidates.direct) add_up(executed, *direct->executions);
    if (executed > rest && candidates.direct.size() > 1) {  // some were not recorded, and nobody knows which
      site.known = Known::of_calls;
      site.candidates = uint32_t(candidates.direct.size());
    }
    for (const Site* direct : candidates.direct) {
      const uint64_t calls = std::min(rest, *direct->executions);
      if (calls != 0) add_at(site, *direct, calls);
      rest -= calls;
    }
    if (rest == 0) return;
    std::vector<const Site*> others = candidates.conditional;
    others.insert(others.end(), candidates.indirect.begin(), candidates.indirect.end());
    if (others.size() == 1) return add_at(site, *others[0], rest);
    if (others.empty()) return add_at_caller(site, rest, Known::of_other_code, 0);
    add_at_caller(site, rest, candidates.conditional.empty() ? Known::of_indirect_calls : Known::of_calls,
                  others.size());
  }

  const Recorded& recorded_;
  OpenedObjects objects_;
  Executions executions_;
  std::map<std::pair<uint32_t, uint64_t>, std::string> names_;                     // by object and address
  std::map<std::pair<uint32_t, std::string>, std::optional<uint64_t>> addresses_;  // by object and name
  uint32_t caller_ = UINT32_MAX;
  std::vector<Site> sites_;
  std::vector<CallSite> found_;
};

}  // namespace

std::vector<CallSite> call_sites(const Recorded& recorded, const DebugSearch& search,
                                 std::vector<std::string>& remarks) {
  if (!recorded.has_hooks()) return call_sites_of_blocks(recorded, search);
  Finder finder(recorded, search);
  std::vector<CallSite> found = finder.find();
  for (std::string& remark : finder.remarks()) remarks.push_back(std::move(remark));
  return found;
}

}  // namespace prof
