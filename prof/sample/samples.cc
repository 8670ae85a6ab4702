#include "samples.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "linker-rewrite/text/numbers.h"
#include "prof/read/elf_file.h"
#include "prof/read/error.h"
#include "prof/read/file.h"

namespace prof {

uint32_t SampledChains::add(const std::vector<FramePlace>& frames, uint64_t count, bool in_kernel, ChainIndex& index) {
  uint32_t at = 0;
  for (size_t i = frames.size(); i-- > 0;) {
    const auto [child, is_new] = index.try_emplace({at, frames[i]}, uint32_t(nodes_.size()));
    if (is_new) nodes_.push_back({at, frames[i]});
    at = child->second;
  }
  (in_kernel ? nodes_[at].kernel : nodes_[at].user) += count;
  return at;
}

void SampledChains::renumber(const std::vector<uint32_t>& modules) {
  for (size_t i = 1; i < nodes_.size(); ++i) nodes_[i].place.module = modules[nodes_[i].place.module];
}

namespace {

using nlohmann::json;

constexpr char kFormat[] = "prof.samples";
constexpr size_t kFormatWithin = 1000;  // bytes from the start, whoever wrote it again
constexpr uint64_t kVersion = 1;
constexpr uint64_t kMaxFile = uint64_t(1) << 31;      // bytes
constexpr uint64_t kMaxSamples = uint64_t(1) << 50;   // of one address, or thread: no program runs so long
constexpr uint64_t kLongestPeriod = 1'000'000'000;    // nanoseconds
constexpr uint64_t kLongestTime = uint64_t(1) << 62;  // nanoseconds
constexpr size_t kMaxModules = 1 << 20;
constexpr double kGreatestWeight = 1e9;
constexpr size_t kMaxChainNodes = 1 << 26;

// One line of JSON, with what is no UTF-8 replaced.
template <class Json>
std::string line(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string raw_bytes(const std::string& digits) {
  auto value = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    const int high = value(digits[i]), low = value(digits[i + 1]);
    if (high < 0 || low < 0) return "";
    bytes += char(high * 16 + low);
  }
  return bytes;
}

// Takes values out of a document; whatever is not there or is not what it should be is an Error.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(path_ + ": the file of samples is damaged: " + what + "; run the program again");
  }
  const json& member(const json& object, const char* name) const {
    const auto at = object.is_object() ? object.find(name) : object.end();
    if (!object.is_object() || at == object.end()) refuse(std::string("it has no ") + name);
    return *at;
  }
  uint64_t number(const json& value, const char* name, uint64_t most) const {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > most) {
      refuse(std::string(name) + " is no number that it can be");
    }
    return value.get<uint64_t>();
  }
  uint64_t number_of(const json& object, const char* name, uint64_t most) const {
    return number(member(object, name), name, most);
  }
  std::string text_of(const json& object, const char* name) const {
    const json& value = member(object, name);
    if (!value.is_string()) refuse(std::string(name) + " is no text");
    return value.get<std::string>();
  }
  // Of a member that need not be there.
  double weight_of(const json& object, const char* name) const {
    const auto at = object.find(name);
    if (at == object.end()) return 1;
    if (!at->is_number() || !(at->get<double>() >= 1) || at->get<double>() > kGreatestWeight)
      refuse(std::string(name) + " is no number that it can be");
    return at->get<double>();
  }
  const json& list_of(const json& object, const char* name, size_t most = kMaxModules) const {
    const json& value = member(object, name);
    if (!value.is_array() || value.size() > most) refuse(std::string(name) + " is no list");
    return value;
  }

 private:
  const std::string& path_;
};

SampledModule module_of(const json& value, const Reader& reader) {
  SampledModule module{reader.text_of(value, "path")};
  module.build_id = raw_bytes(reader.text_of(value, "build_id"));
  const json& addresses = reader.member(value, "addresses");
  if (!addresses.is_array()) reader.refuse("addresses is no list");
  for (const json& pair : addresses) {
    if (!pair.is_array() || pair.size() != 2) reader.refuse("an address has no count");
    module.counts[reader.number(pair[0], "an offset", UINT64_MAX)] += reader.number(pair[1], "a count", kMaxSamples);
  }
  return module;
}

