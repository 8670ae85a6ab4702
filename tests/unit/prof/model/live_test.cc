// A profile that is read while a program writes it.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "prof/model/analysis/analysis.h"
#include "tests/unit/prof_fixture.h"

using namespace prof_test;

namespace {

constexpr Block kBlocks = 40'000, kStep = 500;

// Does to the file what libprof does: makes something, and then links it. As the format allows, later nodes lie
// anywhere: of each step that the file grows by, the last block is taken first. Every node is called once.
class Writer {
 public:
  Writer(const std::string& path, Block thread, Block root, uint64_t pc)
      : fd_(open(path.c_str(), O_RDWR | O_CLOEXEC)), pc_(pc), thread_(thread), root_(root) {
    file_ = static_cast<char*>(
        mmap(nullptr, uint64_t(kBlocks) * PROF_BLOCK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
  }
  ~Writer() {
    munmap(file_, uint64_t(kBlocks) * PROF_BLOCK_SIZE);
    close(fd_);
  }

  // Until there is no more room; then `has_ended` is set.
  void run(std::atomic<bool>& has_ended) {
    auto& header = *at<prof_format::Header>(0);
    for (Block used = header.blocks_used; used + kStep < kBlocks; used += kStep) {
      if (ftruncate(fd_, int64_t(used + kStep) * PROF_BLOCK_SIZE) != 0) break;
      release(header.blocks_used, used + kStep);
      const Block first = used % 7 == 0 ? begin_thread(used) : used;
      Block parent = root_;
      for (Block b = used + kStep - 1; b >= first; --b) {
        auto& node = *at<prof_format::Node>(b);
        node.pc = pc_;
        node.parent = parent;
        node.sibling = at<prof_format::Node>(parent)->child;
        release(at<prof_format::Node>(parent)->child, b);
        node.count = 1;
        parent = b % 50 == 0 ? root_ : b;  // chains, and a wide root
        for (int i = 0; i < 20; ++i) __builtin_ia32_pause();
      }
    }
    has_ended = true;
  }

 private:
  Block begin_thread(Block b) {
    auto& thread = *at<prof_format::Thread>(b);
    thread.tid = b;
    thread.root = b + 2;
    thread.tsc_start = thread.last_tsc = kStart;
    thread.next = thread_;
    thread_ = b;
    root_ = b + 2;
    release(at<prof_format::Header>(0)->first_thread, b);
    return b + 3;
  }
  template <class T>
  T* at(Block b) {
    return reinterpret_cast<T*>(file_ + uint64_t(b) * PROF_BLOCK_SIZE);
  }
  static void release(Block& to, Block value) { __atomic_store_n(&to, value, __ATOMIC_RELEASE); }

  int fd_;
  char* file_;
  uint64_t pc_;
  Block thread_, root_;
};

}  // namespace

TEST_CASE("a running program's profile is whole at whatever moment it is read, and only grows") {
  uint64_t reads = 0;
  // Reading must have met the writer often, on a machine with other things to do as well.
  for (int round = 0; round < 200 && reads < 300; ++round) {
    LetteredRun run;
    const std::string path = run.dir / "prof.1";
    be_this_process(run.writer.header());
    run.writer.header().type = prof_format::kCount;
    run.writer.header().flags = 0;
    run.writer.header().tsc_start = 0;
    run.writer.write(path);
    Writer writer(path, run.thread, run.writer.root(run.thread), run.pc('a'));
    std::atomic<bool> has_ended = false;
    std::thread program([&] { writer.run(has_ended); });
    std::string said;
    uint64_t calls = 0;
    size_t threads = 0;
    bool is_shrinking = false;
    for (; !has_ended; ++reads) {
      const prof::Profile profile = prof::Profile::read(path);
      prof::FunctionTable functions(prof::Object("program", prof::Object::Kind::program), true);
      prof::Resolver resolver(functions, profile);
      prof::TreeBuilder builder;
      said += builder.add(profile, resolver, {1}).damage();
      for (const std::string& damage : profile.damage()) said += damage;
      const prof::Tree tree = builder.finish(false);
      uint64_t now = 0;
      for (const prof::CallNode& node : tree.nodes) now += node.calls;
      is_shrinking = is_shrinking || now < calls || profile.threads().size() < threads;
      calls = now;
      threads = profile.threads().size();
    }
    program.join();
    REQUIRE(said == "");
    REQUIRE_FALSE(is_shrinking);
  }
}
