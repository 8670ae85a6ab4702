#include "gdbserver_client.h"

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "prof/read/error.h"
#include "signal_numbers.h"
#include "target_client.h"

namespace prof::remote {

namespace {

constexpr size_t kPiece = 0x1000;                // bytes to a packet of a file or an object
constexpr size_t kMostBytes = size_t(16) << 20;  // of one
constexpr int kNotified = SIGTRAP;               // si_code of a stop that the kernel makes before a handler begins
constexpr uint64_t kMmap = 9, kMprotect = 10, kMunmap = 11, kMremap = 25, kExit = 60, kExitGroup = 231;

std::string hex_number(uint64_t number) {
  char text[20];
  std::snprintf(static_cast<char*>(text), sizeof text, "%llx", static_cast<unsigned long long>(number));
  return static_cast<const char*>(text);
}

std::string signal_for(int signal, uint32_t thread) {
  return to_hex(std::string(1, char(to_protocol_signal(signal)))) + ":" + hex_number(thread);
}

// A register in a stop packet: its bytes, the lowest first.
std::optional<uint64_t> register_value(std::string_view digits) {
  const auto bytes = from_hex(digits);
  if (!bytes || bytes->size() != 8) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = 8; i-- > 0;) value = value << 8 | uint8_t((*bytes)[i]);
  return value;
}

// The number of Linux; 0: none.
int signal_of_stop(std::string_view packet) {
  const auto number = from_hex(packet.substr(std::min<size_t>(packet.size(), 1), 2));
  if (!packet.starts_with("T") || !number || number->empty()) return 0;
  return from_protocol_signal(uint8_t((*number)[0]));
}

bool is_breakpoint(std::string_view code) {
  return code.starts_with("\xcc") || code.starts_with("\xcd\x03") || code.starts_with("\xf1");
}

}  // namespace

GdbserverClient::GdbserverClient(int descriptor, const std::vector<std::string>& command) : connection_(descriptor) {
  try {
    const std::string features = ask("qSupported:vContSupported+;QThreadEvents+;exec-events+;xmlRegisters=i386");
    for (const char* wanted : {"QStartNoAckMode+", "qXfer:features:read+", "qXfer:siginfo:read+"}) {
      if (features.find(wanted) == std::string::npos)
        throw Error(std::string("gdbserver: does not have ") + wanted + ", which is needed");
    }
    if (ask("QStartNoAckMode") != "OK") throw Error("gdbserver: does not do without acknowledgements");
    connection_.stop_acknowledging();
    ask("!");
    stop_ = ask("?");
    if (!stop_.starts_with("T")) start(command);
    ask("Hg0");
    ask("QThreadEvents:1");
    description_.emplace([this](const std::string& name) { return object("features", name); });
    Thread first;
    process_ = take_thread(stop_, first);
    if (process_ == 0) throw Error("gdbserver: does not say which process it has");
    const std::string words = file("/proc/" + std::to_string(process_) + "/cmdline");
    for (size_t at = 0; at < words.size(); at = std::min(words.find('\0', at), words.size()) + 1)
      command_.push_back(words.substr(at, words.find('\0', at) - at));
  } catch (const LinkBroken&) {
    throw Error("the link to gdbserver broke before the program began");
  }
}

void GdbserverClient::start(const std::vector<std::string>& command) {
  if (command.empty()) throw Error("gdbserver: has no program; say which one is to be started");
  std::string packet = "vRun";
  for (const std::string& word : command) packet += ";" + to_hex(word);
  stop_ = ask(packet);
  if (!stop_.starts_with("T")) throw Error("gdbserver: cannot start " + command[0]);
}

std::string GdbserverClient::ask(std::string_view packet) {
  if (!connection_.send(packet)) throw LinkBroken();
  for (;;) {
    const Received what = connection_.receive();
    if (what == Received::nothing) throw LinkBroken();
    if (what != Received::packet) continue;
    if (!connection_.payload().starts_with("O") || connection_.payload() == "OK") return connection_.payload();
  }  // O: what the program would print on gdb's terminal
}

// An object of qXfer; "" if there is none.
std::string GdbserverClient::object(const std::string& name, const std::string& annex) {
  std::string all;
  while (all.size() < kMostBytes) {
    const std::string piece =
        ask("qXfer:" + name + ":read:" + annex + ":" + hex_number(all.size()) + "," + hex_number(kPiece));
    if (!piece.starts_with("m") && !piece.starts_with("l")) break;
    all += piece.substr(1);
    if (piece[0] == 'l' || piece.size() == 1) break;
  }
  return all;
}

