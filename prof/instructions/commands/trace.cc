#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "linker-rewrite/options/command_line.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/commands/copies/cache.h"
#include "prof/commands/launching/launch.h"
#include "prof/commands/options/message.h"
#include "prof/instructions/remote/gdbserver_client.h"
#include "prof/instructions/remote/target_client.h"
#include "prof/instructions/trace/trace_writer.h"
#include "prof/read/error.h"
#include "prof/views/text/output.h"

namespace prof {

namespace {

// Starts what steps a program, proftarget or gdbserver, with a link to it.
class StartedStub {
 public:
  // proftarget, from beside prof or from PATH. `options`: for it. Its program has this process's standard input and
  // outputs.
  static StartedStub proftarget(const std::vector<std::string>& options, const std::vector<std::string>& program);
  // gdbserver, from PATH. What it says itself is kept.
  static StartedStub gdbserver(const std::vector<std::string>& program);

  StartedStub(StartedStub&& other) noexcept;
  StartedStub(const StartedStub&) = delete;
  ~StartedStub() { wait(); }

  // This end of the link, which the caller closes.
  int descriptor() const { return descriptor_; }

  // Waits for its end, and returns its status of waitpid. The link must be closed, or it must be about to end.
  int wait();

  // What it said, if that is kept: the last line.
  std::string last_words() const;

 private:
  StartedStub() = default;

  pid_t process_ = 0;
  int descriptor_ = -1, messages_ = -1, status_ = 0;
};

// Descriptors of a process that is to be started; each is a copy of one of this process's.
using Descriptors = std::vector<std::pair<int, int>>;  // its own, this process's

constexpr int kLink = 3;                            // of proftarget
constexpr int kInput = 7, kOutput = 8, kError = 9;  // of the program, until gdbserver starts it
constexpr int kAboveAll = 16;                       // of all these

[[noreturn]] void become(const std::vector<std::string>& words, const Descriptors& descriptors) {
  Descriptors above = descriptors;
  for (auto& [own, from] : above) from = fcntl(from, F_DUPFD_CLOEXEC, kAboveAll);  // out of the way of the others
  for (const auto& [own, from] : above) dup2(from, own);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  say(words[0] + ": " + system_error(errno));
  _exit(1);
}

pid_t start(const std::vector<std::string>& words, const Descriptors& descriptors) {
  const pid_t process = fork();
  if (process < 0) throw Error("fork: " + system_error(errno));
  if (process == 0) become(words, descriptors);
  return process;
}

std::pair<int, int> linked() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, static_cast<int*>(ends)) != 0)
    throw Error("socketpair: " + system_error(errno));
  return {ends[0], ends[1]};
}

StartedStub::StartedStub(StartedStub&& other) noexcept
    : process_(std::exchange(other.process_, 0)),
      descriptor_(other.descriptor_),
      messages_(std::exchange(other.messages_, -1)),
      status_(other.status_) {}

StartedStub StartedStub::proftarget(const std::vector<std::string>& options, const std::vector<std::string>& program) {
  StartedStub stub;
  std::vector<std::string> words = {find_beside_prof("proftarget")};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--socket", std::to_string(kLink), "--"});
  words.insert(words.end(), program.begin(), program.end());
  const auto [here, there] = linked();
  stub.descriptor_ = here;
  stub.process_ = start(words, {{kLink, there}});
  close(there);
  return stub;
}

StartedStub StartedStub::gdbserver(const std::vector<std::string>& program) {
  StartedStub stub;
  // gdbserver would not say that there is no such program, but the shell would, and gdbserver something else.
  if (program[0].find('/') != std::string::npos && access(program[0].c_str(), X_OK) != 0)
    throw Error(program[0] + ": " + system_error(errno));
  // With a link as its standard input and output gdbserver gives the program others. The shell, which gdbserver starts
  // programs through, gives it back those of this process. It takes the words of the wrapper apart once more.
  std::vector<std::string> words = {"gdbserver",
                                    "--once",
                                    "--no-disable-randomization",
                                    "--wrapper",
                                    "sh",
                                    "-c",
                                    "'exec \"$0\" \"$@\" <&7 >&8 2>&9 7<&- 8>&- 9>&-'",
                                    "--",
                                    "-"};
  words.insert(words.end(), program.begin(), program.end());
  const auto [here, there] = linked();
  stub.descriptor_ = here;
  stub.messages_ = memfd_create("gdbserver", MFD_CLOEXEC);
  if (stub.messages_ < 0) throw Error("memfd_create: " + system_error(errno));
  stub.process_ = start(words, {{0, there},
                                {1, there},
                                {2, stub.messages_},
                                {kInput, STDIN_FILENO},
                                {kOutput, STDOUT_FILENO},
                                {kError, STDERR_FILENO}});
  close(there);
  return stub;
}