// Of a document that has some.
SampledChains chains_of(const json& document, const Reader& reader, const Samples& samples) {
  SampledChains chains;
  uint64_t user = 0, kernel = 0;
  for (const json& value : reader.list_of(document, "chains", kMaxChainNodes)) {
    if (!value.is_array() || value.size() != 5) reader.refuse("a chain has not five numbers");
    ChainNode node;
    node.parent = uint32_t(reader.number(value[0], "a caller", chains.nodes().size() - 1));
    if (samples.modules.empty()) reader.refuse("chains have no modules");
    node.place.module = uint32_t(reader.number(value[1], "a module", samples.modules.size() - 1));
    node.place.offset = reader.number(value[2], "an offset", UINT64_MAX);
    user += node.user = reader.number(value[3], "a count", samples.user);
    kernel += node.kernel = reader.number(value[4], "a count", samples.kernel);
    if (user > samples.user || kernel > samples.kernel) reader.refuse("chains have more samples than there are");
    chains.append(node);
  }
  const json& ends = reader.member(document, "chain_ends");
  for (unsigned i = 0; i < kChainEnds; ++i)
    chains.count(ChainEnd(i), reader.number_of(ends, name_of(ChainEnd(i)), kMaxSamples));
  return chains;
}

// Of a document that has them, and whose chains and threads are read. What chains they are of is believed only as far
// as these exist.
SampleTimes times_of(const json& value, const Reader& reader, const Samples& samples) {
  SampleTimes times;
  times.slice = reader.number_of(value, "slice_ns", kLongestTime);
  times.length = reader.number_of(value, "length_ns", kLongestTime);
  if (times.slice == 0) reader.refuse("slice_ns is 0");
  if (times.length / times.slice >= kMaxSlices) reader.refuse("length_ns has too many slices");
  uint64_t user = 0, kernel = 0;
  uint32_t last = 0;
  for (const json& count : reader.list_of(value, "counts", kMaxChainNodes)) {
    if (!count.is_array() || count.size() != 5) reader.refuse("a count of the timeline has not five numbers");
    if (samples.threads.empty()) reader.refuse("the timeline has no threads");
    TimedSamples timed;
    timed.slice = uint32_t(reader.number(count[0], "a slice", kMaxSlices - 1));
    timed.thread = uint32_t(reader.number(count[1], "a thread", samples.threads.size() - 1));
    timed.chain = uint32_t(reader.number(count[2], "a chain", samples.chains.nodes().size() - 1));
    timed.in_kernel = reader.number(count[3], "in_kernel", 1) != 0;
    uint64_t& sum = timed.in_kernel ? kernel : user;
    sum += timed.samples = reader.number(count[4], "a count", timed.in_kernel ? samples.kernel : samples.user);
    if (timed.slice < last) reader.refuse("the timeline is not in order");
    if (user > samples.user || kernel > samples.kernel) reader.refuse("the timeline has more samples than there are");
    last = timed.slice;
    times.counts.push_back(timed);
  }
  return times;
}

