#include "records.h"

#include <algorithm>

namespace prof::remote {

namespace {

constexpr uint64_t kMaxValues = 65536;  // of an event
constexpr size_t kVectorBytes = 64;

uint64_t zigzag(uint64_t value) { return value << 1 ^ (value >> 63 ? ~uint64_t(0) : 0); }
uint64_t from_zigzag(uint64_t value) { return value >> 1 ^ (value & 1 ? ~uint64_t(0) : 0); }

// Numbers and texts from the front of bytes. After the first that is not there all are 0, and is_bad() is true.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}
  bool is_bad() const { return is_bad_; }
  bool is_empty() const { return rest_.empty(); }

  uint8_t byte() {
    if (rest_.empty()) return fail();
    const auto value = uint8_t(rest_[0]);
    rest_.remove_prefix(1);
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t next = byte();
      value |= uint64_t(next & 0x7f) << shift;
      if (!(next & 0x80)) return shift == 63 && next > 1 ? fail() : value;
    }
    return fail();
  }
  uint64_t signed_varint() { return from_zigzag(varint()); }
  std::string_view text(uint64_t size) {
    if (size > rest_.size()) {
      fail();
      return {};
    }
    const std::string_view found = rest_.substr(0, size_t(size));
    rest_.remove_prefix(size_t(size));
    return found;
  }
  std::string_view rest() const { return rest_; }

 private:
  uint8_t fail() {
    is_bad_ = true;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool is_bad_ = false;
};

// The registers that a step tells of; the instruction pointer has a place of its own.
uint64_t changed(const Registers& from, const Registers& to) {
  uint64_t set = 0;
  for (size_t i = 0; i < kRegisters; ++i) {
    if (i != reg_rip && from[i] != to[i]) set |= uint64_t(1) << i;
  }
  return set;
}

void read_vectors(Bytes& in, VectorRegisters& to) {
  const uint64_t set = in.varint();
  for (size_t i = 0; i < to.vectors.size(); ++i) {
    if (!(set >> i & 1)) continue;
    const std::string_view bytes = in.text(std::min<uint64_t>(in.byte(), kVectorBytes));
    to.vectors[i].fill(0);
    std::copy(bytes.begin(), bytes.end(), to.vectors[i].begin());
  }
  const uint64_t masks = in.varint();
  for (size_t i = 0; i < to.masks.size(); ++i) {
    if (masks >> i & 1) to.masks[i] = in.varint();
  }
}

}  // namespace

void add_varint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(char(value | 0x80));
  to.push_back(char(value));
}

void add_signed(std::string& to, uint64_t value) { add_varint(to, zigzag(value)); }

void add_definition(std::string& to, uint64_t address, std::string_view code) {
  add_varint(to, address);
  add_varint(to, code.size());
  to.append(code);
}

std::string records_packet(uint32_t process, uint32_t thread, std::string_view definitions, std::string_view records) {
  std::string payload(1, kRecords);
  payload.reserve(definitions.size() + records.size() + 24);
  add_varint(payload, process);
  add_varint(payload, thread);
  add_varint(payload, definitions.size());
  payload.append(definitions);
  payload.append(records);
  return payload;
}

void RecordWriter::step(const Registers& before) {
  const uint64_t set = changed(last_, before);
  if (set == 0 && before[reg_rip] == last_[reg_rip]) {
    bytes_.push_back(char(record_again));
    return;
  }
  if (set != 0 && (set & (set - 1)) == 0) {
    bytes_.push_back(char(__builtin_ctzll(set)));
  } else {
    bytes_.push_back(char(record_step));
    add_varint(bytes_, set);
  }
  for (size_t i = 0; i < kRegisters; ++i) {
    if (set >> i & 1) add_signed(bytes_, before[i] - last_[i]);
  }
  add_signed(bytes_, before[reg_rip] - last_[reg_rip]);
  last_ = before;
}

void RecordWriter::block(uint64_t address, uint64_t instructions) {
  bytes_.push_back(char(record_block));
  add_signed(bytes_, address - last_[reg_rip]);
  add_varint(bytes_, instructions);
  last_[reg_rip] = address;
}