int StartedStub::wait() {
  while (process_ > 0 && waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
  return status_;
}

std::string StartedStub::last_words() const {
  std::string text(4096, '\0');
  const ssize_t n = messages_ < 0 ? 0 : pread(messages_, text.data(), text.size(), 0);
  text.resize(size_t(std::max<ssize_t>(n, 0)));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// Reaches a stub over the network. "HOST:PORT"; ":PORT" is this host's, "[ADDRESS]:PORT" an address of IPv6. A
// descriptor that is connected, which the caller closes. Throws Error.
int connect_to(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size())
    throw Error("invalid address '" + address + "'; write HOST:PORT");
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host.empty()) host = "localhost";
  addrinfo hints = {}, *first = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &first))
    throw Error(address + ": " + gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(first, freeaddrinfo);
  int error = 0;
  for (const addrinfo* a = first; a; a = a->ai_next) {
    const int descriptor = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (descriptor >= 0 && connect(descriptor, a->ai_addr, a->ai_addrlen) == 0) return descriptor;
    error = errno;
    if (descriptor >= 0) close(descriptor);
  }
  throw Error(address + ": " + system_error(error));
}

// The command line of prof trace.

using prof_options::Given;
using prof_options::set;

struct StepOptions {
  // Who steps the program: proftarget, or gdbserver.
  bool by_gdbserver = false;
  std::string address;          // where that waits, HOST:PORT; empty: it is started
  std::string output;           // the trace
  uint64_t buffer = 65536;      // bytes of records that proftarget gathers; 0: each step is sent
  uint64_t limit = UINT64_MAX;  // bytes of the trace
  bool follows_forks = false;
  bool by_blocks = false;   // without the memory that instructions touch
  bool steps_each = false;  // proftarget runs no instruction by itself
  bool pins = true;
  bool help = false;
  std::vector<std::string> program;  // and its arguments
};

constexpr uint64_t kMinBuffer = 1024, kMaxBuffer = 1 << 20;

uint64_t buffer_of(const Given& given) {
  const uint64_t size = prof_options::size_of(given);
  if (size != 0 && (size < kMinBuffer || size > kMaxBuffer))
    prof_options::refuse(given, "size", "0, or a size from 1K to 1M");
  return size;
}

const prof_options::Table<StepOptions> kOptions = {
    {{'o', "output", "FILE", "write the trace to FILE"},
     [](StepOptions& o, const Given& given) { o.output = prof_options::name_of(given, "FILE"); }},
    {{0, "target", "HOST:PORT", "the program is that of a proftarget that waits there"},
     [](StepOptions& o, const Given& given) {
       o.by_gdbserver = false;
       o.address = given.argument;
     }},
    {{0, "gdbserver", "[HOST:PORT]", "step by gdbserver: one started here, or waiting there"},
     [](StepOptions& o, const Given& given) {
       o.by_gdbserver = true;
       o.address = given.argument;
     }},
    {{0, "buffer", "SIZE",
      "proftarget sends SIZE bytes of steps at a time, from 1K to 1M (default: 64K); 0: each step by itself"},
     [](StepOptions& o, const Given& given) { o.buffer = buffer_of(given); }},
    {{0, "blocks", "",
      "run what always runs as a whole at once; several times faster, but without the memory that is read and written"},
     set<&StepOptions::by_blocks>},
    {{0, "step-each", "",
      "stop the program after each instruction; without it proftarget runs most of them in its stead, many times "
      "faster"},
     set<&StepOptions::steps_each>},
    {{0, "follow-forks", "", "step processes that the program makes, too"}, set<&StepOptions::follows_forks>},
    {{0, "no-pin", "", "do not keep program and proftarget on one processor"},
     [](StepOptions& o, const Given&) { o.pins = false; }},
    {{0, "limit", "SIZE", "end the trace, not the program, before FILE has more bytes, as 500M or 4G"},
     [](StepOptions& o, const Given& given) { o.limit = prof_options::size_of(given); }},
    prof_options::help_option<StepOptions>(),
};

void check(const StepOptions& o) {
  if (o.by_gdbserver && o.by_blocks) throw UsageError("--blocks is not supported with gdbserver");
  if (o.output.empty()) throw UsageError("no file for the trace; write -o FILE, see prof trace --help");
  if (o.program.empty() && o.address.empty()) throw UsageError("no program named; see prof trace --help");
  if (!o.program.empty() && !o.address.empty() && !o.by_gdbserver)
    throw UsageError("--target: proftarget has been told its program; see proftarget(1)");
}

// prof trace --help
std::string trace_help_text() {
  return "usage: prof trace [options] -o FILE [--] program [argument ...]\n"
         "       prof trace [options] -o FILE --target HOST:PORT\n"
         "\n"
         "Runs a program instruction by instruction, and writes to FILE which ones ran,\n"
         "and which memory they read and wrote. prof itrace and prof istat read FILE. The\n"
         "program is stepped by proftarget, which prof trace starts, or which waits on\n"
         "another machine; or by gdbserver. It runs hundreds of times slower than it does\n"
         "by itself.\n"
         "\n" +
         prof_options::help_of(kOptions, {25}) +
         "\n"
         "See prof-trace(1).\n";
}

