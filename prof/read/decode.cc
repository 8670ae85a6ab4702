#include "decode.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "clock.h"
#include "cycles.h"
#include "file.h"
#include "header.h"
#include "snapshot.h"

namespace prof {

namespace {

// Inclusive times of PROFTYPE=adaptive, of which only samples were taken: "Estimated times" in libprof/format/format.h.
//
// The estimate is a ratio: the weighted sum of the durations that were measured, by the sum of the weights, times the
// number of calls. Its error comes from the calls that were not timed, so it is zero as long as all were; else the
// variance of the durations times the sum of w(w - 1) over the weights drawn, whose expectation follows from the count
// (Cochran, Sampling Techniques, section 2.11 and chapter 6).
//
// Calls that have not returned. Of main, and whatever else was open when the program ended, there is no duration yet,
// but a frame, with the time stamp of its entry if it is timed. If it is not, it is older than the frames above it.

struct Estimate {
  RawCycles cycles;     // inclusive
  double variance = 0;  // of the estimate; cycles^2
};

// Of the nodes of one thread.
class Estimator {
 public:
  // `end`: the time stamp up to which the thread is known to have run.
  Estimator(const Snapshot& snapshot, const prof_format::Thread& thread, uint64_t end);

  // Of the node in a block. Never more cycles than the thread lived.
  Estimate inclusive(Block block, const prof_format::Node& node) const;

  // Of the root: cycles that the thread lived.
  RawCycles whole() const { return whole_; }

 private:
  // Calls of a node that have not returned.
  struct Open {
    uint64_t calls = 0;
    uint64_t weight = 0;  // of those that are timed
    RawCycles cycles;     // that they have taken so far, as far as it is known
  };
  void find_open(const Snapshot& snapshot, const prof_format::Thread& thread, uint64_t end);

