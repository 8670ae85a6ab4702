#include "trace_reader.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "libprof/format/trace.h"
#include "linker-rewrite/text/numbers.h"
#include "varint.h"

namespace prof {

using namespace prof_format;

namespace {

uint64_t difference_of(TraceBytes& bytes, uint32_t form) {
  switch (form) {
    case 0:
      return 0;
    case 1:
      return uint64_t(int64_t(bytes.read<int8_t>()));
    case 2:
      return uint64_t(int64_t(bytes.read<int16_t>()));
    default:
      return bytes.read<uint64_t>();
  }
}

}  // namespace

std::string unpacked_records(std::string_view packed, uint64_t size) {
  if (size > kMaxChunkBytes) throw DamagedTrace("a chunk is larger than it can be");
  TraceBytes bytes(packed);
  std::vector<uint64_t> last(kPackedSlots + kMaxRecordValues);
  std::vector<uint32_t> words(kPackedSlots);
  uint32_t before = 0;  // the slot of the word before
  std::string records;
  records.reserve(size_t(size));
  const auto append = [&](const auto& value) { records.append(reinterpret_cast<const char*>(&value), sizeof value); };
  while (records.size() < size) {
    auto control = bytes.read<uint8_t>();
    if (control & 1) words[before] = bytes.read<uint32_t>();
    const uint32_t word = words[before];
    if (!is_whole_record(word)) throw DamagedTrace("a packed record is none");
    append(word);
    before = packed_slot(word);
    unsigned shift = 1;
    for (uint32_t i = 0; i < (word >> kRecordValuesShift & kMaxRecordValues); ++i, shift += 2) {
      if (shift > kLastPackedShift) {
        control = bytes.read<uint8_t>();
        shift = 0;
      }
      append(last[before + i] += difference_of(bytes, control >> shift & 3));
    }
  }
  if (records.size() != size) throw DamagedTrace("a compressed part cannot be unpacked");
  return records;
}

namespace {

constexpr uint64_t kWindowPart = 1 << 20;  // bytes that are read at once; a multiple of each size of words

std::vector<std::string> words_of(std::string_view bytes) {
  std::vector<std::string> words;
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = std::min(bytes.find('\0', at), bytes.size());
    words.emplace_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

// What all threads share: as large as the table.
struct TraceReader::Blocks {
  explicit Blocks(std::string_view bytes) : table(bytes), ways(table), runs(2 * table.size()) {}

  const BlockTable table;
  BlockWays ways;
  std::optional<uint64_t> bias;       // once it is needed
  std::vector<const TraceRun*> runs;  // by block, one up and one down; null until it ran
  std::map<std::tuple<uint64_t, uint64_t, bool>, const TraceRun*> by_place;
};

struct TraceReader::BlockStream {
  BlockStream(TraceReader& reader, Blocks& shared, const TraceChunk& chunk)
      : owner(reader),
        blocks(shared),
        thread{chunk.process, chunk.thread},
        bias(*blocks.bias),
        decoder(blocks.ways, [this](uint64_t block, std::span<const uint64_t> values) { take(block, values); }) {}

  void take(uint64_t block, std::span<const uint64_t> values) {
    const BlockTable::Known known = blocks.table.accesses(block, bias, values, accesses);
    const TraceRun*& run = blocks.runs[2 * block + known.is_down];
    if (!run) {
      TraceRun made = blocks.table.run(block, thread.process, bias, known.is_down);
      const TraceRun*& same =
          blocks.by_place[{made.start, made.end, known.is_down}];  // the table may have a block twice
      if (!same || same->lengths != made.lengths || same->accesses != made.accesses)
        same = &owner.runs_.add(std::move(made));
      run = same;
      owner.memory_.set_code(thread.process, run->start, blocks.table.code(block));
    }
    owner.is_incomplete_ |= known.lacks_values;
    owner.has_unknown_ |= known.has_unknown;
    owner.pass_run(thread, *run, accesses);
  }

  TraceReader& owner;
  Blocks& blocks;
  const TracedThread thread;
  const uint64_t bias;
  std::vector<AccessValue> accesses;
  BlocksDecoder decoder;
};

TraceReader::TraceReader(const std::string& path) : file_(path) {}

TraceReader::~TraceReader() = default;

void TraceReader::pass_run(TracedThread thread, const TraceRun& run, std::span<const AccessValue> accesses) {
  if (run.number >= given_) {
    given_ = run.number + 1;
    consumer_->new_run(run, memory_);
  }
  consumer_->run(thread, run, accesses);
}

void TraceReader::pass_event(TracedThread thread, const TraceEvent& event) {
  if (event.kind == kEventExec) {
    memory_.exec(thread.process);
    runs_.forget();
  }
  if (event.kind == kEventFork && !event.values.empty()) memory_.fork(uint32_t(event.values[0]), thread.process);
  if (event.kind == kEventLost) {
    has_lost_ = true;
    if (!event.values.empty()) lost_ += event.values[0];
  }
  consumer_->event(thread, event);
}

void TraceReader::read_steps(const TraceChunkPlace& chunk) {
  const TracedThread thread{chunk.head.process, chunk.head.thread};
  const std::string bytes = file_.bytes(chunk);
  if (chunk.head.kind == kChunkEvents) {
    for (const TraceEvent& event : decode_events(bytes)) pass_event(thread, event);
    return;
  }
  StepsDecoder steps(bytes, thread.process, runs_);
  while (steps.next()) {
    if (steps.run()) {
      pass_run(thread, *steps.run(), steps.accesses());
    } else {
      pass_event(thread, steps.event());
    }
    if (consumer_->is_done()) return;
  }
}

TraceReader::BlockStream& TraceReader::stream_of(const TraceChunkPlace& chunk) {
  std::unique_ptr<BlockStream>& stream = streams_[{chunk.head.process, chunk.head.thread, chunk.head.module}];
  if (stream) return *stream;
  const auto table = tables_.find({chunk.head.process, chunk.head.module});
  if (table == tables_.end()) throw DamagedTrace("blocks ran that no table tells of");
  std::optional<uint64_t>& bias = table->second->bias;
  if (!bias) bias = memory_.bias_of(chunk.head.process, chunk.head.module);
  stream = std::make_unique<BlockStream>(*this, *table->second, chunk.head);
  return *stream;
}

void TraceReader::read_blocks(const TraceChunkPlace& chunk) {
  BlockStream& stream = stream_of(chunk);
  const bool has_values = (file_.header().flags & kTraceMemory) && chunk.head.word_size == sizeof(uint32_t);
  if (chunk.head.encoding == kTracePacked && has_values) {
    stream.decoder.records(unpacked_records(file_.some_bytes(chunk, 0, chunk.head.stored), chunk.head.size));
    return stream.decoder.end_window();
  }
  if (chunk.head.encoding != kTraceRaw) throw DamagedTrace("a window of blocks is packed");
  for (uint64_t at = 0; at < chunk.head.stored && !consumer_->is_done(); at += kWindowPart) {
    const std::string bytes = file_.some_bytes(chunk, at, kWindowPart);
    if (!file_.is_unchanged(chunk)) return stream.decoder.leave_window();  // the program goes on
    if (has_values) {
      stream.decoder.records(bytes);
    } else {
      stream.decoder.words(bytes, chunk.head.word_size);
    }
  }
  if (has_values && !consumer_->is_done()) stream.decoder.end_window();
}

void TraceReader::read_chunk(const TraceChunkPlace& chunk) {
  switch (chunk.head.kind) {
    case kChunkCommand:
      command_ = words_of(file_.bytes(chunk));
      break;
    case kChunkModule:
      memory_.map(chunk.head.process, file_.bytes(chunk));
      runs_.forget();
      break;
    case kChunkCode:
      if (memory_.add_code(chunk.head.process, file_.bytes(chunk))) runs_.forget();
      break;
    case kChunkSteps:
    case kChunkEvents:
      read_steps(chunk);
      break;
    case kChunkBlocks:
      read_blocks(chunk);
      break;
    case kChunkBlockTable: {
      auto& table = tables_[{chunk.head.process, chunk.head.module}];
      if (table) throw DamagedTrace("a module has two tables of blocks");
      table = std::make_unique<Blocks>(file_.bytes(chunk));
      break;
    }
    default:
      break;
  }
}

// What words of blocks do not tell, or not for certain.
void TraceReader::note_blocks() {
  uint64_t doubtful = 0, cut = 0;
  for (const auto& [key, stream] : streams_) {
    if (!stream) continue;  // there is no table
    const BlockSequence& sequence = stream->decoder.sequence();
    has_lost_ |= sequence.has_gaps();
    // A ring begins anywhere, and a program that was killed ends so: that is told anyway.
    has_lost_ |= sequence.begins_inside() && !(file_.header().flags & kTraceRing);
    cut += sequence.never_resumed() + (file_.end() && file_.end()->reason == kEndExit && sequence.ends_inside());
    doubtful += sequence.doubtful();
  }
  if (doubtful)
    remarks_.push_back(
        "may have " + std::to_string(doubtful) +
        " instructions that are others than those that ran: where handlers of signals come to each other's code");
  if (cut)
    remarks_.push_back("may lack the last instructions of code that did not go on, in " +
                       prof_text::count_of(cut, "place") +
                       " or more: where a signal handler did not return, or a thread was ended");
  is_partial_ |= cut || doubtful;
}

void TraceReader::note_end() {
  // The runtime of a rewritten program needs no end: what ran is in the file at once.
  const bool is_inlined = file_.header().origin == kTraceInlined;
  if (!file_.end() && is_inlined) remarks_.emplace_back("has no end: the program still runs, or was killed");
  if (!file_.end() && !is_inlined) remarks_.emplace_back("has no end: it was cut off, or the program still runs");
  is_partial_ |= !file_.end() && !is_inlined;
  const uint32_t reason = file_.end() ? file_.end()->reason : 0;
  if (reason == kEndLimit) remarks_.emplace_back("ends where it became as large as it was allowed to be");
  if (reason == kEndDiskFull) remarks_.emplace_back("ends where the disk was full");
  if (reason == kEndLink) remarks_.emplace_back("ends where the link to the target broke");
  if (reason == kEndDetached)
    remarks_.emplace_back(
        "lacks what some threads ran: there was no memory or no room for their records; free room, and run the program "
        "again");
  is_partial_ |= reason == kEndLimit || reason == kEndDiskFull || reason == kEndLink || reason == kEndDetached;
  if (file_.header().flags & kTraceRing) remarks_.emplace_back("has only the last of what ran");
  note_blocks();
  if (has_lost_)
    remarks_.push_back("lacks " + (lost_ ? std::to_string(lost_) : std::string("some")) + " instructions in between");
  if (has_unknown_) remarks_.emplace_back("lacks the addresses of some accesses that such a trace cannot tell");
  if (is_incomplete_) remarks_.emplace_back("lacks some addresses of blocks that a signal handler or a kill cut off");
  is_partial_ |= has_lost_ || (file_.header().flags & kTraceRing) != 0;
}

void TraceReader::read(TraceConsumer& consumer) {
  consumer_ = &consumer;
  bool is_damaged = false;
  try {
    for (const TraceChunkPlace& chunk : file_.chunks()) {
      if (consumer.is_done()) return;
      read_chunk(chunk);
    }
  } catch (const DamagedTrace& e) {
    is_damaged = true;
    remarks_.push_back(std::string("is damaged (") + e.what() + "); only what comes before that is shown");
  }
  is_partial_ |= is_damaged || file_.is_torn();
  if (file_.is_torn()) remarks_.emplace_back("ends in the middle of a chunk");
  note_end();
}

}  // namespace prof
