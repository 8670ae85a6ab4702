#include "steps.h"

#include <algorithm>

#include "libprof/format/trace.h"
#include "varint.h"

namespace prof {

namespace {

using namespace prof_format;

constexpr uint64_t kLongestRun = 256;           // instructions
constexpr size_t kFullChunk = size_t(1) << 20;  // bytes
static_assert(kFullChunk < kMaxChunkBytes / 4);

// Of the flow, in front of the numbers of runs.
enum Flow : uint64_t { flow_new_run, flow_times, flow_event, flow_run };

uint8_t flags_of(const TraceAccess& access) {
  return uint8_t((access.is_write ? kAccessWrite : 0) | (access.is_repeated ? kAccessRepeated : 0) |
                 (access.is_down ? kAccessDown : 0));
}

}  // namespace

bool StepsEncoder::is_full() const {
  return flow_.size() + addresses_.size() >= kFullChunk || instructions_ >= kMaxChunkInstructions / 2;
}

bool StepsEncoder::is_repetition(uint64_t address, std::span<const TraceAccess> accesses) const {
  if (count_ == 0 || address != last_ || accesses.empty() || accesses.size() != last_accesses_) return false;
  return std::all_of(accesses.begin(), accesses.end(), [](const TraceAccess& a) { return a.is_repeated; });
}

void StepsEncoder::add_round(std::span<const TraceAccess> accesses) {
  for (size_t i = 0; i < accesses.size(); ++i) {
    TraceAccess& before = accesses_[accesses_.size() - accesses.size() + i];
    if (before.count == 0) before.address = accesses[i].address;
    before.count += accesses[i].count;
  }
}

bool StepsEncoder::step(uint64_t address, uint8_t length, std::span<const TraceAccess> accesses) {
  if (is_repetition(address, accesses)) {
    add_round(accesses);
    return false;
  }
  if (count_ && (address != next_ || count_ == kLongestRun)) end_run();
  if (count_ == 0) start_ = address;
  last_ = address;
  next_ = address + length;
  last_accesses_ = accesses.size();
  ++count_;
  const size_t few = std::min<size_t>(accesses.size(), 15);
  append_varint(shape_, length + 16 * few);
  if (few == 15) append_varint(shape_, accesses.size() - 15);
  for (const TraceAccess& access : accesses) {
    append_varint(shape_, uint64_t(access.size) * 8 + flags_of(access));
    accesses_.push_back(access);
  }
  return true;
}

uint32_t StepsEncoder::number_of_run() {
  std::string key(reinterpret_cast<const char*>(&start_), sizeof start_);
  key += shape_;
  const auto [at, is_new] = numbers_.try_emplace(std::move(key), uint32_t(runs_.size()));
  if (!is_new) return at->second;
  runs_.emplace_back().accesses.resize(accesses_.size());
  return kNone;
}

void StepsEncoder::write_times() {
  if (times_ == 0) return;
  append_varint(flow_, flow_times);
  append_varint(flow_, times_);
  times_ = 0;
}

// Says in the flow that a run came, which is known.
void StepsEncoder::name_run(uint32_t run) {
  if (before_ != kNone && runs_[before_].next == run) {
    ++times_;
    return;
  }
  write_times();
  append_varint(flow_, flow_run + run);
}

void StepsEncoder::append_address(Prediction& prediction, const TraceAccess& access) {
  const uint64_t expected = prediction.is_known ? prediction.address + prediction.change : last_address_;
  append_varint(addresses_, folded_sign(access.address - expected));
  if (access.is_repeated) append_varint(addresses_, access.count);
  prediction.change = prediction.is_known ? access.address - prediction.address : 0;
  prediction.address = last_address_ = access.address;
  prediction.is_known = true;
}

void StepsEncoder::end_run() {
  if (count_ == 0) return;
  uint32_t run = number_of_run();
  if (run != kNone) {
    name_run(run);
  } else {
    run = uint32_t(runs_.size() - 1);
    write_times();
    append_varint(flow_, flow_new_run);
    append_varint(flow_, folded_sign(start_ - last_end_));
    append_varint(flow_, count_);
    flow_ += shape_;
  }
  if (before_ != kNone) runs_[before_].next = run;
  before_ = run;
  for (size_t i = 0; i < accesses_.size(); ++i) append_address(runs_[run].accesses[i], accesses_[i]);
  last_end_ = next_;
  instructions_ += count_;
  count_ = 0;
  shape_.clear();
  accesses_.clear();
}

void StepsEncoder::event(TraceEventKind kind, std::span<const uint64_t> values) {
  end_run();
  write_times();
  append_varint(flow_, flow_event);
  append_varint(flow_, kind);
  append_varint(flow_, values.size());
  for (const uint64_t value : values) append_varint(flow_, value);
}

std::string StepsEncoder::take() {
  write_times();
  const uint64_t size = flow_.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += flow_;
  bytes += addresses_;
  flow_.clear();
  addresses_.clear();
  numbers_.clear();
  runs_.clear();
  before_ = kNone;
  last_end_ = last_address_ = instructions_ = 0;
  return bytes;
}

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
