// Files for GNU gprof: gmon.out, and the names of functions.
//
// What of a run a gmon.out has room for: model/gmon/gmon_of.h. The program and each of its libraries have a file of
// their own.
//
// If a file has counts of basic blocks, gprof warns unless it is told to show lines (-l), and shows the same as without
// them. So they are in one more file, with all that is in the other, unless the user wants one only.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/model/gmon/gmon_of.h"
#include "prof/read/error.h"
#include "views.h"

namespace prof {

// In the file a bin has 16 bits and the number of calls of an arc 32. gprof adds up records of the same addresses, so a
// greater number is split over several.

namespace {

constexpr uint64_t kMaxTicksPerRecord = UINT16_MAX;
constexpr uint64_t kMaxCallsPerRecord = UINT32_MAX;
// Bytes of the records that great numbers need besides their first ones, which is enough for 10^17 calls; more come
// from damaged profiles.
constexpr uint64_t kMaxOfSplits = uint64_t(1) << 29;
constexpr size_t kDimensionSize = 15, kSizeOfArc = 21;

class GmonFile {
 public:
  explicit GmonFile(Output& out) : out_(out) {
    out_.text("gmon");
    number<uint32_t>(1);  // version
    out_.text(std::string(12, '\0'));
  }

  void histogram(const GmonHistogram& h) {
    const uint64_t most = h.bins.empty() ? 0 : *std::ranges::max_element(h.bins);
    count_splits(most / kMaxTicksPerRecord, h.bins.size() * sizeof(uint16_t));
    for (uint64_t done = 0; done == 0 || done < most; done += kMaxTicksPerRecord) {
      out_.byte(0);
      number<uint64_t>(h.low);
      number<uint64_t>(h.high);
      number<uint32_t>(uint32_t(h.bins.size()));
      number<uint32_t>(h.rate);
      std::string dimension = h.dimension;
      dimension.resize(kDimensionSize);
      out_.text(dimension);
      out_.byte(h.abbreviation);
      for (const uint64_t ticks : h.bins)
        number<uint16_t>(uint16_t(std::min(ticks - std::min(ticks, done), kMaxTicksPerRecord)));
    }
  }

  void arc(const GmonArc& arc) {
    count_splits(arc.calls / kMaxCallsPerRecord, kSizeOfArc);
    uint64_t calls = arc.calls;
    for (bool first = true; first || calls > 0; first = false) {
      const uint64_t now = std::min(calls, kMaxCallsPerRecord);
      calls -= now;
      out_.byte(1);
      number<uint64_t>(arc.from);
      number<uint64_t>(arc.to);
      number<uint32_t>(uint32_t(now));
    }
  }

  void blocks(const std::vector<GmonBlock>& blocks) {
    for (size_t i = 0; i < blocks.size();) {
      const size_t end = i + std::min<size_t>(blocks.size() - i, UINT32_MAX);
      out_.byte(2);
      number<uint32_t>(uint32_t(end - i));
      for (; i < end; ++i) {
        number<uint64_t>(blocks[i].address);
        number<uint64_t>(blocks[i].count);
      }
    }
  }

 private:
  // Before a number is written that needs so many more records, of `size` bytes or little more.
  void count_splits(uint64_t records, uint64_t size) {
    const uint64_t left = kMaxOfSplits - split_;
    if (records > left / std::max<uint64_t>(size, 1))
      throw Error(out_.name() + ": the numbers in the profile are too great for it");
    split_ += records * size;
  }
  template <class T>
  void number(T n) {
    char bytes[sizeof n];  // little-endian
    for (size_t i = 0; i < sizeof n; ++i) bytes[i] = char(n >> (8 * i));
    out_.text({bytes, sizeof n});
  }