  RawCycles whole_;
  std::unordered_map<Block, Open> open_;
};

using prof_format::Frame;
using prof_format::FrameChunk;
using prof_format::kWeightShift;

// Of w(w - 1), by the call, summed up over the first `count` calls of a node: w is a whole number drawn evenly from
// period/2 to 3 period/2.
double sum_of_weights_beyond_one(uint64_t count) {
  double sum = 0;
  count = std::min(count, uint64_t(1) << 60);  // more come from damage, and would let `from` wrap around
  for (uint64_t from = prof_format::kTimedFrom; from < count; from *= 2) {
    const double period = double(prof_format::sampling_period(from));
    sum += double(std::min(from, count - from)) * (period + (period + 2) / 12 - 1);
  }
  return sum;
}

Estimator::Estimator(const Snapshot& snapshot, const prof_format::Thread& thread, uint64_t end)
    : whole_{end > thread.tsc_start ? double(end - thread.tsc_start) : 0} {
  find_open(snapshot, thread, end);
}

void Estimator::find_open(const Snapshot& snapshot, const prof_format::Thread& thread, uint64_t end) {
  std::unordered_set<Block> seen;
  for (Block stack = thread.stacks; stack != 0 && seen.insert(stack).second;) {
    const FrameChunk* first = snapshot.frames(stack);
    if (!first) return;
    // Calls on a stack that the thread left took time up to then.
    const bool is_suspended = first->left_at != 0 && thread.frames != stack;
    const uint64_t until = is_suspended ? std::min(end, first->left_at) : end;
    std::vector<const Frame*> frames;
    std::unordered_set<Block> nodes;  // of a node that is there twice the outer call is the one that counts
    for (const FrameChunk* chunk = first; chunk;) {
      const Frame* entries = reinterpret_cast<const Frame*>(chunk + 1);
      for (uint32_t i = 1; i < chunk->capacity; ++i)
        if (entries[i].slot != 0 && nodes.insert(entries[i].node).second) frames.push_back(&entries[i]);
      chunk = seen.insert(chunk->next).second ? snapshot.frames(chunk->next) : nullptr;
    }
    uint64_t latest = until;  // when the call was open at the latest
    for (size_t i = frames.size(); i-- > 0;) {
      const Frame* f = frames[i];
      const uint64_t weight = f->flags >> kWeightShift;
      if (weight != 0) latest = std::min(f->start, until);
      Open& open = open_[f->node];
      ++open.calls;
      open.weight += weight;
      open.cycles.count += double(until - latest);
    }
    stack = first->next_stack;
  }
}

Estimate Estimator::inclusive(Block block, const prof_format::Node& node) const {
  const auto found = open_.find(block);
  const Open open = found == open_.end() ? Open{} : found->second;
  const uint64_t calls = node.count - std::min(node.count, open.calls);
  const uint64_t weight = node.next - std::min(node.next, open.weight);
  Estimate e;
  if (calls != 0 && weight != 0) {
    const double mean = double(node.timed_cycles) / double(weight);
    const double unit = double(prof_format::kSquareUnit);
    const double squares = double(node.timed_squares) * unit * unit / double(weight);
    e.cycles = {mean * double(calls)};
    e.variance = std::max(squares - mean * mean, 0.0) * sum_of_weights_beyond_one(node.count);
  }
  e.cycles = std::min(e.cycles + open.cycles, whole_);
  return e;
}

using prof_format::Header;
using RawNode = prof_format::Node;
using RawThread = prof_format::Thread;

constexpr uint64_t kLongestRun = uint64_t(1) << 60;  // cycles, 10 years; more is damage
constexpr uint32_t kLongestPath = 1 << 16;           // bytes; the kernel's own limit is 4096

// Up to when a thread is known to have lived, by the counter; 0 if that is not known. The first thread is taken to live
// as long as the process.
uint64_t lived_until(const Snapshot& snapshot, const RawThread& thread) {
  const Header& header = snapshot.header();
  if (snapshot.is_live()) return thread_is_running(header.pid, thread.tid) ? snapshot.taken_at() : 0;
  const uint64_t end = (header.flags & prof_format::kEnded) ? header.tsc_end : header.tsc_last;
  return thread.tid == header.pid || thread.end != 0 ? end : 0;
}

// Up to when a thread is known to have run, by its own clock: the time after its last call belongs to its open
// functions. For how much of the time it had a processor, it says itself, or the kernel.
uint64_t end_of(const Snapshot& snapshot, const RawThread& thread, uint64_t last_tsc) {
  if (!uses_cpu_clock(snapshot.header())) return std::max(last_tsc, lived_until(snapshot, thread));
  if (!snapshot.is_live()) return std::max(last_tsc, thread.end);
  const auto cpu = thread_cpu_time(snapshot.header().pid, thread.tid);
  const double hz = time_stamp_rate(snapshot.header());
  if (!cpu || *cpu < thread.cpu_start || thread.cpu_start == 0 || hz <= 0) return last_tsc;
  // No longer than the time that there was.
  const double cycles = std::min(double(*cpu - thread.cpu_start) / 1e9 * hz,
                                 double(snapshot.taken_at() - std::min(snapshot.taken_at(), thread.tsc_start)));
  return std::max(last_tsc, thread.tsc_start + uint64_t(cycles));
}

// What a thread has waited that is in no node yet: since it was last taken off its processor, it has made no call.
uint64_t waiting_at_end(const Snapshot& snapshot, const RawThread& thread, uint64_t end) {
  const uint64_t until = lived_until(snapshot, thread);
  if (!has_waiting(snapshot.header()) || until < end || end < thread.tsc_start) return 0;
  const uint64_t off = until - end;  // its clock is after the counter by what it was off its processor
  return off > thread.away ? off - thread.away : 0;
}

// The node of the top frame of a stack: see Frame in libprof/format/format.h. 0 if that is not known.
Block node_on_top(const Snapshot& snapshot, Block stack) {
  Block node = 0;
  std::unordered_set<Block> seen;
  for (Block b = stack; b != 0 && seen.insert(b).second;) {
    const prof_format::FrameChunk* chunk = snapshot.frames(b);
    if (!chunk || chunk->capacity == 0) break;
    const auto* entries = reinterpret_cast<const prof_format::Frame*>(chunk + 1);
    if (entries[0].slot == 0) break;
    for (uint32_t i = b == stack ? 0 : 1; i < chunk->capacity; ++i) {
      if (entries[i].slot != 0) node = entries[i].node;
    }
    b = chunk->next;
  }
  return node;
}

// Decodes nodes of one thread, without their links.
class NodeDecoder {
 public:
  NodeDecoder(const Snapshot& snapshot, const RawThread& thread, uint64_t last_tsc, uint64_t end)
      : limit_(snapshot.header(), end),
        root_(thread.root),
        since_last_hook_(end - last_tsc),
        has_waiting_(has_waiting(snapshot.header())),
        is_sampled_(is_sampled(snapshot.header())),
        waiting_since_(waiting_at_end(snapshot, thread, end)),
        lifetime_{double(std::max(lived_until(snapshot, thread), end + thread.away)) -
                  double(snapshot.header().tsc_start)} {
    running_ = node_on_top(snapshot, thread.frames);
    if (snapshot.header().type == prof_format::kAdaptive) estimator_.emplace(snapshot, thread, end);
  }

