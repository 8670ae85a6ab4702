// Profiles for pprof: messages of github.com/google/pprof/proto/profile.proto, compressed with gzip.
//
// A sample there is a context with its own values, and names its functions by locations, the innermost first. Ours has
// one location for each function, at its entry. The tables of functions and strings stand after the samples, which are
// written one by one: the fields of a message may come in any order.

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "contexts.h"
#include "exports.h"
#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/read/error.h"

namespace prof {

namespace {

// The numbers of fields, by message.
namespace profile_field {
enum {
  sample_type = 1,
  sample,
  mapping,
  location,
  function,
  string_table,
  duration_nanos = 10,
  comment = 13,
  default_sample_type
};
}
namespace value_type_field {
enum { type = 1, unit };
}
namespace sample_field {
enum { location_id = 1, value, label };
}
namespace label_field {
enum { key = 1, str, num };
}
namespace mapping_field {
enum { id = 1, filename = 5, build_id, has_functions };
}
namespace location_field {
enum { id = 1, mapping_id, address, line };
}
namespace line_field {
enum { function_id = 1 };
}
namespace function_field {
enum { id = 1, name, system_name };
}

// Compresses what it is given.
class Gzip {
 public:
  explicit Gzip(Output& out) : out_(out) {
    constexpr int kFast = 1, kMaxWindow = 15, kGzip = 16, kUsualMemory = 8;
    if (deflateInit2(&stream_, kFast, Z_DEFLATED, kMaxWindow + kGzip, kUsualMemory, Z_DEFAULT_STRATEGY) != Z_OK)
      throw Error(out.name() + ": cannot compress: out of memory");
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() { deflateEnd(&stream_); }

  void text(const std::string& bytes) {
    buffer_ += bytes;
    if (buffer_.size() >= kFull) compress(Z_NO_FLUSH);
  }
  void finish() { compress(Z_FINISH); }

 private:
  static constexpr size_t kFull = 1 << 18;

  void compress(int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = uInt(buffer_.size());
    char compressed[1 << 16];
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(compressed);
      stream_.avail_out = sizeof compressed;
      deflate(&stream_, flush);
      out_.text({compressed, sizeof compressed - stream_.avail_out});
    } while (stream_.avail_out == 0);
    buffer_.clear();
  }

  Output& out_;
  z_stream stream_ = {};
  std::string buffer_;
};

int64_t value_of(uint64_t n) { return int64_t(std::min(n, uint64_t(std::numeric_limits<int64_t>::max()))); }

class Pprof : public Export {
 public:
  explicit Pprof(Output& out) : gzip_(out) { string_number(""); }

  void add(const Analysis& part) override {
    std::vector<Measure> measures = measures_of(part);
    std::rotate(measures.begin(), measures.end() - 1, measures.end());  // by convention a count comes first
    if (!has_types_) write_types(part, measures);
    has_types_ = true;
    const std::string labels = labels_of(part);
    duration_ = std::max(duration_, part.duration);
    nanoseconds_ = part.seconds(duration_) * 1e9;
    std::vector<uint64_t> locations;  // of the callers, by level
    std::vector<uint64_t> innermost_first;
    for (const Context& context : contexts_of(part, measures)) {
      locations.resize(context.level);
      locations.push_back(location_of(part, context.function));
      if (context.self == Values{}) continue;
      innermost_first.assign(locations.rbegin(), locations.rend());
      std::vector<int64_t> values;
      for (size_t m = 0; m < measures.size(); ++m) values.push_back(value_of(context.self[m]));
      write(profile_field::sample, [&](protozero::pbf_writer& sample) {
        sample.add_packed_uint64(sample_field::location_id, innermost_first.begin(), innermost_first.end());
        sample.add_packed_int64(sample_field::value, values.begin(), values.end());
        message_ += labels;
      });
    }
    note_mappings(part);
  }

  void finish() override {
    gzip_.text(tables_);
    std::string rest;
    protozero::pbf_writer profile(rest);
    for (const std::string& s : strings_) profile.add_string(profile_field::string_table, s);
    if (nanoseconds_ > 0) profile.add_int64(profile_field::duration_nanos, int64_t(std::min(nanoseconds_, 0x1p62)));
    gzip_.text(rest);
    gzip_.finish();
  }

 private:
  // Calls `fill` with a writer of a message, which becomes that field of the profile.
  template <class Fill>
  void write(protozero::pbf_tag_type field, const Fill& fill) {
    message_.clear();
    protozero::pbf_writer writer(message_);
    fill(writer);
    std::string framed;
    protozero::pbf_writer(framed).add_message(field, message_);
    gzip_.text(framed);
  }