void RecordWriter::vectors(const VectorRegisters& now) {
  uint64_t set = 0, masks = 0;
  for (size_t i = 0; i < now.vectors.size(); ++i) set |= uint64_t(now.vectors[i] != last_vectors_.vectors[i]) << i;
  for (size_t i = 0; i < now.masks.size(); ++i) masks |= uint64_t(now.masks[i] != last_vectors_.masks[i]) << i;
  if (set == 0 && masks == 0) return;
  bytes_.push_back(char(record_vectors));
  add_varint(bytes_, set);
  for (size_t i = 0; i < now.vectors.size(); ++i) {
    if (!(set >> i & 1)) continue;
    size_t size = kVectorBytes;
    while (size > 0 && now.vectors[i][size - 1] == 0) --size;
    bytes_.push_back(char(size));
    bytes_.append(now.vectors[i].begin(), now.vectors[i].begin() + std::ptrdiff_t(size));
  }
  add_varint(bytes_, masks);
  for (size_t i = 0; i < now.masks.size(); ++i) {
    if (masks >> i & 1) add_varint(bytes_, now.masks[i]);
  }
  last_vectors_ = now;
}

void RecordWriter::event(uint64_t kind, const std::vector<uint64_t>& values) {
  bytes_.push_back(char(record_event));
  add_varint(bytes_, kind);
  add_varint(bytes_, values.size());
  for (const uint64_t value : values) add_varint(bytes_, value);
}

void RecordWriter::maps(std::string_view text) {
  bytes_.push_back(char(record_maps));
  add_varint(bytes_, text.size());
  bytes_.append(text);
}

std::optional<RecordsHeader> records_header(std::string_view payload) {
  if (payload.empty() || payload[0] != kRecords) return std::nullopt;
  Bytes in(payload.substr(1));
  RecordsHeader header;
  const uint64_t process = in.varint(), thread = in.varint();
  header.definitions = in.text(in.varint());
  header.records = in.rest();
  if (in.is_bad() || process > UINT32_MAX || thread > UINT32_MAX) return std::nullopt;
  header.process = uint32_t(process);
  header.thread = uint32_t(thread);
  return header;
}

bool RecordReader::read(const RecordsHeader& packet, RecordSink& sink) {
  Bytes definitions(packet.definitions);
  while (!definitions.is_empty()) {
    const uint64_t address = definitions.varint();
    const std::string_view code = definitions.text(definitions.varint());
    if (definitions.is_bad() || code.size() > kLongestInstruction) return false;
    sink.definition(address, code);
  }
  Bytes in(packet.records);
  while (!in.is_empty()) {
    const uint8_t kind = in.byte();
    if (kind < kRegisters || kind == record_step || kind == record_again) {
      const uint64_t set = kind == record_step ? in.varint() : kind < kRegisters ? uint64_t(1) << kind : 0;
      Registers now = last_;
      for (size_t i = 0; i < kRegisters; ++i) {
        if (set >> i & 1) now[i] += in.signed_varint();
      }
      if (kind != record_again) now[reg_rip] += in.signed_varint();
      if (in.is_bad()) return false;
      last_ = now;
      sink.step(last_, vectors_);
    } else if (kind == record_block) {
      last_[reg_rip] += in.signed_varint();
      const uint64_t instructions = in.varint();
      if (in.is_bad()) return false;
      sink.block(last_[reg_rip], instructions);
    } else if (kind == record_vectors) {
      read_vectors(in, vectors_);
    } else if (kind == record_event) {
      const uint64_t event = in.varint(), n = in.varint();
      if (n > kMaxValues) return false;
      std::vector<uint64_t> values;
      for (uint64_t i = 0; i < n && !in.is_bad(); ++i) values.push_back(in.varint());
      if (!in.is_bad()) sink.event(event, values);
    } else if (kind == record_maps) {
      const std::string_view text = in.text(in.varint());
      if (!in.is_bad()) sink.maps(text);
    } else {
      return false;
    }
    if (in.is_bad()) return false;
  }
  return true;
}

}  // namespace prof::remote