Samples samples_of(const json& document, const Reader& reader) {
  Samples s;
  s.program = reader.text_of(document, "program");
  for (const json& word : reader.list_of(document, "arguments")) {
    if (!word.is_string()) reader.refuse("an argument is no text");
    s.arguments.push_back(word.get<std::string>());
  }
  s.period = reader.number_of(document, "period_ns", kLongestPeriod);
  if (s.period == 0) reader.refuse("period_ns is 0");
  const json& kernel = reader.member(document, "kernel_samples");
  s.has_kernel = !kernel.is_null();
  if (s.has_kernel) s.kernel = reader.number(kernel, "kernel_samples", kMaxSamples);
  s.lost = reader.number_of(document, "lost_samples", UINT64_MAX);
  s.weight = reader.weight_of(document, "samples_at_once");
  s.user_time = reader.number_of(document, "user_time_ns", kLongestTime);
  s.system_time = reader.number_of(document, "system_time_ns", kLongestTime);
  if (document.contains("sampling_time_ns")) s.cost = reader.number_of(document, "sampling_time_ns", kLongestTime);
  const json& status = reader.member(document, "wait_status");
  s.status = status.is_null() ? std::nullopt : std::optional(int(reader.number(status, "wait_status", INT32_MAX)));
  uint64_t sum = 0;
  for (const json& value : reader.list_of(document, "modules")) {
    s.modules.push_back(module_of(value, reader));
    for (const auto& [offset, count] : s.modules.back().counts) {
      sum += count;
      if (sum > kMaxSamples) reader.refuse("there are more samples than there can be");
    }
  }
  s.user = reader.number_of(document, "user_samples", kMaxSamples);
  if (s.user != sum) reader.refuse("its counts do not add up to user_samples");
  for (const json& value : reader.list_of(document, "threads")) {
    s.threads.push_back({uint32_t(reader.number_of(value, "process", UINT32_MAX)),
                         uint32_t(reader.number_of(value, "thread", UINT32_MAX)), reader.text_of(value, "name"),
                         reader.number_of(value, "user_samples", kMaxSamples),
                         reader.number_of(value, "kernel_samples", kMaxSamples)});
  }
  if (document.contains("outlived_by"))
    for (const json& value : reader.list_of(document, "outlived_by"))
      s.outlived_by.push_back(uint32_t(reader.number(value, "a process", UINT32_MAX)));
  if (document.contains("chains")) s.chains = chains_of(document, reader, s);
  if (document.contains("timeline")) s.times = times_of(document["timeline"], reader, s);
  return s;
}

// The members of the document that tell of chains.
std::string text_of(const SampledChains& chains) {
  if (chains.is_empty()) return "";
  json ends;
  for (unsigned i = 0; i < kChainEnds; ++i) ends[name_of(ChainEnd(i))] = chains.ended(ChainEnd(i));
  std::string text = ",\n\"chain_ends\":" + line(ends) + ",\n\"chains\":[";
  for (size_t i = 1; i < chains.nodes().size(); ++i) {
    const ChainNode& n = chains.nodes()[i];
    text += (i == 1 ? "\n" : ",\n") + line(json{n.parent, n.place.module, n.place.offset, n.user, n.kernel});
  }
  return text + "]";
}

std::string text_of(const SampleTimes& times) {
  if (times.counts.empty()) return "";
  std::string text = ",\n\"timeline\":{\"slice_ns\":" + std::to_string(times.slice) +
                     ",\"length_ns\":" + std::to_string(times.length) + ",\"counts\":[";
  const char* separator = "\n";
  for (const TimedSamples& t : times.counts) {
    text += separator + line(json{t.slice, t.thread, t.chain, int(t.in_kernel), t.samples});
    separator = ",\n";
  }
  return text + "]}";
}

