#include "block_calls.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "flow_graph.h"
#include "prof/model/program/opened_objects.h"
#include "prof/model/tree/recorded.h"

namespace prof {

namespace {

bool is_call(const Instruction& i) { return i.transfer == Transfer::call; }
bool is_jump(const Instruction& i) { return i.transfer == Transfer::jump || i.transfer == Transfer::branch; }

using Place = std::pair<uint32_t, uint64_t>;  // object, and entry in its original

struct Site {
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
  const std::vector<Site>& sites() const { return sites_; }

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

  // Whether it matters how often control took an arc. Most functions have none back to their first block, and leave for another
  // function only by calls, and by jumps that nothing else follows.
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
    FlowGraph graph = flow_graph_without_counts(
        blocks, place.second, [&](uint64_t address, uint64_t size) { return code.bytes(address, size); });
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
  std::map<Place, uint64_t> calls_;
  std::vector<Site> sites_;
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
  for (const Site& site : counting.sites())
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
  for (const Site& site : counting.sites()) {
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

}  // namespace prof
