// What comes over the link of prof trace: packets in any pieces, records in them, descriptions of registers, memory maps, code.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "fuzz.h"
#include "prof/instructions/remote/gdbserver_client.h"
#include "prof/instructions/remote/packet.h"
#include "prof/instructions/remote/records.h"
#include "prof/instructions/remote/step_recorder.h"
#include "prof/instructions/remote/system_calls.h"
#include "prof/instructions/remote/target_client.h"
#include "prof/instructions/trace/trace_writer.h"
#include "prof/read/error.h"

namespace {

using namespace prof::remote;

class Sink : public RecordSink {
 public:
  Sink(StepRecorder& recorder, prof::TracedThread thread) : recorder_(recorder), thread_(thread) {}
  void definition(uint64_t address, std::string_view code) override {
    recorder_.definition(thread_.process, address, code);
  }
  void step(const Registers& before, const VectorRegisters& vectors) override {
    recorder_.step(thread_, before, &vectors);
    const SystemCall call(before, [this](uint64_t, size_t size) { return memory.substr(0, size); });
    call.event(before[reg_rax]);
  }
  void block(uint64_t address, uint64_t instructions) override { recorder_.block(thread_, address, instructions); }
  void event(uint64_t kind, const std::vector<uint64_t>& values) override {
    if (kind >= prof_format::kEventThreadBegin && kind <= prof_format::kEventLost)
      recorder_.event(thread_, prof_format::TraceEventKind(kind), values);
  }
  void maps(std::string_view text) override { recorder_.maps(thread_.process, text); }
  std::string memory;

 private:
  StepRecorder& recorder_;
  const prof::TracedThread thread_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  try {
    prof::TraceWriter trace("/dev/null", {});
    StepRecorder recorder(trace, false);
    PacketReader packets;
    std::map<uint32_t, RecordReader> readers;
    const auto take = [&] {
      for (Received what = packets.next(); what != Received::nothing; what = packets.next()) {
        if (what != Received::packet) continue;
        const std::string payload = packets.payload();
        end_of(payload);
        from_hex(payload);
        if (const auto header = records_header(payload)) {
          Sink sink(recorder, {header->process, header->thread});
          sink.memory = all;
          readers[header->thread].read(*header, sink);
        }
      }
    };
    const size_t half = size / 2;
    packets.add(all.substr(0, half));
    take();
    packets.add(all.substr(half));
    take();
    recorder.maps(1, all);
    const TargetDescription description([&](const std::string&) { return std::string(all); });
    Registers registers;
    description.read(all, registers);
    description.vectors(all);
  } catch (const prof::Error&) {
  }
  return 0;
}
