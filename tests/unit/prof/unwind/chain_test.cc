#include "prof/unwind/chain.h"

#include <doctest/doctest.h>
#include <ucontext.h>
#include <unwind.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using prof::ChainEnd;
using prof::FoundCode;
using prof::FramePlace;
using prof::ThreadState;

namespace {

// The code that this process has mapped.
class OwnCode {
 public:
  OwnCode() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      std::istringstream in(line);
      Mapping m = {};
      char dash;
      std::string rights, device, inode, path;
      in >> std::hex >> m.start >> dash >> m.end >> rights >> m.offset >> device >> inode >> path;
      if (rights.find('x') == std::string::npos) continue;
      if (path.starts_with('/') || path == "[vdso]") m.table = std::make_shared<prof::UnwindTable>(path);
      mappings_.push_back(m);
    }
  }

  std::optional<FoundCode> find(uint64_t pc) const {
    for (uint32_t i = 0; i < mappings_.size(); ++i)
      if (const Mapping& m = mappings_[i]; pc >= m.start && pc < m.end)
        return FoundCode{{i, pc - m.start + m.offset}, m.table.get()};
    return {};
  }
  uint64_t address(const FramePlace& place) const {
    return place.offset - mappings_[place.module].offset + mappings_[place.module].start;
  }

 private:
  struct Mapping {
    uint64_t start, end, offset;
    std::shared_ptr<prof::UnwindTable> table;
  };
  std::vector<Mapping> mappings_;
};

struct Seen {
  std::vector<uint64_t> callers;   // after the calls, as the chain has them
  std::vector<uint64_t> expected;  // as the C library's unwinder has them
  ChainEnd end = ChainEnd::whole;
};
Seen seen;
size_t copied = 32 << 10;  // bytes of the stack

// Looks at its own callers.
__attribute__((noinline)) void look() {
  ucontext_t context;
  getcontext(&context);
  const greg_t* r = context.uc_mcontext.gregs;
  auto at = [&](int number) { return uint64_t(r[number]); };
  ThreadState state;
  state.registers = {at(REG_RAX), at(REG_RDX), at(REG_RCX), at(REG_RBX), at(REG_RSI), at(REG_RDI),
                     at(REG_RBP), at(REG_RSP), at(REG_R8),  at(REG_R9),  at(REG_R10), at(REG_R11),
                     at(REG_R12), at(REG_R13), at(REG_R14), at(REG_R15)};
  state.pc = at(REG_RIP);
  state.stack = {at(REG_RSP), {reinterpret_cast<const char*>(at(REG_RSP)), copied}};
  const OwnCode code;
  std::vector<FramePlace> frames;
  seen = {};
  seen.end = prof::chain_of(
      state, [&](uint64_t pc) { return code.find(pc); }, frames);
  for (size_t i = 1; i < frames.size(); ++i) seen.callers.push_back(code.address(frames[i]) + 1);
  // backtrace() has a frame more with -fsanitize=address.
  const auto add = [](_Unwind_Context* frame, void*) {
    if (_Unwind_GetIP(frame) != 0) seen.expected.push_back(_Unwind_GetIP(frame));
    return _URC_NO_REASON;
  };
  _Unwind_Backtrace(add, nullptr);
  seen.expected.erase(seen.expected.begin());
}

int compare(const void* a, const void* b) {
  look();
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

// Frames whose size is found out while they run, and that are aligned more than their callers'.
__attribute__((noinline)) int with_frames(int depth) {
  alignas(128) volatile char aligned[128];
  auto* grown = static_cast<volatile char*>(__builtin_alloca(size_t(depth) * 100 + 1));
  aligned[0] = char(depth);
  grown[0] = char(depth);
  if (depth == 0) {
    int numbers[] = {2, 1};
    qsort(numbers, 2, sizeof(int), compare);
    return numbers[0];
  }
  return with_frames(depth - 1) + aligned[0] + grown[0];
}

// A stack of words in code of no file, from 0x1000 on; code is from 0x50000000 on.
struct Generated {
  explicit Generated(std::vector<uint64_t> words) : words_(std::move(words)) {
    bytes_.assign(reinterpret_cast<const char*>(words_.data()), words_.size() * 8);
    state.stack = {0x1000, bytes_};
    state.registers[prof::kRsp] = 0x1000;
    state.pc = 0x50000000;
  }
  ChainEnd follow() {
    return prof::chain_of(
        state,
        [](uint64_t pc) -> std::optional<FoundCode> {
          if (pc < 0x50000000 || pc >= 0x60000000) return {};
          return FoundCode{{7, pc - 0x50000000}};
        },
        frames);
  }

  ThreadState state;
  std::vector<FramePlace> frames;

 private:
  std::vector<uint64_t> words_;
  std::string bytes_;
};

}  // namespace

TEST_CASE("chains: the callers are those that the C library's unwinder finds") {
  const int sum = with_frames(9);
  CHECK(sum == 91);
  CHECK(seen.end == ChainEnd::whole);
  CHECK(seen.callers.size() > 12);
  CHECK(seen.callers == seen.expected);
}

TEST_CASE("chains: what is deeper than the copy of the stack is not guessed") {
  copied = 4000;
  const int sum = with_frames(9);
  copied = 32 << 10;
  CHECK(sum == 91);
  CHECK(seen.end == ChainEnd::cut_off);
  CHECK(!seen.callers.empty());
  REQUIRE(seen.callers.size() < seen.expected.size());
  CHECK(std::equal(seen.callers.begin(), seen.callers.end(), seen.expected.begin()));
}

TEST_CASE("chains: code of no file is followed by its frame pointers, as far as they can be right") {
  Generated two({0, 0x1020, 0x50000105, 0, 0, 0x50000205});
  two.state.registers[prof::kRbp] = 0x1008;
  CHECK(two.follow() == ChainEnd::generated);  // the frame pointer saved last is none
  REQUIRE(two.frames.size() == 3);
  CHECK(two.frames[1] == FramePlace{7, 0x104});
  CHECK(two.frames[2] == FramePlace{7, 0x204});

  Generated other({0, 0x1020, 0x12345, 0, 0, 0});
  other.state.registers[prof::kRbp] = 0x1008;
  CHECK(other.follow() == ChainEnd::generated);  // what is there is no address of code
  CHECK(other.frames.size() == 1);

  Generated none({0, 0, 0});
  none.state.registers[prof::kRbp] = 0x77;
  CHECK(none.follow() == ChainEnd::generated);
}

TEST_CASE("chains: an address without code has no place") {
  Generated elsewhere({0});
  elsewhere.state.pc = 0x10;
  CHECK(elsewhere.follow() == ChainEnd::no_code);
  CHECK(elsewhere.frames.empty());
}

TEST_CASE("chains: a file without tables has no rules") {
  CHECK(!prof::UnwindTable("/nowhere").rule(0x1000));
  CHECK(!prof::UnwindTable("/etc/passwd").rule(0));
}
