#include "inlined_rows.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "prof/model/program/object_debug_info.h"

namespace prof {

namespace {

class Adding {
 public:
  Adding(const DebugSearch& search, FunctionTable& functions, SampledTimes& times)
      : search_(search), functions_(functions), times_(times), parts_(times.samples.size()) {}

  void move_samples(const std::vector<AddressSamples>& histogram) {
    for (const AddressSamples& at : histogram) {
      const std::vector<uint32_t>& inlined = chain_functions().inlined[inlined_at(at.object, at.address)];
      if (inlined.empty()) continue;
      const Object& object = functions_.objects()[at.object];
      const std::optional<uint64_t> entry = object.entry_of_original(at.address);
      if (!entry) continue;
      const uint32_t host = functions_.at(at.object, *entry), to = inlined.back();
      parts_[to].add(times_, host, at.samples);
      times_.samples[host] -= std::min(times_.samples[host], at.samples);
      times_.samples[to] += at.samples;
    }
    if (times_.own.empty()) return;
    times_.own.resize(times_.samples.size());
    for (size_t f = 0; f < parts_.size(); ++f)
      if (chain_functions().is_inlined(uint32_t(f))) times_.own[f] = parts_[f].own();
  }

  void extend_chains() {
    for (ChainPlace& place : chain_functions().by_node) place.inlined = inlined_at(place.object, place.address);
  }

  void tell(std::vector<std::string>& remarks) const {
    for (const auto& [o, info] : infos_) {
      const std::string& name = functions_.objects()[o].name();
      if (const std::string problem = info.unreadable(); !problem.empty()) remarks.push_back(name + ": " + problem);
      if (info.bytes_left_out() != 0)
        remarks.push_back(name + ": " + std::to_string(info.bytes_left_out() >> 20) +
                          " MB of debug information take long to read, so what was inlined has no rows; prof --inlined "
                          "lists it");
    }
  }

 private:
  ChainFunctions& chain_functions() { return times_.chain_functions; }

  // Index into ChainFunctions::inlined.
  uint32_t inlined_at(uint32_t o, uint64_t address) {
    const Object& object = functions_.objects()[o];
    if (address == 0 || object.files().empty()) return 0;
    const auto [at, is_new] = known_.try_emplace({o, address}, 0);
    if (!is_new) return at->second;
    std::vector<uint32_t> inlined;
    for (const InlinedFrame* frame :
         infos_.try_emplace(o, object, search_, kQuicklyReadDebugInfo).first->second.inlined_at(address))
      inlined.push_back(function_of(o, *frame));
    const auto [same, is_new_chain] = chains_.try_emplace(inlined, uint32_t(chain_functions().inlined.size()));
    if (is_new_chain) chain_functions().inlined.push_back(std::move(inlined));
    return at->second = same->second;
  }

  uint32_t function_of(uint32_t object, const InlinedFrame& frame) {
    const uint32_t function = functions_.inlined(object, frame);
    const size_t size = functions_.functions().size();
    times_.samples.resize(size);
    times_.is_counted.resize(size);
    chain_functions().are_inlined.resize(size);
    parts_.resize(size);
    chain_functions().are_inlined[function] = true;
    return function;
  }

  const DebugSearch& search_;
  FunctionTable& functions_;
  SampledTimes& times_;
  std::vector<SampledPart> parts_;                           // by function, of inlined ones
  std::map<uint32_t, ObjectDebugInfo> infos_;                // by object
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> known_;  // by object and address
  std::map<std::vector<uint32_t>, uint32_t> chains_ = {{{}, 0}};
};

}  // namespace

void add_inlined_rows(const std::vector<AddressSamples>& histogram, const DebugSearch& search, FunctionTable& functions,
                      SampledTimes& times, std::vector<std::string>& remarks) {
  Adding adding(search, functions, times);
  adding.move_samples(histogram);
  adding.extend_chains();
  adding.tell(remarks);
}

}  // namespace prof
