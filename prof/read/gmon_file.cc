#include "gmon_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>
#include <utility>

#include "error.h"
#include "file.h"

namespace prof {

namespace {

constexpr std::string_view kMagic = "gmon";
constexpr uint32_t kVersionOfLdProfile = 0x1ffff;
constexpr uint32_t kVersionOf44Bsd = 0x51879;
constexpr uint32_t kRateOfOldBsd = 100;           // ticks per second; the file does not say, and gprof takes this
constexpr uint64_t kMaxFile = uint64_t(1) << 31;  // bytes
constexpr size_t kDimensionSize = 15;

// How a machine writes numbers.
struct Form {
  bool is_big_endian = false;
  unsigned word = 8;  // bytes of an address
  const char* name = "";

  bool is_of_x86() const { return !is_big_endian && word == 8; }
  unsigned old_header() const { return 2 * word + 4; }
  unsigned header_of_44() const { return old_header() + 5 * 4; }
};
constexpr Form kOurs = {false, 8, ""};
constexpr Form kOthers[] = {{true, 8, "of a big-endian machine"},
                            {false, 4, "of a machine with words of 32 bits"},
                            {true, 4, "of a big-endian machine with words of 32 bits"}};

uint64_t number_at(std::string_view bytes, size_t at, size_t size, bool is_big_endian) {
  uint64_t n = 0;
  for (size_t i = 0; i < size; ++i) {
    const size_t place = is_big_endian ? size - 1 - i : i;
    n |= uint64_t(static_cast<unsigned char>(bytes[at + i])) << (8 * place);
  }
  return n;
}

uint64_t size_of_unit(const GmonHistogram& h) { return (h.high - h.low) / h.bins.size(); }

// A list of histograms that others are added to.
class Histograms {
 public:
  // `name`: of the file that is added.
  Histograms(std::vector<GmonHistogram>& all, const std::string& name) : all_(all), name_(name) {
    for (size_t i = 0; i < all.size(); ++i) by_low_[all[i].low] = i;
  }

  void add(GmonHistogram more) {
    if (all_.empty()) {
      insert(std::move(more));
      return;
    }
    check_unit(more);
    const auto next = by_low_.lower_bound(more.low);
    if (next != by_low_.end() && all_[next->second].low == more.low && all_[next->second].high == more.high) {
      add_up(all_[next->second], more);
      return;
    }
    const bool overlaps_next = next != by_low_.end() && all_[next->second].low < more.high;
    const bool overlaps_last = next != by_low_.begin() && all_[std::prev(next)->second].high > more.low;
    if (overlaps_next || overlaps_last)
      throw Error(
          name_ +
          ": a histogram in it overlaps another one in part, so they cannot be added up; are they of one build?");
    insert(std::move(more));
  }

 private:
  void insert(GmonHistogram h) {
    by_low_[h.low] = all_.size();
    all_.push_back(std::move(h));
  }

  // As gprof has it: bins are of so many units of two bytes, which may be a fraction.
  static double scale(const GmonHistogram& h) {
    const uint64_t units = (h.high - h.low) / 2;
    return double(units) / double(h.bins.size());
  }

  void check_unit(const GmonHistogram& more) const {
    const GmonHistogram& first = all_[0];
    if (more.dimension != first.dimension || more.abbreviation != first.abbreviation)
      throw Error(name_ + ": its histograms count different things: " + first.dimension + " and " + more.dimension);
    if (std::abs(scale(more) - scale(first)) > 1e-6)
      throw Error(name_ + ": its histograms have bins of different sizes: " + std::to_string(size_of_unit(first)) +
                  " and " + std::to_string(size_of_unit(more)) + " bytes; gprof refuses that, too");
  }

  static bool is_empty(const GmonHistogram& h) {
    return std::all_of(h.bins.begin(), h.bins.end(), [](uint64_t bin) { return bin == 0; });
  }

  // A rate that was measured differs a little each time. Where there are no ticks (of a child that soon ended), it says
  // nothing.
  void add_up(GmonHistogram& sum, const GmonHistogram& more) const {
    if (is_empty(sum)) sum.rate = more.rate;
    if (!is_empty(more) && std::abs(double(sum.rate) / double(more.rate) - 1) > 0.01)
      throw Error(name_ + ": its histograms have different rates, " + std::to_string(sum.rate) + " and " +
                  std::to_string(more.rate) + " ticks a second, and cannot be added up");
    if (sum.bins.size() != more.bins.size())
      throw Error(
          name_ +
          ": a histogram in it has other bins than another of the same addresses, so they cannot be added up; are "
          "they of one build?");
    for (size_t i = 0; i < sum.bins.size(); ++i)
      if (__builtin_add_overflow(sum.bins[i], more.bins[i], &sum.bins[i])) sum.bins[i] = UINT64_MAX;
  }

