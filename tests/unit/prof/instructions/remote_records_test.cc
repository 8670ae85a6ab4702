#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "prof/instructions/remote/records.h"

using namespace prof::remote;

namespace {

struct Told : RecordSink {
  std::vector<Registers> steps;
  std::vector<std::string> others;
  VectorRegisters last_vectors;
  void definition(uint64_t address, std::string_view code) override {
    others.push_back("code " + std::to_string(address) + " " + std::string(code));
  }
  void step(const Registers& before, const VectorRegisters& vectors) override {
    steps.push_back(before);
    last_vectors = vectors;
  }
  void block(uint64_t address, uint64_t n) override {
    others.push_back("block " + std::to_string(address) + " " + std::to_string(n));
  }
  void event(uint64_t kind, const std::vector<uint64_t>& values) override {
    others.push_back("event " + std::to_string(kind) + " " + std::to_string(values.size()));
  }
  void maps(std::string_view text) override { others.push_back("maps " + std::string(text)); }
};

}  // namespace

TEST_CASE("records: what was written is read again, over several packets") {
  Registers a = {}, b, c;
  a[reg_rip] = 0x401000;
  a[reg_rsp] = 0x7ffffffff000;
  b = a;
  b[reg_rip] += 3;
  b[reg_gs_base] = ~uint64_t(0);
  c = b;
  c[reg_rip] = 16;
  VectorRegisters vectors;
  vectors.vectors[3][63] = 9;
  vectors.masks[7] = 1ull << 63;

  RecordWriter writer;
  RecordReader reader;
  Told told;
  std::string definitions;
  add_definition(definitions, 0x401000, "\x90");
  writer.step(a);
  writer.step(a);
  const std::string first = records_packet(7, 8, definitions, writer.take());
  writer.step(b);
  writer.vectors(vectors);
  writer.step(c);
  writer.event(5, {11, ~uint64_t(0)});
  writer.maps("text");
  writer.block(40, 6);
  const std::string second = records_packet(7, 8, "", writer.take());
  for (const std::string& packet : {first, second}) {
    const auto header = records_header(packet);
    REQUIRE(header);
    CHECK(header->process == 7);
    CHECK(header->thread == 8);
    CHECK(reader.read(*header, told));
  }
  CHECK(told.steps == std::vector<Registers>{a, a, b, c});
  CHECK(told.last_vectors.vectors == vectors.vectors);
  CHECK(told.last_vectors.masks == vectors.masks);
  CHECK(told.others == std::vector<std::string>{"code 4198400 \x90", "event 5 2", "maps text", "block 40 6"});

  // Cut off anywhere, it is read up to there, or found damaged.
  for (size_t n = 0; n < second.size(); ++n) {
    RecordReader other;
    if (const auto header = records_header(std::string_view(second).substr(0, n))) other.read(*header, told);
  }
}

TEST_CASE("records: what makes no sense is told") {
  Told told;
  CHECK(!records_header(""));
  CHECK(!records_header("OK"));
  CHECK(!records_header(std::string("X\x01\x01\x05", 4)));  // definitions after the end
  const auto reads = [&](const std::string& records) {
    const std::string packet = records_packet(1, 1, "", records);
    return RecordReader().read(*records_header(packet), told);
  };
  CHECK(!reads(std::string(1, char(200))));
  CHECK(!reads(std::string(1, char(record_step))));
  CHECK(!reads(std::string(1, '\0') + std::string(11, '\xff')));
  CHECK(!reads(std::string(1, char(record_event)) + "\x05\xff\xff\xff\xff\x7f"));
  CHECK(!reads(std::string(1, char(record_maps)) + "\5ab"));
  CHECK(told.steps.empty());
}
