#include "target_client.h"

#include <cstdio>
#include <map>

#include "packet.h"
#include "prof/read/error.h"
#include "records.h"

namespace prof::remote {

namespace {

// What records of one thread are written as.
class Sink : public RecordSink {
 public:
  explicit Sink(StepRecorder& recorder) : recorder_(recorder) {}
  TracedThread thread;

  void definition(uint64_t address, std::string_view code) override {
    recorder_.definition(thread.process, address, code);
  }
  void step(const Registers& before, const VectorRegisters& vectors) override {
    recorder_.step(thread, before, &vectors);
  }
  void block(uint64_t address, uint64_t instructions) override { recorder_.block(thread, address, instructions); }
  void event(uint64_t kind, const std::vector<uint64_t>& values) override {
    if (kind >= prof_format::kEventThreadBegin && kind <= prof_format::kEventLost)
      recorder_.event(thread, prof_format::TraceEventKind(kind), values);
  }
  void maps(std::string_view text) override { recorder_.maps(thread.process, text); }

 private:
  StepRecorder& recorder_;
};

Error other_version(const std::string& what) {
  return Error("proftarget: " + what + "; use the proftarget that came with this prof");
}

}  // namespace

std::optional<TracedEnd> end_of(std::string_view packet) {
  const bool is_exit = take_word(packet, "W");
  if (!is_exit && !take_word(packet, "X")) return std::nullopt;
  const auto status = take_number(packet);
  if (!status || *status > 0xff || (!packet.empty() && packet[0] != ';')) return std::nullopt;
  if (is_exit) return TracedEnd{TracedEnd::Kind::exit, int(*status)};
  return TracedEnd{TracedEnd::Kind::signal, from_protocol_signal(int(*status))};
}

TargetClient::TargetClient(int descriptor) : connection_(descriptor) {
  const std::string features = ask("qSupported:prof.records+");
  if (features.find("prof.records+") == std::string::npos)
    throw Error("what answers is not proftarget; use --gdbserver if it is gdbserver");
  if (ask("QStartNoAckMode") != "OK") throw other_version("it refused QStartNoAckMode");
  connection_.stop_acknowledging();
  const std::string answer = ask("qProf.command");
  std::string_view rest = answer;
  const auto process = take_number(rest);
  const auto words = take_word(rest, ":") ? from_hex(rest) : std::nullopt;
  if (!process || *process > UINT32_MAX || !words) throw other_version("it does not say what it runs");
  process_ = uint32_t(*process);
  for (size_t at = 0; at < words->size();) {
    const size_t end = words->find('\0', at);
    command_.push_back(words->substr(at, end - at));
    at = end == std::string::npos ? words->size() : end + 1;
  }
}

std::string TargetClient::ask(std::string_view packet) {
  if (connection_.send(packet) && connection_.receive() == Received::packet) return connection_.payload();
  throw Error("the connection to proftarget broke before the program began; start both again");
}

TracedEnd TargetClient::record(TraceWriter& trace, const TargetSettings& settings) {
  char request[96];
  std::snprintf(static_cast<char*>(request), sizeof request, "QProf:buffer=%llx;forks=%d;blocks=%d;each=%d",
                static_cast<unsigned long long>(settings.buffer), settings.follows_forks ? 1 : 0,
                settings.by_blocks ? 1 : 0, settings.steps_each ? 1 : 0);
  if (ask(static_cast<const char*>(request)) != "OK") throw other_version("it refused the settings that prof sent");
  StepRecorder recorder(trace, settings.is_local);
  Sink sink(recorder);
  std::map<TracedThread, RecordReader> readers;
  bool lets_go = false;
  if (!connection_.send("vProf")) return {};
  while (connection_.receive() == Received::packet) {
    const std::string& payload = connection_.payload();
    if (const auto header = records_header(payload)) {
      sink.thread = {header->process, header->thread};
      if (!readers[sink.thread].read(*header, sink)) throw other_version("it sent records that make no sense");
    } else if (const auto end = end_of(payload)) {
      return *end;
    } else {
      throw other_version("it sent a reply that makes no sense");
    }
    if (trace.is_ended() && !lets_go) {
      lets_go = true;
      connection_.interrupt();
    }
  }
  return {};
}

}  // namespace prof::remote