  RecordedNode decode(Block block, const RawNode& raw) const {
    RecordedNode node;
    node.pc = raw.pc & ~prof_format::kKindOfCall;
    node.is_tail_call = raw.pc & prof_format::kTailCall;
    node.is_sought_call = node.is_tail_call && (raw.pc & prof_format::kSoughtCall);
    node.calls = block == root_ ? 0 : raw.count;
    node.block = block;
    if (has_waiting_) {
      node.blocked = {double(raw.blocked_cycles) + (block == running_ ? double(waiting_since_) : 0)};
      node.preempted = {double(raw.preempted_cycles)};
      bound_waiting(node);
    }
    if (is_sampled_) {
      node.own_samples = samples(raw.samples, node);
      node.library_samples = samples(raw.library_samples, node);
      node.kernel_samples = samples(raw.kernel_samples, node);
      const double all = node.own_samples + node.library_samples + node.kernel_samples;
      if (all > 0) node.sample_weight = std::clamp(double(raw.sample_squares) / all, 1.0, all);
    } else if (estimator_) {
      node.timed = raw.timed;
      const Estimate e = block == root_ ? Estimate{estimator_->whole()} : estimator_->inclusive(block, raw);
      node.cycles = e.cycles;
      node.variance = e.variance;
    } else {
      // The time since the last hook belongs to the node that runs, but is not in it yet.
      const SelfTime self = limit_.of(raw.cycles, block == running_ ? since_last_hook_ : 0);
      node.has_impossible_time |= !self.is_possible;
      node.cycles = {double(self.cycles)};
    }
    return node;
  }

 private:
  static double samples(uint64_t raw, RecordedNode& node) {
    const SampleCount found = samples_of(raw);
    node.has_impossible_time |= !found.is_possible;
    return double(found.count);
  }

  // What was waited longer than the process lived is impossible, too.
  void bound_waiting(RecordedNode& node) const {
    constexpr double kSlack = 1 << 20;  // cycles; stamps of two processors may differ
    const RawCycles longest = std::max(lifetime_, RawCycles());
    if ((node.blocked + node.preempted).count <= longest.count * 65 / 64 + kSlack) return;
    node.blocked = std::min(node.blocked, longest);
    node.preempted = std::min(node.preempted, longest - node.blocked);
    node.has_impossible_time = true;
  }

  SelfTimeLimit limit_;
  std::optional<Estimator> estimator_;
  Block root_, running_ = 0;
  uint64_t since_last_hook_;  // cycles
  bool has_waiting_, is_sampled_;
  uint64_t waiting_since_;  // cycles
  RawCycles lifetime_;      // of the thread at the longest
};

// Decodes the trees of all threads. A node that is in several places is taken where it is met first.
class TreeDecoder {
 public:
  explicit TreeDecoder(const Snapshot& snapshot) : snapshot_(snapshot), seen_(snapshot.blocks()) {}

  // `expected`: about how many nodes there are; 0 if that is not known.
  std::vector<RecordedNode> decode(Block root, const NodeDecoder& decoder, uint64_t expected) {
    std::vector<RecordedNode> nodes;
    nodes.reserve(std::min<uint64_t>(expected, snapshot_.blocks()));
    const RawNode* raw = snapshot_.structure<RawNode>(root);
    if (!raw || seen_[root]) return nodes;
    seen_[root] = true;
    append(nodes, decoder.decode(root, *raw));
    std::vector<uint32_t> parents = {0};  // whose children were not read yet, the next one last
    while (!parents.empty()) {
      const uint32_t parent = parents.back();
      parents.pop_back();
      const uint32_t first = uint32_t(nodes.size());
      const Block first_block = std::exchange(nodes[parent].first_child, first);
      const auto found = append_children(nodes, nodes[parent].block, first_block, decoder);
      nodes[parent].children = found;
      nodes[parent].child_count = uint32_t(nodes.size()) - first;
      for (uint32_t i = uint32_t(nodes.size()); i-- > first;)
        if (nodes[i].first_child != 0) parents.push_back(i);
    }
    return nodes;
  }

