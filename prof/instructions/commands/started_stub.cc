#include "started_stub.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "prof/commands/copies/cache.h"
#include "prof/commands/options/message.h"

namespace prof {

namespace {

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

}  // namespace

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

}  // namespace prof
