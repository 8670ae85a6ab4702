#include "trace.h"

#include <signal.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "linker-rewrite/options/values.h"
#include "linker-rewrite/text/count.h"
#include "prof/commands/launching/launch.h"
#include "prof/commands/options/message.h"
#include "prof/instructions/remote/connect.h"
#include "prof/instructions/remote/gdbserver_client.h"
#include "prof/instructions/remote/target_client.h"
#include "prof/instructions/trace/trace_writer.h"
#include "prof/views/text/output.h"
#include "started_stub.h"

namespace prof {

namespace {

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

constexpr uint64_t kLeastBuffer = 1024, kMostBuffer = 1 << 20;

uint64_t buffer_of(const Given& given) {
  const uint64_t size = prof_options::size_of(given);
  if (size != 0 && (size < kLeastBuffer || size > kMostBuffer))
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
      "stop the program behind each instruction; without it proftarget runs most of them in its stead, many times "
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

// While the program runs here: keys of the terminal reach it by themselves, and other signals are handed on to it. So it ends,
// and the trace with it.
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
  if (was_ended) say(options.output + ": takes no more; the program went on without being traced");
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
    client.emplace(started ? started->descriptor() : remote::connect_to(options.address));
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
    client.emplace(started ? started->descriptor() : remote::connect_to(options.address), options.program,
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