std::string text_of(const Samples& samples) {
  nlohmann::ordered_json head = {{"format", kFormat},
                                 {"version", kVersion},
                                 {"program", samples.program},
                                 {"arguments", samples.arguments},
                                 {"period_ns", samples.period},
                                 {"user_samples", samples.user},
                                 {"kernel_samples", nullptr},
                                 {"lost_samples", samples.lost},
                                 {"samples_at_once", samples.weight},
                                 {"user_time_ns", samples.user_time},
                                 {"system_time_ns", samples.system_time},
                                 {"sampling_time_ns", samples.cost},
                                 {"wait_status", nullptr}};
  if (samples.has_kernel) head["kernel_samples"] = samples.kernel;
  if (samples.status) head["wait_status"] = uint64_t(*samples.status);
  if (!samples.outlived_by.empty()) head["outlived_by"] = samples.outlived_by;
  std::string text = line(head);
  text.pop_back();  // the document goes on
  text += ",\n\"modules\":[";
  const char* separator = "\n";
  for (const SampledModule& module : samples.modules) {
    json addresses = json::array();
    for (const auto& [offset, count] : module.counts) addresses.push_back({offset, count});
    const std::string build_id = prof_text::hexadecimal_of(module.build_id);
    text += separator + line(json{{"path", module.path}, {"build_id", build_id}, {"addresses", std::move(addresses)}});
    separator = ",\n";
  }
  text += "],\n\"threads\":[";
  separator = "\n";
  for (const SampledThread& thread : samples.threads) {
    text += separator + line(json{{"process", thread.process},
                                  {"thread", thread.thread},
                                  {"name", thread.name},
                                  {"user_samples", thread.user},
                                  {"kernel_samples", thread.kernel}});
    separator = ",\n";
  }
  return text + "]" + text_of(samples.chains) + text_of(samples.times) + "}\n";
}

}  // namespace

void Samples::set_times(uint64_t whole_user, uint64_t whole_system) {
  const double all = double(whole_user) + double(whole_system),
               own = all > 0 ? std::max(1 - double(cost) / all, 0.0) : 1;
  user_time = uint64_t(double(whole_user) * own);
  system_time = uint64_t(double(whole_system) * own);
}

void write_samples(const Samples& samples, int fd, const std::string& path) {
  const std::string text = text_of(samples);
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw Error(path + ": " + system_error(n < 0 ? errno : EIO));
    at += size_t(n);
  }
}

namespace {
// Of samples that are about to replace those in a file; one of a process that was killed meanwhile may be left.
std::string fresh_of(const std::string& path) { return path + ".new"; }
}  // namespace

void replace_samples(const Samples& samples, const std::string& path) {
  const std::string fresh = fresh_of(path);
  unlink(fresh.c_str());  // of a process that was killed while it wrote
  const Descriptor file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) throw Error(path + ": " + system_error(errno));
  write_samples(samples, file.get(), path);
  if (rename(fresh.c_str(), path.c_str()) != 0) throw Error(path + ": " + system_error(errno));
}

bool is_samples_file(const std::string& path) {
  const Descriptor file(open_to_read(path));
  char start[kFormatWithin] = {};
  if (file.get() < 0 || read(file.get(), start, sizeof start) <= 0) return false;
  return start[0] == '{' && std::string_view(start, sizeof start).find(kFormat) != std::string_view::npos;
}

std::string samples_beside(const std::string& profile) { return profile + ".samples"; }

std::vector<std::string> without_samples(std::vector<std::string> paths) {
  const std::vector<std::string> all = paths;
  std::erase_if(paths, [&](const std::string& path) {
    return std::ranges::any_of(all, [&](const std::string& profile) {
      const std::string samples = samples_beside(profile);
      return path == samples || path == fresh_of(samples);
    });
  });
  return paths;
}

Samples read_samples(const std::string& path) {
  const Descriptor file(open_to_read(path));
  struct stat status;
  if (file.get() < 0 || fstat(file.get(), &status) != 0) throw Error(path + ": " + system_error(errno));
  const std::string is_none = path + ": is no file of samples; prof run --true leaves them as prof.samples";
  if (!S_ISREG(status.st_mode) || uint64_t(status.st_size) > kMaxFile) throw Error(is_none);
  std::string text(size_t(status.st_size), '\0');
  text.resize(read_at(file.get(), text.data(), text.size(), 0, path));
  const Reader reader(path);
  if (!text.starts_with('{') || text.find(kFormat) >= kFormatWithin) throw Error(is_none);
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) reader.refuse("it is no JSON, or was cut off");
  if (reader.text_of(document, "format") != kFormat) throw Error(is_none);
  if (reader.number_of(document, "version", UINT64_MAX) != kVersion) {
    throw Error(path + ": was written by another version of prof; read it with that version, or record it again");
  }
  return samples_of(document, reader);
}

}  // namespace prof