 private:
  // Until the children of a node are read, its first_child is the block of the first of them.
  void append(std::vector<RecordedNode>& nodes, RecordedNode node) const {
    node.first_child = snapshot_.child_of(node.block);
    nodes.push_back(node);
  }

  RecordedNode::Children append_children(std::vector<RecordedNode>& nodes, Block parent, Block first_block,
                                         const NodeDecoder& decoder) {
    const auto first = ptrdiff_t(nodes.size());
    auto found = RecordedNode::Children::whole;
    for (Block b = first_block; b != 0;) {
      const RawNode* raw = snapshot_.structure<RawNode>(b);
      if (!raw || seen_[b] || raw->parent != parent) {
        found = raw ? RecordedNode::Children::broken : RecordedNode::Children::cut_off;
        break;
      }
      seen_[b] = true;
      append(nodes, decoder.decode(b, *raw));
      b = raw->sibling;
    }
    std::sort(nodes.begin() + first, nodes.end(),
              [](const RecordedNode& a, const RecordedNode& b) { return a.block < b.block; });
    return found;
  }

  const Snapshot& snapshot_;
  std::vector<bool> seen_;  // by block
};

// The runtime has paths from /proc/self/maps, where the kernel writes \012 for a newline, and a backslash as it is. So
// if there is no such file, but one with newlines, that is meant.
std::string with_newlines(std::string path) {
  constexpr char kNewline[] = "\\012";
  if (path.find(kNewline) == std::string::npos || time_of_change(path)) return path;
  std::string meant = path;
  for (size_t at = 0; (at = meant.find(kNewline, at)) != std::string::npos;) meant.replace(at, 4, "\n");
  return time_of_change(meant) ? meant : path;
}

}  // namespace

std::vector<Module> decode_modules(const Snapshot& snapshot, std::vector<std::string>& damage) {
  std::vector<Module> modules;
  std::unordered_set<Block> seen;
  for (Block b = snapshot.header().first_module; b != 0; b = snapshot.module_after(b)) {
    const auto* raw = snapshot.structure<prof_format::Module>(b);
    const uint64_t left = raw ? (uint64_t(snapshot.blocks()) - b) * PROF_BLOCK_SIZE - sizeof *raw : 0;
    if (!raw || !seen.insert(b).second || raw->path_size > left || raw->path_size > kLongestPath ||
        raw->build_id_size > sizeof raw->build_id || raw->start > raw->end) {
      damage.emplace_back("its list of modules is damaged");
      break;
    }
    Module module;
    module.path.assign(reinterpret_cast<const char*>(raw + 1), raw->path_size);
    module.path.resize(std::strlen(module.path.c_str()));  // a path holds no NUL
    module.path = with_newlines(std::move(module.path));
    module.build_id.assign(reinterpret_cast<const char*>(raw->build_id), raw->build_id_size);
    module.bias = raw->bias;
    module.start = raw->start;
    module.end = raw->end;
    module.block = b;
    modules.push_back(std::move(module));
  }
  return modules;
}

// `less`: words that are taken off; those that are missing are 0.
static void add_words(std::vector<uint64_t>& sums, std::string_view words, std::string_view less) {
  const auto word_of = [](std::string_view bytes, size_t i) {
    uint64_t word = 0;
    if ((i + 1) * sizeof word <= bytes.size()) std::memcpy(&word, bytes.data() + i * sizeof word, sizeof word);
    return word;
  };
  const size_t count = words.size() / sizeof(uint64_t);
  sums.resize(std::max(sums.size(), count));
  for (size_t i = 0; i < count; ++i) {
    const uint64_t word = word_of(words, i);
    sums[i] += word - std::min(word, word_of(less, i));
  }
}

std::vector<ModuleCounters> decode_counters(const Snapshot& snapshot, const std::vector<Module>& modules,
                                            std::vector<std::string>& damage) {
  std::vector<ModuleCounters> all;
  std::unordered_set<Block> seen;
  uint64_t left = uint64_t(snapshot.blocks()) * PROF_BLOCK_SIZE;  // no two lie in the same place
  for (Block b = snapshot.header().first_counters; b != 0;) {
    const auto* raw = snapshot.structure<prof_format::Counters>(b);
    const auto module = raw ? std::ranges::find(modules, raw->module, &Module::block) : modules.end();
    if (!raw || !seen.insert(b).second || module == modules.end() || raw->count > left / sizeof(uint64_t)) {
      damage.emplace_back("its list of counters of blocks is damaged");
      break;
    }
    left -= raw->count * sizeof(uint64_t);
    const std::string_view bytes = snapshot.bytes(raw->values, raw->count * sizeof(uint64_t));
    if (bytes.size() != raw->count * sizeof(uint64_t)) damage.emplace_back("counters of blocks are missing");
    const auto index = uint32_t(module - modules.begin());
    auto sum = std::ranges::find(all, index, &ModuleCounters::module);
    if (sum == all.end()) sum = all.insert(all.end(), {.module = index, .words = {}, .locked = {}});
    add_words(sum->words, bytes, {});
    if (raw->lock & prof_format::kLockedFromStart) add_words(sum->locked, bytes, {});
    if (raw->before_lock != 0) add_words(sum->locked, bytes, snapshot.bytes(raw->before_lock, bytes.size()));
    sum->lock_failed |= (raw->lock & prof_format::kLockFailed) != 0;
    b = raw->next;
  }
  return all;
}

std::vector<Thread> decode_threads(const Snapshot& snapshot, std::vector<std::string>& damage, bool with_durations) {
  std::vector<std::pair<Block, const RawThread*>> found;
  std::unordered_set<Block> seen;
  for (Block b = snapshot.header().first_thread; b != 0;) {
    const auto* raw = snapshot.structure<RawThread>(b);
    if (!raw || !seen.insert(b).second) {
      damage.emplace_back("its list of threads is damaged");
      break;
    }
    found.emplace_back(b, raw);
    b = raw->next;
  }
  std::reverse(found.begin(), found.end());

  // The header counts the nodes of all threads together.
  const uint64_t expected = found.size() == 1 ? snapshot.header().nodes : 0;
  TreeDecoder trees(snapshot);
  DurationsDecoder durations(snapshot);
  std::vector<Thread> threads;
  for (const auto& [block, raw] : found) {
    const uint64_t last_tsc = snapshot.last_tsc(block), end = end_of(snapshot, *raw, last_tsc);
    Thread thread;
    thread.block = block;
    thread.tid = raw->tid;
    thread.name.assign(raw->name, strnlen(raw->name, sizeof raw->name));
    thread.lost = raw->lost;
    thread.start = raw->tsc_start;
    thread.end = end;
    thread.lived_until = end;
    const uint64_t away = raw->away + waiting_at_end(snapshot, *raw, end);
    if (uses_cpu_clock(snapshot.header()) && away < kLongestRun) thread.lived_until += away;
    if (has_waiting(snapshot.header())) {
      thread.waited = raw->away + waiting_at_end(snapshot, *raw, end);
      thread.blocked_times = raw->blocked;
      thread.preempted_times = raw->preempted;
    }
    if (is_sampled(snapshot.header())) {
      const bool are_apart = has_durations(snapshot.header());
      thread.hook_samples = samples_of(are_apart ? raw->hook_samples_apart : raw->hook_samples).count;
      if (are_apart && raw->hook_cycles < kLongestRun) thread.hook_cycles = raw->hook_cycles;
      thread.sample_signals = samples_of(are_apart ? raw->sample_signals_apart : raw->sample_signals).count;
    }
    const NodeDecoder nodes(snapshot, *raw, last_tsc, end);
    thread.nodes = trees.decode(raw->root, nodes, expected);
    if (with_durations) thread.durations = durations.decode(*raw, thread.nodes);
    if (is_sampled(snapshot.header()) && raw->addresses != 0) {
      thread.addresses = trees.decode(raw->addresses, nodes, 0);
      // Beside hooks that leave samples are all that nodes are for.
      if (snapshot.header().type == prof_format::kAddresses) thread.nodes = std::move(thread.addresses);
    }
    threads.push_back(std::move(thread));
  }
  for (size_t i = 0; i < durations.are_shared().size(); ++i) threads[i].shares_durations = durations.are_shared()[i];
  return threads;
}

std::string decode_command_line(const Snapshot& snapshot) {
  const Header& header = snapshot.header();
  std::string text(snapshot.bytes(header.command_line, header.command_line_size));
  while (!text.empty() && text.back() == 0) text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

}  // namespace prof
