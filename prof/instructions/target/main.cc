// proftarget(1): has the program that prof trace, or gdb, controls from somewhere else.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "libprof/printable.h"
#include "prof/instructions/remote/packet.h"
#include "prof/read/error.h"
#include "server.h"
#include "tracee.h"

namespace {

constexpr char kHelp[] =
    "usage: proftarget [--no-pin] ADDRESS:PORT PROGRAM [ARGUMENT ...]\n"
    "\n"
    "Starts PROGRAM, stops it before its first instruction, and waits for prof trace\n"
    "--target or for gdb to connect: at PORT of an ADDRESS of this machine, as\n"
    "127.0.0.1:2345 or [::1]:2345; at all of them, as :2345. With port 0 the system\n"
    "chooses one. The port is said on standard error. Whoever connects can do\n"
    "anything that the user can who started it.\n"
    "\n"
    "  --no-pin       do not keep it and the program on one processor; slower\n"
    "  --socket N     the connection is file descriptor N: prof trace starts it so\n"
    "  -h, --help     print this\n"
    "  -V, --version  print the version\n"
    "\n"
    "See proftarget(1).\n";

using prof::Error;

void say(const std::string& text) {
  const std::string line = "proftarget: " + prof_text::printable(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

struct UsageError : Error {
  using Error::Error;
};

struct Options {
  bool pins = true;
  int socket = -1;  // -1: waits for a connection at `address`
  std::string address;
  std::vector<std::string> program;
};

Options parse(const std::vector<std::string>& words) {
  Options options;
  size_t i = 0;
  for (; i < words.size() && words[i].starts_with("-"); ++i) {
    if (words[i] == "--no-pin") {
      options.pins = false;
    } else if (words[i] == "--socket" && i + 1 < words.size()) {
      options.socket = int(std::strtol(words[++i].c_str(), nullptr, 10));
    } else if (words[i] == "--") {
      ++i;
      break;
    } else {
      throw UsageError(words[i] + ": no such option; see proftarget --help");
    }
  }
  if (options.socket < 0 && i < words.size()) options.address = words[i++];
  options.program.assign(words.begin() + std::ptrdiff_t(i), words.end());
  if (options.program.empty()) throw UsageError("no program; see proftarget --help");
  return options;
}

// One connection to a port of this machine. Names are not looked up: that needs libraries.
int wait_for_connection(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) throw UsageError("invalid address '" + address + "'; write ADDRESS:PORT");
  std::string host = address.substr(0, colon);
  char* end = nullptr;
  const unsigned long port = std::strtoul(address.c_str() + colon + 1, &end, 10);
  if (*end != '\0' || port > 65535 || end == address.c_str() + colon + 1)
    throw UsageError("invalid address '" + address + "'; write ADDRESS:PORT");
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  sockaddr_in6 v6 = {};
  sockaddr_in v4 = {};
  v6.sin6_family = AF_INET6;
  v4.sin_family = AF_INET;
  v6.sin6_port = v4.sin_port = htons(uint16_t(port));
  const bool is_v6 = inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1;
  if (!is_v6 && !host.empty() && inet_pton(AF_INET, host.c_str(), &v4.sin_addr) != 1)
    throw UsageError("invalid address '" + address + "'; write ADDRESS:PORT, with a number for the address");
  const int listener = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  auto* const place = is_v6 ? reinterpret_cast<sockaddr*>(&v6) : reinterpret_cast<sockaddr*>(&v4);
  socklen_t size = is_v6 ? sizeof v6 : sizeof v4;
  if (listener < 0 || bind(listener, place, size) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, place, &size) != 0)
    throw Error(address + ": " + std::strerror(errno));
  say("waits at port " + std::to_string(ntohs(is_v6 ? v6.sin6_port : v4.sin_port)));
  int connected = -1;
  do {
    connected = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  } while (connected < 0 && errno == EINTR);
  if (connected < 0) throw Error(address + ": " + std::strerror(errno));
  close(listener);
  return connected;
}

int run(const std::vector<std::string>& words) {
  if (!words.empty() && (words[0] == "-h" || words[0] == "--help")) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (!words.empty() && (words[0] == "-V" || words[0] == "--version")) {
    std::puts("proftarget " PROFLD_VERSION);
    return 0;
  }
  const Options options = parse(words);
  if (options.socket >= 0) fcntl(options.socket, F_SETFD, FD_CLOEXEC);
  if (options.pins) prof::target::stay_on_one_processor();
  const pid_t program = prof::target::start_program(options.program);
  const int socket = options.socket >= 0 ? options.socket : wait_for_connection(options.address);
  // Keys of the terminal are for the program, now that it is to run.
  for (const int signal : {SIGINT, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  if (options.socket >= 0) {  // prof trace hands these on to the program
    for (const int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_IGN);
  }
  prof::remote::Connection connection(socket);
  prof::target::watch_link(socket, program);
  prof::target::Server(connection, program).serve();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const UsageError& e) {
    say(e.what());
    return 2;
  } catch (const std::exception& e) {
    say(e.what());
  }
  return 1;
}