  int64_t string_number(const std::string& text) {
    const auto [at, is_new] = string_numbers_.try_emplace(text, int64_t(strings_.size()));
    if (is_new) strings_.push_back(text);
    return at->second;
  }

  void write_types(const Analysis& part, const std::vector<Measure>& measures) {
    for (const Measure m : measures) {
      write(profile_field::sample_type, [&](protozero::pbf_writer& type) {
        type.add_int64(value_type_field::type, string_number(name_of(m, part)));
        type.add_int64(value_type_field::unit, string_number(m == Measure::calls ? "count" : "nanoseconds"));
      });
    }
    std::string shown_first;
    protozero::pbf_writer(shown_first)
        .add_int64(profile_field::default_sample_type, string_number(name_of(measures_of(part)[0], part)));
    gzip_.text(shown_first);
  }

  std::string labels_of(const Analysis& part) {
    std::string labels;
    protozero::pbf_writer sample(labels);
    auto number = [&](const char* key, uint32_t n) {
      protozero::pbf_writer label(sample, sample_field::label);
      label.add_int64(label_field::key, string_number(key));
      label.add_int64(label_field::num, n);
    };
    if (part.process) number("process", part.process);
    if (part.thread == 0) return labels;
    number("thread", part.thread);
    protozero::pbf_writer label(sample, sample_field::label);
    label.add_int64(label_field::key, string_number("thread_name"));
    label.add_int64(label_field::str, string_number(prof_text::printable(part.thread_name)));
    return labels;
  }

  // Numbers of locations and functions are the same, and so are those of what they are of.
  static constexpr uint64_t kBetween = 1;
  static uint64_t number_of(uint32_t function) { return function + uint64_t(kBetween) + 1; }

  uint64_t location_of(const Analysis& part, uint32_t function) {
    if (function == Context::kBetween) {
      if (!has_between_) write_function(kBetween, 0, 0, kNameBetween, kNameBetween);
      has_between_ = true;
      return kBetween;
    }
    const uint64_t number = number_of(function);
    if (function >= is_written_.size()) is_written_.resize(function + 1);
    if (is_written_[function]) return number;
    is_written_[function] = true;
    const Function& f = part.functions.functions()[function];
    write_function(number, f.object + 1, f.address, printed_name(part, function), prof_text::printable(f.raw_name));
    return number;
  }

  // `mapping`: 0 for none.
  void write_function(uint64_t number, uint64_t mapping, uint64_t address, const std::string& name,
                      const std::string& system_name) {
    protozero::pbf_writer profile(tables_);
    {
      protozero::pbf_writer function(profile, profile_field::function);
      function.add_uint64(function_field::id, number);
      function.add_int64(function_field::name, string_number(name));
      function.add_int64(function_field::system_name, string_number(system_name));
    }
    protozero::pbf_writer location(profile, profile_field::location);
    location.add_uint64(location_field::id, number);
    if (mapping) location.add_uint64(location_field::mapping_id, mapping);
    if (address) location.add_uint64(location_field::address, address);
    protozero::pbf_writer line(location, location_field::line);
    line.add_uint64(line_field::function_id, number);
  }

  // Of modules that are new with this part; the first is the program.
  void note_mappings(const Analysis& part) {
    protozero::pbf_writer profile(tables_);
    const std::vector<Object>& objects = part.functions.objects();
    for (; mappings_ < objects.size(); ++mappings_) {
      const Object& object = objects[mappings_];
      const std::string& path = object.path().empty() ? object.name() : object.path();
      protozero::pbf_writer mapping(profile, profile_field::mapping);
      mapping.add_uint64(mapping_field::id, mappings_ + 1);
      mapping.add_int64(mapping_field::filename, string_number(prof_text::printable(path)));
      const std::string& id = object.original_build_id();
      if (!id.empty()) mapping.add_int64(mapping_field::build_id, string_number(prof_text::hexadecimal_of(id)));
      mapping.add_bool(mapping_field::has_functions, true);
    }
  }

  Gzip gzip_;
  std::string message_;  // that is being written
  std::string tables_;   // functions, locations and mappings, as they come after the samples
  std::unordered_map<std::string, int64_t> string_numbers_;
  std::vector<std::string> strings_;
  std::vector<bool> is_written_;  // by function
  bool has_between_ = false, has_types_ = false;
  size_t mappings_ = 0;
  double duration_ = 0, nanoseconds_ = 0;
};

}  // namespace

std::unique_ptr<Export> pprof_export(Output& out) { return std::make_unique<Pprof>(out); }

}  // namespace prof