// A file of the machine that gdbserver is on; "" if it cannot be read.
std::string GdbserverClient::file(const std::string& path) {
  std::string all;
  const std::string opened = ask("vFile:open:" + to_hex(path) + ",0,0");
  std::string_view rest = opened;
  if (!take_word(rest, "F") || rest.starts_with("-")) return all;
  const std::string number(rest);
  while (all.size() < kMostBytes) {
    const std::string piece = ask("vFile:pread:" + number + "," + hex_number(kPiece) + "," + hex_number(all.size()));
    const size_t data = piece.find(';');
    if (!piece.starts_with("F") || data == std::string::npos || data + 1 == piece.size()) break;
    all += piece.substr(data + 1);
  }
  ask("vFile:close:" + number);
  return all;
}

std::string GdbserverClient::memory(uint64_t address, size_t size) {
  std::string all;
  while (all.size() < size) {  // page by page: the next one may not be there
    const uint64_t at = address + all.size();
    const size_t piece = std::min<size_t>(size - all.size(), 0x1000 - at % 0x1000);
    const auto bytes = from_hex(ask("m" + hex_number(at) + "," + hex_number(piece)));
    if (!bytes || bytes->empty() || bytes->size() > piece) break;  // E01, too
    all += *bytes;
    if (bytes->size() < piece) break;
  }
  return all;
}

// The number of the thread that a stop packet is about, and its registers in there; 0 if there is none.
uint32_t GdbserverClient::take_thread(std::string_view packet, Thread& to) {
  uint32_t number = 0;
  packet.remove_prefix(std::min<size_t>(packet.size(), 3));
  unsigned registers = 0;
  while (!packet.empty()) {
    const std::string_view pair = packet.substr(0, packet.find(';'));
    packet.remove_prefix(std::min(packet.size(), pair.size() + 1));
    std::string_view value = pair.substr(std::min(pair.size(), pair.find(':') + 1));
    if (pair.starts_with("thread:")) number = uint32_t(take_number(value).value_or(0));
    const auto taken = register_value(value);
    if (!taken) continue;
    if (pair.starts_with("06:")) to.registers[reg_rbp] = *taken;
    if (pair.starts_with("07:")) to.registers[reg_rsp] = *taken;
    if (pair.starts_with("10:")) to.registers[reg_rip] = *taken;
    if (pair.starts_with("06:") || pair.starts_with("07:") || pair.starts_with("10:")) ++registers;
  }
  to.is_known = registers == 3;
  return number;
}

// A signal that stopped a thread reaches it when it goes on. A trap is no signal but the end of a step.
void GdbserverClient::deliver(int signal, uint32_t thread) {
  delivered_ = signal == 0 || signal == SIGTRAP ? "" : signal_for(signal, thread);
}

// The packet that lets all threads go on.
std::string GdbserverClient::go_on(bool steps) const {
  const std::string signal = delivered_.empty() ? "" : (steps ? "S" : "C") + delivered_ + ";";
  return "vCont;" + signal + (steps ? "s" : "c");
}

TracedEnd GdbserverClient::record(TraceWriter& trace, bool is_local) {
  StepRecorder recorder(trace, is_local);
  try {
    read_maps(recorder);
    on_stop(stop_, recorder);
    for (;;) {
      const bool steps = !trace.is_ended();
      if (!steps) ask("QThreadEvents:0");
      stop_ = ask(go_on(steps));
      if (const auto end = end_of(stop_)) {
        for (auto& [number, thread] : threads_) {
          const uint64_t call = thread.call ? thread.call->number() : 0;
          if (call == kExit || call == kExitGroup) executed(number, thread, recorder);
          recorder.event({process_, number}, prof_format::kEventThreadEnd, {number});
        }
        return *end;
      }
      if (steps) {
        on_stop(stop_, recorder);
      } else {
        Thread unused;
        deliver(signal_of_stop(stop_), take_thread(stop_, unused));
      }
    }
  } catch (const LinkBroken&) {
    return {};
  }
}

