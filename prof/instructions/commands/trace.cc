#include "trace.h"

#include <signal.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "prof/commands/launching/launch.h"
#include "prof/commands/options/message.h"
#include "prof/instructions/remote/connect.h"
#include "prof/instructions/remote/gdbserver_client.h"
#include "prof/instructions/remote/target_client.h"
#include "prof/instructions/trace/trace_writer.h"
#include "prof/views/text/output.h"
#include "started_stub.h"
#include "trace_options.h"

namespace prof {

namespace {

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

std::string count_text(uint64_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
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
      count_text(trace.instructions(), "instruction"));
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
