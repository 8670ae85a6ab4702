#include "target_description.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <vector>

#include "prof/read/error.h"

namespace prof::remote {

namespace {

constexpr size_t kMostFiles = 64;
constexpr size_t kMostRegisters = 4096;
constexpr unsigned kMostBits = 4096;  // of a register

// In the order of RegisterNumber.
constexpr const char* kNames[] = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp",    "r8",      "r9",
                                  "r10", "r11", "r12", "r13", "r14", "r15", "rip", "eflags", "fs_base", "gs_base"};
static_assert(std::size(kNames) == kRegisters);

struct Described {
  std::string name;
  unsigned number = 0, bits = 0;
};

// The value of an attribute in a tag; "" if it has none.
std::string attribute(std::string_view tag, const std::string& name) {
  const size_t at = tag.find(" " + name + "=\"");
  if (at == std::string_view::npos) return "";
  const size_t begin = at + name.size() + 3;
  const size_t end = tag.find('"', begin);
  return end == std::string_view::npos ? "" : std::string(tag.substr(begin, end - begin));
}

bool number_of(const std::string& text, unsigned& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// Each file once: they may include each other. `read`: those that were.
void read_file(const std::function<std::string(const std::string&)>& file, const std::string& name,
               std::set<std::string>& read, std::vector<Described>& to) {
  if (read.size() == kMostFiles || !read.insert(name).second) return;
  const std::string text = file(name);
  for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    const size_t end = text.find('>', at);
    if (end == std::string::npos) return;
    std::string tag = text.substr(at, end - at);
    std::replace(tag.begin(), tag.end(), '\n', ' ');
    if (tag.starts_with("<xi:include ")) read_file(file, attribute(tag, "href"), read, to);
    if (!tag.starts_with("<reg ") || to.size() >= kMostRegisters) continue;
    Described made;
    made.name = attribute(tag, "name");
    if (!number_of(attribute(tag, "bitsize"), made.bits) || made.bits > kMostBits) continue;
    if (!number_of(attribute(tag, "regnum"), made.number)) made.number = to.empty() ? 0 : to.back().number + 1;
    to.push_back(made);
  }
}

}  // namespace

TargetDescription::TargetDescription(const std::function<std::string(const std::string& name)>& file) {
  std::vector<Described> registers;
  std::set<std::string> read;
  read_file(file, "target.xml", read, registers);
  std::stable_sort(registers.begin(), registers.end(),
                   [](const Described& a, const Described& b) { return a.number < b.number; });
  size_t offset = 0;
  for (const Described& r : registers) {
    places_.emplace(r.name, Place{offset, r.bits / 8});
    offset += r.bits / 8;
  }
  for (const char* const name : kNames) {
    if (!find(name)) throw Error(std::string("gdbserver: does not tell of register ") + name);
  }
}

const TargetDescription::Place* TargetDescription::find(const std::string& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &found->second;
}

bool TargetDescription::read(std::string_view bytes, Registers& to) const {
  for (size_t i = 0; i < kRegisters; ++i) {
    const Place& place = *find(kNames[i]);
    if (place.offset + place.size > bytes.size()) return false;
    to[i] = 0;
    std::memcpy(&to[i], bytes.data() + place.offset, std::min(place.size, sizeof to[i]));
  }
  to[reg_flags] &= kDirectionFlag;
  return true;
}

VectorRegisters TargetDescription::vectors(std::string_view bytes) const {
  VectorRegisters to;
  const auto copy = [&](const std::string& name, uint8_t* part, size_t most) {
    const Place* const place = find(name);
    if (place && place->offset + place->size <= bytes.size())
      std::memcpy(part, bytes.data() + place->offset, std::min(place->size, most));
  };
  for (size_t i = 0; i < to.vectors.size(); ++i) {
    const std::string n = std::to_string(i);
    uint8_t* const vector = to.vectors[i].data();
    copy("xmm" + n, vector, 16);
    copy("ymm" + n + "h", vector + 16, 16);
    copy("zmm" + n + "h", vector + 32, 32);
  }
  for (size_t i = 0; i < to.masks.size(); ++i)
    copy("k" + std::to_string(i), reinterpret_cast<uint8_t*>(&to.masks[i]), sizeof to.masks[i]);
  return to;
}

}  // namespace prof::remote