void GdbserverClient::on_stop(std::string_view packet, StepRecorder& recorder) {
  deliver(0, 0);
  if (packet.starts_with("w")) {  // wXX;THREAD: it has ended
    const size_t semicolon = packet.find(';');
    std::string_view rest = packet.substr(std::min(packet.size(), semicolon) + (semicolon != std::string_view::npos));
    const uint32_t number = uint32_t(take_number(rest).value_or(0));
    if (const auto found = threads_.find(number); found != threads_.end()) {
      const Thread& thread = found->second;  // it has no registers any more, and so no result of its last system call
      if (thread.call) recorder.step({process_, number}, thread.registers, &thread.vectors);
      threads_.erase(found);
    }
    recorder.event({process_, number}, prof_format::kEventThreadEnd, {number});
    return;
  }
  if (packet.starts_with("N")) return;  // nothing is left that runs: the end follows
  if (!packet.starts_with("T")) throw Error("gdbserver: an answer that makes no sense");
  const int signal = signal_of_stop(packet);
  Thread now;
  const uint32_t number = take_thread(packet, now);
  if (number == 0) throw Error("gdbserver: a stop of no thread");
  const auto [found, is_new] = threads_.try_emplace(number);
  Thread& thread = found->second;
  const TracedThread traced = {process_, number};
  if (is_new) recorder.event(traced, prof_format::kEventThreadBegin, {number});
  if (!now.is_known) get_registers(number, now);
  if (packet.find(";exec:") != std::string_view::npos) {
    if (thread.call) executed(number, thread, recorder);
    recorder.event(traced, prof_format::kEventExec, {});
    code_.clear();
    read_maps(recorder);
  } else if (signal == SIGTRAP && thread.is_known) {
    on_trap(number, thread, now.registers, recorder);
  } else if (signal != 0 && signal != SIGTRAP) {
    recorder.event(traced, prof_format::kEventSignal, {uint64_t(signal)});
    deliver(signal, number);
  }
  thread = std::move(now);
  thread.was_signalled = !delivered_.empty();
  look(number, thread, recorder);
}

void GdbserverClient::on_trap(uint32_t number, Thread& thread, const Registers& now, StepRecorder& recorder) {
  if (thread.was_signalled) {
    const std::string info = object("siginfo", "");
    const bool has_code = info.size() >= 12;
    if (has_code && uint8_t(info[8]) == kNotified && info[9] == 0) return;  // a handler begins
  }
  // The end of a system call that the thread had begun before it was known, or that a signal interrupted.
  const bool has_moved = now[reg_rip] != thread.registers[reg_rip];
  if (!has_moved && thread.code.size() > 1 && thread.call) return;
  executed(number, thread, recorder);
  if (is_breakpoint(thread.code)) delivered_ = signal_for(SIGTRAP, number);
}

// It did what it was about to do.
void GdbserverClient::executed(uint32_t number, Thread& thread, StepRecorder& recorder) {
  const TracedThread traced = {process_, number};
  recorder.step(traced, thread.registers, &thread.vectors);
  if (!thread.call) return;
  const uint64_t call = thread.call->number();
  if (call == kExit || call == kExitGroup) return;
  Thread after;
  get_registers(number, after);
  recorder.event(traced, prof_format::kEventSystemCall, thread.call->event(after.registers[reg_rax]));
  if (call == kMmap || call == kMprotect || call == kMunmap || call == kMremap) read_maps(recorder);
}

// Finds out what the thread is about to do.
void GdbserverClient::look(uint32_t number, Thread& thread, StepRecorder& recorder) {
  const uint64_t address = thread.registers[reg_rip];
  const bool stays = is_constant(address);
  const auto found = stays ? code_.find(address) : code_.end();
  if (found != code_.end()) {
    thread.code = found->second;
  } else {
    thread.code = memory(address, kLongestInstruction);
    recorder.definition(process_, address, thread.code);
    if (stays) code_[address] = thread.code;
  }
  const DecodedInstruction* const instruction = recorder.instruction(process_, address);
  if (instruction && instruction->needs_registers && !thread.has_all) get_registers(number, thread);
  if (is_system_call(thread.code)) {
    thread.call.emplace(thread.registers, [this](uint64_t at, size_t size) { return memory(at, size); });
  }
}

void GdbserverClient::get_registers(uint32_t number, Thread& thread) {
  if (threads_.size() > 1) ask("Hg" + hex_number(number));
  std::string digits = ask("g");
  std::replace(digits.begin(), digits.end(), 'x', '0');  // xx: a register that is not there
  const auto bytes = from_hex(digits);
  if (!bytes || !description_->read(*bytes, thread.registers)) throw Error("gdbserver: does not tell the registers");
  thread.vectors = description_->vectors(*bytes);
  thread.has_all = thread.is_known = true;
}

void GdbserverClient::read_maps(StepRecorder& recorder) {
  const std::string text = file("/proc/" + std::to_string(process_) + "/maps");
  recorder.maps(process_, text);
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    std::string_view numbers = line;
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto start = take_number(numbers);
    const auto end = take_word(numbers, "-") ? take_number(numbers) : std::nullopt;
    if (start && end && numbers.size() > 4 && numbers[2] == '-' && numbers[4] == 'p') ranges.emplace_back(*start, *end);
  }
  if (ranges == constant_code_) return;
  constant_code_ = std::move(ranges);
  code_.clear();
}

bool GdbserverClient::is_constant(uint64_t address) const {
  return std::any_of(constant_code_.begin(), constant_code_.end(), [&](const auto& range) {
    return range.first <= address && address + kLongestInstruction <= range.second;
  });
}

}  // namespace prof::remote
