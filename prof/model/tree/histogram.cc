#include "histogram.h"

#include <cmath>

#include "tree.h"

namespace prof {

namespace {

uint64_t whole(double samples) { return uint64_t(std::llround(samples)); }

// The children of a root. Of a damaged tree, whatever is in it.
const std::vector<RecordedNode>& addresses_in(const Profile& profile, const Thread& thread) {
  return profile.header().type == prof_format::kAddresses ? thread.nodes : thread.addresses;
}

}  // namespace

void Histogram::add(const Profile& profile, FunctionTable& functions) {
  for (const Thread& thread : profile.threads()) {
    const std::vector<RecordedNode>& nodes = addresses_in(profile, thread);
    if (!nodes.empty()) add_up(without_room_, whole(nodes[0].own_samples));
    for (size_t i = 1; i < nodes.size(); ++i)
      if (nodes[i].own_samples > 0) add_node(profile, nodes[i], functions);
  }
}

void Histogram::add_node(const Profile& profile, const RecordedNode& node, FunctionTable& functions) {
  const std::vector<Module>& modules = profile.modules();
  for (size_t i = 0; i < modules.size(); ++i) {
    const Module& module = modules[i];
    if (node.pc < module.start || node.pc >= module.end) continue;
    const uint32_t object = i == 0 && functions.program().is_listed() ? 0 : functions.library(module);
    const std::vector<ElfFile>& files = functions.objects()[object].files();
    uint64_t address = node.pc - module.bias;
    if (!files.empty()) address = steps_.try_emplace(object, files[0]).first->second.original(address);
    return add(object, address, whole(node.own_samples));
  }
}

void Histogram::add(uint32_t object, uint64_t address, uint64_t samples) {
  add_up(counts_[{object, address}], samples);
  add_up(all_, samples);
}

std::vector<AddressSamples> Histogram::finish() {
  std::vector<AddressSamples> list;
  list.reserve(counts_.size());
  for (const auto& [place, samples] : counts_) list.push_back({place.first, place.second, samples});
  counts_.clear();
  return list;
}

}  // namespace prof