  std::vector<GmonHistogram>& all_;
  const std::string& name_;
  std::map<uint64_t, size_t> by_low_;
};

class Decoder {
 public:
  Decoder(std::string_view bytes, const std::string& name, const Form& form)
      : bytes_(bytes), name_(name), form_(form), histograms_(gmon_.histograms, name) {}

  Gmon decode() {
    if (bytes_.starts_with(kMagic)) {
      decode_gnu();
    } else {
      decode_bsd();
    }
    return std::move(gmon_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(name_ + ": the gmon.out is damaged: " + what + "; run the program again");
  }
  [[noreturn]] void refuse_end(const std::string& inside) const {
    throw Error(name_ + ": the gmon.out was cut off within " + inside + "; run the program to its end once more");
  }

  uint64_t left() const { return bytes_.size() - at_; }
  void need(uint64_t size, const std::string& inside) const {
    if (left() < size) refuse_end(inside);
  }
  // The next bytes, which are there.
  uint64_t number(size_t size) {
    const uint64_t n = number_at(bytes_, at_, size, form_.is_big_endian);
    at_ += size;
    return n;
  }
  uint32_t short_number() { return uint32_t(number(4)); }
  uint64_t word() { return number(form_.word); }

  void decode_gnu() {
    constexpr size_t kHeader = 20;
    need(kHeader, "its header");
    at_ = kMagic.size();
    const uint32_t version = short_number();
    at_ = kHeader;
    check_version(version);
    while (left() > 0) {
      const uint64_t start = at_, tag = number(1);
      if (tag == 0) {
        decode_histogram();
      } else if (tag == 1) {
        decode_arc("an arc", 4);
      } else if (tag == 2) {
        decode_blocks(version);
      } else {
        refuse("at byte " + std::to_string(start) + " there is a record of the unknown kind " + std::to_string(tag));
      }
    }
  }

  void check_version(uint32_t version) const {
    if (version <= 1) return;
    if (version == kVersionOfLdProfile)
      throw Error(name_ + ": is a profile of a shared library that LD_PROFILE made; sprof reads it");
    if (form_.is_of_x86() && version == uint32_t(1) << 24)
      throw Error(name_ + ": the gmon.out is " + kOthers[0].name + "; prof reads those of x86-64");
    throw Error(name_ + ": the gmon.out is of version " + std::to_string(version) +
                "; this prof reads versions 0 and 1");
  }

  void decode_histogram() {
    const char* const kWhat = "a histogram";
    need(2 * form_.word + 8 + kDimensionSize + 1, kWhat);
    GmonHistogram h;
    h.low = word();
    h.high = word();
    const uint32_t bins = short_number();
    h.rate = short_number();
    h.dimension = bytes_.substr(at_, kDimensionSize);
    h.dimension.resize(std::min(h.dimension.find('\0'), h.dimension.size()));
    at_ += kDimensionSize;
    h.abbreviation = bytes_[at_];
    ++at_;
    if (bins == 0) refuse("a histogram has no bins");
    decode_bins(std::move(h), bins);
  }

  void decode_bins(GmonHistogram h, uint64_t bins) {
    if (h.rate == 0) refuse("a histogram has no rate, so its ticks are of no length");
    if (h.low >= h.high) refuse("a histogram ends in front of its beginning");
    if (bins > h.high - h.low) refuse("a histogram has more bins than addresses");
    need(2 * bins, "a histogram");
    h.bins.reserve(bins);
    for (uint64_t i = 0; i < bins; ++i) h.bins.push_back(number(2));
    histograms_.add(std::move(h));
  }

  void decode_arc(const char* what, size_t count_size) {
    need(2 * form_.word + count_size, what);
    GmonArc arc;
    arc.from = word();
    arc.to = word();
    arc.calls = number(count_size);
    gmon_.arcs.push_back(arc);
  }

  void decode_blocks(uint32_t version) {
    const std::string kWhat = "a record of basic blocks";
    need(4, kWhat);
    const uint32_t blocks = short_number();
    if (version == 0) skip_text(kWhat);
    for (uint32_t i = 0; i < blocks; ++i) {
      need(2 * form_.word, kWhat);
      const uint64_t first = word(), second = word();
      if (version != 0) {
        gmon_.blocks.push_back({first, second});
        continue;
      }
      gmon_.blocks.push_back({second, first});
      skip_text(kWhat);  // names of a function and of a file
      skip_text(kWhat);
      need(4, kWhat);
      at_ += 4;  // a line
    }
  }

  void skip_text(const std::string& inside) {
    const size_t end = bytes_.find('\0', at_);
    if (end == std::string_view::npos) refuse_end(inside);
    at_ = end + 1;
  }

  void decode_bsd() {
    need(form_.old_header(), "its header");
    GmonHistogram h;
    h.low = word();
    h.high = word();
    const uint32_t size = short_number();  // of header and bins
    h.rate = kRateOfOldBsd;
    uint32_t header = form_.old_header();
    if (left() >= 4 && number_at(bytes_, at_, 4, form_.is_big_endian) == kVersionOf44Bsd) {
      header = form_.header_of_44();
      at_ = 0;
      need(header, "its header");
      at_ = form_.old_header() + 4;
      h.rate = short_number();
    }
    at_ = header;
    if (size < header || (size - header) % 2 != 0) refuse("its header has an impossible size of the histogram");
    if (size > header) decode_bins(std::move(h), (size - header) / 2);
    while (left() > 0) decode_arc("an arc", form_.word);
  }

  const std::string_view bytes_;
  const std::string& name_;
  const Form form_;
  uint64_t at_ = 0;
  Gmon gmon_;
  Histograms histograms_;
};

// What machine's a file is that is not one of x86-64; "" if it is of none.
std::string other_machine(std::string_view bytes, const std::string& name) {
  for (const Form& form : kOthers) {
    try {
      const Gmon gmon = Decoder(bytes, name, form).decode();
      if (!gmon.histograms.empty() || !gmon.arcs.empty()) return form.name;
    } catch (const Error&) {
      continue;  // not of this one either
    }
  }
  return "";
}

// Whether these are the first bytes of a file of BSD's, `size` bytes long. The old format has nothing to know it by, so
// its numbers have to agree with each other; that of x86-64 may have been cut off.
bool has_bsd_header(std::string_view bytes, const Form& form, uint64_t size) {
  constexpr uint64_t kMaxAddresses = uint64_t(1) << 47, kMaxBin = 1024;
  if (bytes.size() < form.old_header()) return false;
  auto number = [&](size_t at, size_t n) { return number_at(bytes, at, n, form.is_big_endian); };
  if (bytes.size() >= form.header_of_44() && number(form.old_header(), 4) == kVersionOf44Bsd) return true;
  const uint64_t low = number(0, form.word), high = number(form.word, form.word), end = number(2 * form.word, 4);
  if (low >= high || high > kMaxAddresses || end < form.old_header() + 2 || end % 2 != 0) return false;
  const uint64_t bins = (end - form.old_header()) / 2;
  const bool is_whole = end <= size && (size - end) % (3 * form.word) == 0;
  return bins <= high - low && (high - low) / bins <= kMaxBin && (is_whole || form.is_of_x86());
}

}  // namespace

bool is_gmon_file(const std::string& path) {
  const Descriptor file(open_to_read(path));
  struct stat status;
  if (file.get() < 0 || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  char start[40];
  const std::string_view bytes(start, read_at(file.get(), start, sizeof start, 0, path));
  if (bytes.starts_with(kMagic)) return true;
  const uint64_t size = uint64_t(status.st_size);
  return has_bsd_header(bytes, kOurs, size) ||
         std::ranges::any_of(kOthers, [&](const Form& form) { return has_bsd_header(bytes, form, size); });
}

Gmon decode_gmon(std::string_view bytes, const std::string& name) {
  try {
    return Decoder(bytes, name, kOurs).decode();
  } catch (const Error&) {
    const std::string other = other_machine(bytes, name);
    if (!other.empty()) throw Error(name + ": the gmon.out is " + other + "; prof reads those of x86-64");
    throw;
  }
}

Gmon read_gmon(const std::string& path) {
  const Descriptor file(open_to_read(path));
  struct stat status;
  if (file.get() < 0 || fstat(file.get(), &status) != 0) throw Error(path + ": " + system_error(errno));
  if (!S_ISREG(status.st_mode)) throw Error(path + ": is not a regular file, so it is no gmon.out");
  if (uint64_t(status.st_size) > kMaxFile) throw Error(path + ": is too large for a gmon.out");
  std::string bytes(size_t(status.st_size), '\0');
  bytes.resize(read_at(file.get(), bytes.data(), bytes.size(), 0, path));
  return decode_gmon(bytes, path);
}

void add_gmon(Gmon& sum, Gmon more, const std::string& name) {
  Histograms histograms(sum.histograms, name);
  for (GmonHistogram& h : more.histograms) histograms.add(std::move(h));
  sum.arcs.insert(sum.arcs.end(), more.arcs.begin(), more.arcs.end());
  sum.blocks.insert(sum.blocks.end(), more.blocks.begin(), more.blocks.end());
}

}  // namespace prof
