#include "steps_decoder.h"

#include "libprof/format/trace.h"

namespace prof {

namespace {

using namespace prof_format;

constexpr uint64_t kMaxAccess = uint64_t(1) << 34;  // bytes of a repeated one

std::string_view flow_of(std::string_view bytes) {
  TraceBytes all(bytes);
  const auto size = all.read<uint64_t>();
  return all.take(size);
}

TraceEvent event_at(TraceBytes& bytes) {
  TraceEvent event;
  const uint64_t kind = bytes.varint();
  const uint64_t values = bytes.varint();
  if (kind > UINT32_MAX || values > bytes.remaining()) throw DamagedTrace("an event has more values than there are");
  event.kind = uint32_t(kind);
  for (uint64_t i = 0; i < values; ++i) event.values.push_back(bytes.varint());
  return event;
}

}  // namespace

StepsDecoder::StepsDecoder(std::string_view bytes, uint32_t process, RunTable& table)
    : flow_(flow_of(bytes)),
      addresses_(bytes.substr(sizeof(uint64_t) + size_t(flow_.remaining()))),  // taken, so they are there
      process_(process),
      table_(table) {}

uint32_t StepsDecoder::new_run() {
  const uint64_t start = last_end_ + unfolded_sign(flow_.varint());
  const uint64_t count = flow_.varint();
  if (count == 0 || count > flow_.remaining()) throw DamagedTrace("a run has more instructions than there are");
  // How long the shape is, only the shape itself tells.
  const TraceBytes from = flow_;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t accesses = flow_.varint() / 16;
    if (accesses >= 15) accesses += flow_.varint();
    if (accesses > flow_.remaining()) throw DamagedTrace("an instruction has more accesses than there are");
    for (; accesses; --accesses) flow_.varint();
  }
  TraceBytes shape = from;
  const TraceRun& run = table_.find(process_, start, count, shape.take(from.remaining() - flow_.remaining()));
  known_.push_back({&run, std::vector<Prediction>(run.accesses.size()), kNone});
  return uint32_t(known_.size() - 1);
}

void StepsDecoder::read_addresses(Known& known) {
  accesses_.resize(known.accesses.size());
  for (size_t i = 0; i < accesses_.size(); ++i) {
    Prediction& prediction = known.accesses[i];
    const RunAccess& access = known.run->accesses[i];
    const uint64_t expected = prediction.is_known ? prediction.address + prediction.change : last_address_;
    const uint64_t address = expected + unfolded_sign(addresses_.varint());
    uint64_t count = 1;
    if (access.flags & kAccessRepeated) {
      count = addresses_.varint();
      if (access.size && count > kMaxAccess / access.size) throw DamagedTrace("an access is too large");
    }
    accesses_[i] = {address, count};
    prediction = {address, prediction.is_known ? address - prediction.address : 0, true};
    last_address_ = address;
  }
}

void StepsDecoder::enter(uint32_t number) {
  if (before_ != kNone) known_[before_].next = number;
  before_ = number;
  Known& known = known_[number];
  run_ = known.run;
  last_end_ = run_->end;
  instructions_ += run_->lengths.size();
  if (instructions_ > kMaxChunkInstructions) throw DamagedTrace("a chunk has more instructions than it can have");
  read_addresses(known);
}

void StepsDecoder::read_event() {
  run_ = nullptr;
  event_ = event_at(flow_);
}

bool StepsDecoder::next() {
  if (times_ == 0) {
    if (flow_.at_end()) return false;
    const uint64_t word = flow_.varint();
    if (word == 0) {
      enter(new_run());
      return true;
    }
    if (word == 2) {
      read_event();
      return true;
    }
    if (word > 2) {
      if (word - 3 >= known_.size()) throw DamagedTrace("a run is named that there is not");
      enter(uint32_t(word - 3));
      return true;
    }
    times_ = flow_.varint();
    if (times_ == 0) throw DamagedTrace("no run is expected here");
  }
  if (before_ == kNone || known_[before_].next == kNone) throw DamagedTrace("no run is expected here");
  --times_;
  enter(known_[before_].next);
  return true;
}

std::vector<TraceEvent> decode_events(std::string_view bytes) {
  TraceBytes all(bytes);
  std::vector<TraceEvent> events;
  while (!all.at_end()) events.push_back(event_at(all));
  return events;
}

}  // namespace prof