  Output& out_;
  uint64_t split_ = 0;  // bytes
};

}  // namespace

void print_gmon(const Gmon& gmon, Output& out) {
  GmonFile file(out);
  for (const GmonHistogram& h : gmon.histograms) file.histogram(h);
  for (const GmonArc& arc : gmon.arcs) file.arc(arc);
  file.blocks(gmon.blocks);
}

namespace {

constexpr uint32_t kProgram = 0;  // index of the program among the objects
constexpr const char* kBlocks = ".blocks";

bool may_have_files_beside(const std::string& path) {
  std::error_code e;
  return !std::filesystem::exists(path, e) || std::filesystem::is_regular_file(path, e);
}

// Adds to how many calls are left out, and to the remarks. Returns the path of the file beside it with counts of
// blocks; "" if there is none.
std::string write_object(const Analysis& analysis, uint32_t object, const std::string& path, const GmonOptions& options,
                         const std::vector<CallSite>& sites, uint64_t& calls_left_out,
                         std::vector<std::string>& remarks) {
  uint64_t left_out = 0;
  Gmon gmon = gmon_of(analysis, object, &left_out, sites);
  calls_left_out += left_out;
  if (const std::string remark = remark_on_estimates(gmon); !remark.empty()) remarks.push_back(path + ": " + remark);
  const bool has_other = !gmon.blocks.empty() && !options.has_blocks && may_have_files_beside(path);
  if (options.has_blocks || has_other) add_line_starts(gmon, analysis, object, options.search);
  if (has_other) write_file(path + kBlocks, [&](Output& out) { print_gmon(gmon, out); });
  if (!options.has_blocks) gmon.blocks.clear();
  write_file(path, [&](Output& out) { print_gmon(gmon, out); });
  return has_other ? path + kBlocks : "";
}

// The files of the program and of those of its libraries that did anything, by object: `path`, `path`.SONAME. A device
// has no files beside it.
std::map<uint32_t, std::string> files_at(const Analysis& analysis, const std::string& path) {
  std::map<uint32_t, std::string> files = {{kProgram, path}};
  if (!may_have_files_beside(path)) return files;
  std::set<std::string> taken;
  for (uint32_t f = 0; f < analysis.sums.size(); ++f) {
    const Function& function = analysis.functions.functions()[f];
    const Object& object = analysis.functions.objects()[function.object];
    if (object.kind() != Object::Kind::library || object.is_missing() || !occurs(analysis, f) ||
        files.contains(function.object))
      continue;
    std::string name = path + "." + object.name();
    std::replace(name.begin() + long(path.size()), name.end(), '/', '_');
    for (unsigned n = 2; !taken.insert(name).second; ++n) name += "." + std::to_string(n);
    files[function.object] = name;
  }
  return files;
}

}  // namespace

std::vector<std::string> write_gmon(const Analysis& analysis, const std::string& path, const GmonOptions& options) {
  std::vector<std::string> ignored;  // without its code a caller is known as a whole
  const std::vector<CallSite> sites = call_sites(analysis, options.search, ignored);
  const std::map<uint32_t, std::string> files = files_at(analysis, path);
  std::string names;
  std::vector<std::string> with_blocks, remarks;
  uint64_t calls_left_out = 0;
  for (const auto& [object, file] : files) {
    const std::string beside = write_object(analysis, object, file, options, sites, calls_left_out, remarks);
    if (!beside.empty()) with_blocks.push_back(prof_text::printable(beside));
    if (object != kProgram) names += (names.empty() ? "" : ", ") + prof_text::printable(file);
  }

  if (!names.empty()) remarks.push_back(path + ": has what the program did; what libraries did is in " + names);
  if (options.has_blocks && analysis.blocks.empty())
    remarks.push_back(path + ": has no counts of blocks; these need profld -b");
  std::string blocks;
  for (const std::string& file : with_blocks) blocks += (blocks.empty() ? "" : ", ") + file;
  if (!blocks.empty())
    remarks.push_back(blocks + (with_blocks.size() == 1 ? ": has" : ": have") +
                      " this and counts of basic blocks, for gprof -l");
  uint64_t self_left_out = 0, others = 0;
  for (size_t f = 0; f < analysis.sums.size(); ++f) {
    const Function& function = analysis.functions.functions()[f];
    if (files.contains(function.object) || function.is_import) continue;
    if (analysis.sums[f].calls == 0 && analysis.sums[f].self == 0) continue;
    self_left_out += analysis.sums[f].self;
    ++others;
  }
  if (others) {
    char seconds[64];
    std::snprintf(seconds, sizeof seconds, "%.3f", analysis.seconds(self_left_out));
    remarks.push_back(path + ": leaves out " + prof_text::count_of(others, "function") + " outside the program, " +
                      seconds + " s of self time");
  }
  if (calls_left_out) {
    remarks.push_back(path + ": leaves out " + prof_text::count_of(calls_left_out, "call") +
                      " from outside the program, or from where nobody knows: it has no symbol _start to stand for "
                      "their caller");
  }
  return remarks;
}

namespace {

void write_names(const Analysis& analysis, uint32_t object, const std::string& path) {
  std::map<uint64_t, std::string> names;
  for (const Function& f : analysis.functions.functions()) {
    if (f.object == object) names[f.address] = f.raw_name;  // gprof demangles
  }
  if (const std::optional<uint64_t> outside = outside_of_object(analysis, object))
    names.try_emplace(*outside, name_of_outside(object));
  // For gprof a symbol ends where the next one begins. It would lose the time of the last one, so that gets an end.
  if (!names.empty()) names.try_emplace(names.rbegin()->first + 16, "_end_of_functions");
  write_file(path, [&](Output& out) {
    for (const auto& [address, name] : names) {
      out.text(prof_text::hexadecimal_digits(address) + " T ");
      // gprof reads words of less than 1024 bytes.
      std::string word = prof_text::shortened(prof_text::printable(name), 1000);
      std::replace(word.begin(), word.end(), ' ', '_');
      out.text(word + "\n");
    }
  });
}

}  // namespace

void write_gprof_symbols(const Analysis& analysis, const std::string& path) {
  for (const auto& [object, file] : files_at(analysis, path)) write_names(analysis, object, file);
}

}  // namespace prof
