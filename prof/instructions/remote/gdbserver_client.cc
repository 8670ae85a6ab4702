#include "gdbserver_client.h"

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"
#include "packet.h"
#include "prof/read/error.h"
#include "target_client.h"

namespace prof::remote {

namespace {

constexpr size_t kMaxFiles = 64;
constexpr size_t kMaxRegisters = 4096;
constexpr unsigned kMaxBits = 4096;  // of a register

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
  if (read.size() == kMaxFiles || !read.insert(name).second) return;
  const std::string text = file(name);
  for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    const size_t end = text.find('>', at);
    if (end == std::string::npos) return;
    std::string tag = text.substr(at, end - at);
    std::replace(tag.begin(), tag.end(), '\n', ' ');
    if (tag.starts_with("<xi:include ")) read_file(file, attribute(tag, "href"), read, to);
    if (!tag.starts_with("<reg ") || to.size() >= kMaxRegisters) continue;
    Described made;
    made.name = attribute(tag, "name");
    if (!number_of(attribute(tag, "bitsize"), made.bits) || made.bits > kMaxBits) continue;
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
    if (!find(name))
      throw Error(std::string("gdbserver: does not tell of the register ") + name +
                  "; it may be too old: use prof trace without gdbserver");
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

namespace {

Error not_supported(const char* feature) {
  return Error(std::string("gdbserver: has no ") + feature + "; it may be too old: use prof trace without gdbserver");
}

constexpr size_t kPiece = 0x1000;               // bytes to a packet of a file or an object
constexpr size_t kMaxBytes = size_t(16) << 20;  // of one
constexpr int kNotified = SIGTRAP;              // si_code of a stop that the kernel makes before a handler begins
constexpr uint64_t kMmap = 9, kMprotect = 10, kMunmap = 11, kMremap = 25;
constexpr uint64_t kClone = 56, kExecve = 59, kExit = 60, kExitGroup = 231, kExecveat = 322, kClone3 = 435;

std::string signal_word(int signal) {
  return prof_text::hexadecimal_of(std::string(1, char(to_protocol_signal(signal))));
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

// The value of "NAME:VALUE;" in a packet that tells of a stop or an end.
std::optional<std::string_view> value_of(std::string_view packet, std::string_view name) {
  for (packet.remove_prefix(std::min<size_t>(packet.size(), 3)); !packet.empty();) {
    std::string_view pair = packet.substr(0, packet.find(';'));
    packet.remove_prefix(std::min(packet.size(), pair.size() + 1));
    if (take_word(pair, name) && take_word(pair, ":")) return pair;
  }
  return std::nullopt;
}

bool is_breakpoint(std::string_view code) {
  return code.starts_with("\xcc") || code.starts_with("\xcd\x03") || code.starts_with("\xf1");
}

}  // namespace

GdbserverClient::GdbserverClient(int descriptor, const std::vector<std::string>& command, bool follows_forks)
    : connection_(descriptor), follows_forks_(follows_forks) {
  try {
    std::string offered = "qSupported:vContSupported+;QThreadEvents+;exec-events+;xmlRegisters=i386";
    std::vector<const char*> wanted = {"QStartNoAckMode+", "qXfer:features:read+", "qXfer:siginfo:read+"};
    if (follows_forks_) {
      offered += ";multiprocess+;fork-events+;vfork-events+";
      wanted.insert(wanted.end(), {"multiprocess+", "fork-events+", "vfork-events+"});
    }
    const std::string features = ask(offered);
    for (const char* feature : wanted) {
      if (features.find(feature) == std::string::npos) throw not_supported(feature);
    }
    if (ask("QStartNoAckMode") != "OK") throw not_supported("QStartNoAckMode");
    connection_.stop_acknowledging();
    ask("!");
    stop_ = ask("?");
    if (!stop_.starts_with("T")) start(command);
    ask("Hg0");
    description_.emplace([this](const std::string& name) { return object("features", name); });
    Thread first;
    const auto thread = take_thread(stop_, first);
    if (!thread) throw not_supported("word on which process it runs");
    program_ = thread->process ? thread->process : thread->thread;
    const std::string words = file("/proc/" + std::to_string(program_) + "/cmdline");
    for (size_t at = 0; at < words.size(); at = std::min(words.find('\0', at), words.size()) + 1)
      command_.push_back(words.substr(at, words.find('\0', at) - at));
  } catch (const LinkBroken&) {
    throw Error("the connection to gdbserver broke before the program began; start both again");
  }
}

void GdbserverClient::start(const std::vector<std::string>& command) {
  if (command.empty()) throw Error("gdbserver: has no program; name one after the options");
  std::string packet = "vRun";
  for (const std::string& word : command) packet += ";" + prof_text::hexadecimal_of(word);
  stop_ = ask(packet);
  if (!stop_.starts_with("T"))
    throw Error("gdbserver: cannot start " + command[0] + "; give a path that can be run on its machine");
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
  while (all.size() < kMaxBytes) {
    const std::string piece = ask("qXfer:" + name + ":read:" + annex + ":" + prof_text::hexadecimal_digits(all.size()) +
                                  "," + prof_text::hexadecimal_digits(kPiece));
    if (!piece.starts_with("m") && !piece.starts_with("l")) break;
    all += piece.substr(1);
    if (piece[0] == 'l' || piece.size() == 1) break;
  }
  return all;
}

// A file of the machine that gdbserver is on; "" if it cannot be read.
std::string GdbserverClient::file(const std::string& path) {
  std::string all;
  const std::string opened = ask("vFile:open:" + prof_text::hexadecimal_of(path) + ",0,0");
  std::string_view rest = opened;
  if (!take_word(rest, "F") || rest.starts_with("-")) return all;
  const std::string number(rest);
  while (all.size() < kMaxBytes) {
    const std::string piece = ask("vFile:pread:" + number + "," + prof_text::hexadecimal_digits(kPiece) + "," +
                                  prof_text::hexadecimal_digits(all.size()));
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
    const auto bytes =
        from_hex(ask("m" + prof_text::hexadecimal_digits(at) + "," + prof_text::hexadecimal_digits(piece)));
    if (!bytes || bytes->empty() || bytes->size() > piece) break;  // E01, too
    all += *bytes;
    if (bytes->size() < piece) break;
  }
  return all;
}

// A thread as packets name it: pPROCESS.THREAD, or THREAD alone if only one process is stepped.
std::string GdbserverClient::thread_word(TracedThread thread) const {
  return (follows_forks_ ? "p" + prof_text::hexadecimal_digits(thread.process) + "." : "") +
         prof_text::hexadecimal_digits(thread.thread);
}

std::optional<TracedThread> GdbserverClient::take_thread_word(std::string_view& word) const {
  TracedThread thread = {program_, 0};
  if (take_word(word, "p")) {
    thread.process = uint32_t(take_number(word).value_or(0));
    if (thread.process == 0 || !take_word(word, ".")) return std::nullopt;
  }
  thread.thread = uint32_t(take_number(word).value_or(0));
  return thread.thread ? std::optional(thread) : std::nullopt;
}

// The thread that a stop packet is about, and its registers in there.
std::optional<TracedThread> GdbserverClient::take_thread(std::string_view packet, Thread& to) const {
  unsigned registers = 0;
  for (const auto& [name, number] : {std::pair("06", reg_rbp), std::pair("07", reg_rsp), std::pair("10", reg_rip)}) {
    const auto value = value_of(packet, name);
    const auto taken = value ? register_value(*value) : std::nullopt;
    if (!taken) continue;
    to.registers[number] = *taken;
    ++registers;
  }
  to.is_known = registers == 3;
  auto word = value_of(packet, "thread");
  return word ? take_thread_word(*word) : std::nullopt;
}

// What is asked for from now on is this thread's: its registers, its process's memory.
void GdbserverClient::select(TracedThread thread) {
  if (selected_ == thread || threads_.size() == 1) return;
  ask("Hg" + thread_word(thread));
  selected_ = thread;
}

// A signal that stopped a thread reaches it when it goes on. A trap is no signal but the end of a step.
void GdbserverClient::deliver(int signal, TracedThread thread) {
  delivered_.reset();
  if (signal != 0 && signal != SIGTRAP) delivered_ = {signal, thread};
}

bool GdbserverClient::is_about_to(const Thread& thread, std::initializer_list<uint64_t> calls) {
  return thread.call && std::find(calls.begin(), calls.end(), thread.call->number()) != calls.end();
}

// The packet that lets threads step: all but those in vfork, and one that makes a thread by itself, so that no other
// ends while gdbserver tells of threads. If the step ended before it told of the new one, that is the only one to go
// on.
std::string GdbserverClient::step_packet() {
  const auto makes_thread = [](const auto& thread) { return is_about_to(thread.second, {kClone, kClone3}); };
  if (made_ != TracedThread()) return "vCont;s:" + thread_word(std::exchange(made_, {}));
  const auto maker = std::find_if(threads_.begin(), threads_.end(), makes_thread);
  const bool is_alone = maker != threads_.end() && (!delivered_ || delivered_->thread == maker->first);
  if (std::exchange(is_told_of_threads_, is_alone) != is_alone) ask(is_alone ? "QThreadEvents:1" : "QThreadEvents:0");
  if (is_alone) return "vCont" + (delivered_ ? delivery("S") : ";s:" + thread_word(maker->first));
  return "vCont" + delivery("S") +
         actions("s", [&](const auto& thread) { return thread.second.vfork_child || makes_thread(thread); });
}

// The same, without steps, when nothing is recorded any more.
std::string GdbserverClient::continue_packet() {
  if (std::exchange(is_told_of_threads_, false)) ask("QThreadEvents:0");
  return "vCont" + delivery("C") + actions("c", [](const auto& thread) { return thread.second.vfork_child != 0; });
}

// The action for the thread that a signal is delivered to, if one is.
std::string GdbserverClient::delivery(const std::string& action) const {
  if (!delivered_) return "";
  return ";" + action + signal_word(delivered_->signal) + ":" + thread_word(delivered_->thread);
}

// The action for all threads but those that wait.
template <typename Waits>
std::string GdbserverClient::actions(const std::string& action, Waits waits) const {
  if (std::none_of(threads_.begin(), threads_.end(), waits)) return ";" + action;
  std::string text;
  for (const auto& thread : threads_) {
    if (!waits(thread)) text += ";" + action + ":" + thread_word(thread.first);
  }
  return text;
}

TracedEnd GdbserverClient::record(TraceWriter& trace, bool is_local) {
  StepRecorder recorder(trace, is_local);
  TracedEnd program_end;
  try {
    processes_[program_];
    read_maps(program_, recorder);
    on_stop(stop_, recorder);
    for (;;) {
      const bool steps = !trace.is_ended();
      stop_ = ask(steps ? step_packet() : continue_packet());
      selected_ = {};
      if (const auto end = end_of(stop_)) {
        auto named = value_of(stop_, "process");
        const uint32_t process = named ? uint32_t(take_number(*named).value_or(0)) : program_;
        on_process_end(process, recorder);
        if (process == program_) program_end = *end;
        if (processes_.empty()) return program_end;
      } else if (steps) {
        look_for_ended_threads(recorder);
        on_stop(stop_, recorder);
      } else {
        on_unrecorded_stop(stop_, recorder);
      }
    }
  } catch (const LinkBroken&) {
    return {};
  }
}

// The last that a process did was to leave.
void GdbserverClient::on_process_end(uint32_t process, StepRecorder& recorder) {
  deliver(0, {});
  for (auto& [traced, thread] : threads_) {
    if (thread.vfork_child == process) thread.vfork_child = 0;
    if (traced.process != process) continue;
    if (is_about_to(thread, {kExit, kExitGroup})) executed(traced, thread, recorder);
    recorder.event(traced, prof_format::kEventThreadEnd, {traced.thread});
  }
  std::erase_if(threads_, [&](const auto& thread) { return thread.first.process == process; });
  processes_.erase(process);
}

// gdbserver does not tell of them: it would (QThreadEvents), but that of GDB 13 crashes when it does.
void GdbserverClient::look_for_ended_threads(StepRecorder& recorder) {
  for (auto next = threads_.begin(); next != threads_.end();) {
    const auto at = next++;
    if (is_about_to(at->second, {kExit}) && ask("T" + thread_word(at->first)) != "OK") on_thread_end(at, recorder);
  }
}

// It has no registers any more, and so no result of its last system call.
void GdbserverClient::on_thread_end(std::map<TracedThread, Thread>::iterator ended, StepRecorder& recorder) {
  const auto& [traced, thread] = *ended;
  if (is_about_to(thread, {kExit, kExecve, kExecveat})) recorder.step(traced, thread.registers, &thread.vectors);
  recorder.event(traced, prof_format::kEventThreadEnd, {traced.thread});
  threads_.erase(ended);
}

// Whether the stop is within fork or vfork: the parent is still in the system call, and the child about to leave it.
bool GdbserverClient::on_fork(std::string_view packet, TracedThread parent, StepRecorder& recorder) {
  if (value_of(packet, "vforkdone")) return true;
  const auto forked = value_of(packet, "fork"), vforked = value_of(packet, "vfork");
  if (!forked && !vforked) return false;
  std::string_view word = forked ? *forked : *vforked;
  const auto traced = take_thread_word(word);
  if (!traced) throw Error("gdbserver: a fork without a child");
  recorder.event(parent, prof_format::kEventFork, {traced->thread});
  if (vforked) threads_[parent].vfork_child = traced->process;
  processes_[traced->process];
  Thread& child = threads_[*traced];
  recorder.event(*traced, prof_format::kEventThreadBegin, {traced->thread});
  read_maps(traced->process, recorder);
  get_registers(*traced, child);
  look(*traced, child, recorder);
  return true;
}

// The process executes another program, which has one thread and memory of its own. Who waits in vfork can go on.
void GdbserverClient::on_exec(TracedThread traced, StepRecorder& recorder) {
  for (auto next = threads_.begin(); next != threads_.end();) {
    const auto at = next++;
    if (at->second.vfork_child == traced.process) at->second.vfork_child = 0;
    if (at->first.process == traced.process && at->first != traced) on_thread_end(at, recorder);
  }
  processes_[traced.process].code.clear();
}

// The trace takes no more: a stop tells what is needed to let the program go on.
void GdbserverClient::on_unrecorded_stop(std::string_view packet, StepRecorder& recorder) {
  deliver(0, {});
  Thread unused;
  const auto traced = packet.starts_with("T") ? take_thread(packet, unused) : std::nullopt;
  if (!traced) return;
  threads_.try_emplace(*traced);
  if (on_fork(packet, *traced, recorder)) return;
  if (value_of(packet, "exec")) on_exec(*traced, recorder);
  deliver(signal_of_stop(packet), *traced);
}

void GdbserverClient::on_stop(std::string_view packet, StepRecorder& recorder) {
  deliver(0, {});
  if (packet.starts_with("N")) return;  // nothing is left that runs: the end follows
  if (!packet.starts_with("T"))
    throw Error("malformed reply from gdbserver: " + prof_text::printable(std::string(packet)));
  const int signal = signal_of_stop(packet);
  Thread now;
  const auto told = take_thread(packet, now);
  if (!told) throw Error("gdbserver: a stop of no thread");
  const TracedThread traced = *told;
  const auto [found, is_new] = threads_.try_emplace(traced);
  Thread& thread = found->second;
  if (is_new) recorder.event(traced, prof_format::kEventThreadBegin, {traced.thread});
  if (on_fork(packet, traced, recorder)) return;
  if (!now.is_known) get_registers(traced, now);
  if (value_of(packet, "exec")) {
    if (is_about_to(thread, {kExecve, kExecveat})) executed(traced, thread, recorder);
    on_exec(traced, recorder);
    recorder.event(traced, prof_format::kEventExec, {});
    read_maps(traced.process, recorder);
  } else if (signal == SIGTRAP && thread.is_known) {
    if (!on_trap(traced, thread, now.registers, recorder)) return;
  } else if (signal != 0 && signal != SIGTRAP) {
    if (thread.is_interrupted) {
      executed(traced, thread, recorder);
      get_registers(traced, now);
      now.restart = thread.registers;
      (*now.restart)[reg_rax] = restarted_call(now.registers[reg_rax], thread.registers[reg_rax]);
    }
    recorder.event(traced, prof_format::kEventSignal, {uint64_t(signal)});
    deliver(signal, traced);
  }
  thread = std::move(now);
  thread.was_signalled = delivered_.has_value();
  look(traced, thread, recorder);
}

// Whether the thread is done with what it was about to do. It is not if gdbserver, which stops all threads, interrupted
// a system call: that goes on.
bool GdbserverClient::on_trap(TracedThread traced, Thread& thread, const Registers& now, StepRecorder& recorder) {
  if (thread.was_signalled) {
    select(traced);
    const std::string info = object("siginfo", "");
    const bool has_code = info.size() >= 12;
    if (has_code && uint8_t(info[8]) == kNotified && info[9] == 0) return true;  // a handler begins
  }
  const bool has_moved = now[reg_rip] != thread.registers[reg_rip];
  if (thread.restart && !has_moved) {  // there was no handler: the system call began once more
    thread.registers = *std::exchange(thread.restart, std::nullopt);
    thread.call.emplace(thread.registers, [](uint64_t, size_t) { return std::string(); });
    thread.has_all = true;
  } else if (!has_moved && thread.code.size() > 1 && thread.call) {
    return true;  // the end of a system call that the thread had begun before it was known
  }
  if (thread.call && !is_about_to(thread, {kExit, kExitGroup})) {
    Thread after;
    get_registers(traced, after);
    thread.is_interrupted = is_interrupted(after.registers[reg_rax]);
    if (thread.is_interrupted) return false;
  }
  executed(traced, thread, recorder);
  if (is_breakpoint(thread.code)) {
    delivered_ = {SIGTRAP, traced};
  }
  return true;
}

// It did what it was about to do.
void GdbserverClient::executed(TracedThread traced, Thread& thread, StepRecorder& recorder) {
  recorder.step(traced, thread.registers, &thread.vectors);
  if (!thread.call) return;
  const uint64_t call = thread.call->number();
  if (call == kExit || call == kExitGroup) return;
  Thread after;
  get_registers(traced, after);
  recorder.event(traced, prof_format::kEventSystemCall, thread.call->event(after.registers[reg_rax]));
  if (call == kClone || call == kClone3) {
    const TracedThread made = {traced.process, uint32_t(after.registers[reg_rax])};
    if (!threads_.contains(made) && ask("T" + thread_word(made)) == "OK") made_ = made;
  }
  if (call == kMmap || call == kMprotect || call == kMunmap || call == kMremap) read_maps(traced.process, recorder);
}

// Finds out what the thread is about to do.
void GdbserverClient::look(TracedThread traced, Thread& thread, StepRecorder& recorder) {
  const uint64_t address = thread.registers[reg_rip];
  std::map<uint64_t, std::string>& known = processes_[traced.process].code;
  const bool stays = is_constant(traced.process, address);
  const auto found = stays ? known.find(address) : known.end();
  if (found != known.end()) {
    thread.code = found->second;
  } else {
    select(traced);
    thread.code = memory(address, kLongestInstruction);
    recorder.definition(traced.process, address, thread.code);
    if (stays) known[address] = thread.code;
  }
  const DecodedInstruction* const instruction = recorder.instruction(traced.process, address);
  if (instruction && instruction->needs_registers && !thread.has_all) get_registers(traced, thread);
  if (is_system_call(thread.code)) {
    select(traced);
    thread.call.emplace(thread.registers, [this](uint64_t at, size_t size) { return memory(at, size); });
  }
}

void GdbserverClient::get_registers(TracedThread traced, Thread& thread) {
  select(traced);
  std::string digits = ask("g");
  std::replace(digits.begin(), digits.end(), 'x', '0');  // xx: a register that is not there
  const auto bytes = from_hex(digits);
  if (!bytes || !description_->read(*bytes, thread.registers)) throw Error("gdbserver: the registers cannot be read");
  thread.vectors = description_->vectors(*bytes);
  thread.has_all = thread.is_known = true;
}

void GdbserverClient::read_maps(uint32_t process, StepRecorder& recorder) {
  const std::string text = file("/proc/" + std::to_string(process) + "/maps");
  recorder.maps(process, text);
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
  Process& known = processes_[process];
  if (ranges == known.constant_code) return;
  known.constant_code = std::move(ranges);
  known.code.clear();
}

bool GdbserverClient::is_constant(uint32_t process, uint64_t address) const {
  const auto& ranges = processes_.at(process).constant_code;
  return std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
    return range.first <= address && address + kLongestInstruction <= range.second;
  });
}

}  // namespace prof::remote