// Throws UsageError. `argv[0]` is skipped.
StepOptions parse_trace_options(int argc, char** argv) {
  StepOptions o;
  o.program = prof_options::parse(kOptions, {"prof trace", true}, argc, argv, o).rest;
  if (!o.help) check(o);
  return o;
}

volatile sig_atomic_t traced_process = 0;

void forward(int signal) {
  const int saved = errno;
  if (traced_process) kill(pid_t(traced_process), signal);
  errno = saved;
}

// While the program runs here: keys of the terminal reach it by themselves, and other signals are handed on to it. So
// it ends, and the trace with it.
void hand_signals_to(uint32_t process) {
  traced_process = sig_atomic_t(process);
  for (const int s : {SIGINT, SIGQUIT}) signal(s, SIG_IGN);
  for (const int s : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    struct sigaction action = {};
    action.sa_handler = forward;
    action.sa_flags = SA_RESTART;
    sigaction(s, &action, nullptr);
  }
}

TraceWriter::Settings settings_of(const StepOptions& options, uint32_t process) {
  TraceWriter::Settings settings;
  settings.origin = options.by_gdbserver ? prof_format::kTraceGdbserver : prof_format::kTraceTarget;
  settings.has_memory = !options.by_blocks;
  settings.pid = process;
  settings.limit = options.limit;
  return settings;
}

// Writes the end, and tells what is not whole. Returns the exit status.
int finish(TraceWriter& trace, const StepOptions& options, remote::TracedEnd end) {
  const bool was_ended = trace.is_ended();
  if (was_ended)
    say(options.output + (trace.is_disk_full() ? ": the disk is full" : ": has reached the size set by --limit") +
        "; what the program did after that is not in it");
  switch (end.kind) {
    case remote::TracedEnd::Kind::exit:
      trace.end(prof_format::kEndExit, uint32_t(end.status));
      return end_like(end.status << 8);
    case remote::TracedEnd::Kind::signal:
      trace.end(prof_format::kEndSignal, uint32_t(end.status));
      return end_like(end.status);
    case remote::TracedEnd::Kind::link:
      break;
  }
  trace.end(prof_format::kEndLink, 0);
  say("the link to the program broke: " + options.output + " has a part of it, " +
      prof_text::count_of(trace.instructions(), "instruction"));
  return 1;
}

int trace_by_target(const StepOptions& options) {
  std::optional<StartedStub> started;
  const std::vector<std::string> pins =
      options.pins ? std::vector<std::string>() : std::vector<std::string>{"--no-pin"};
  if (options.address.empty()) started.emplace(StartedStub::proftarget(pins, options.program));
  std::optional<remote::TargetClient> client;
  try {
    client.emplace(started ? started->descriptor() : connect_to(options.address));
  } catch (const Error&) {
    if (started && started->wait() != 0) return 1;  // it has said why
    throw;
  }
  if (started) hand_signals_to(client->process());
  TraceWriter trace(options.output, settings_of(options, client->process()));
  if (!client->command().empty()) trace.command(client->command()[0], client->command());
  const remote::TracedEnd end = client->record(
      trace, {options.buffer, options.follows_forks, options.by_blocks, options.steps_each, started.has_value()});
  client.reset();  // closes the link, on which proftarget waits
  return finish(trace, options, end);
}

int trace_by_gdbserver(const StepOptions& options) {
  std::optional<StartedStub> started;
  if (options.address.empty()) started.emplace(StartedStub::gdbserver(options.program));
  std::optional<remote::GdbserverClient> client;
  try {
    client.emplace(started ? started->descriptor() : connect_to(options.address), options.program,
                   options.follows_forks);
  } catch (const Error&) {
    if (!started || started->wait() == 0) throw;
    const std::string words = started->last_words();
    if (words.empty()) throw;
    throw Error("gdbserver: " + words);
  }
  if (started) hand_signals_to(client->process());
  TraceWriter trace(options.output, settings_of(options, client->process()));
  if (!client->command().empty()) trace.command(client->command()[0], client->command());
  const remote::TracedEnd end = client->record(trace, started.has_value());
  client.reset();
  return finish(trace, options, end);
}

}  // namespace

int run_trace(int argc, char** argv) {
  const StepOptions options = parse_trace_options(argc, argv);
  if (options.help) {
    Output out(stdout, "standard output");
    out.text(trace_help_text());
    out.finish();
    return 0;
  }
  return options.by_gdbserver ? trace_by_gdbserver(options) : trace_by_target(options);
}

}  // namespace prof
