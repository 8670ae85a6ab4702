// hooks [-burn CPU] [ROUNDS]: what a pair of hooks costs, in cycles of the time-stamp counter, next to two bare rdtsc.
//
//     g++ -std=c++20 -O2 -o build/hooks tests/bench/hooks.cc -Wl,--no-as-needed -Lbuild/lib -l:libprof.so &&
//     LD_LIBRARY_PATH=build/lib build/hooks
//
// The program runs itself once per round and PROFTYPE, so that what is compared is interleaved; printed are medians.
// Each figure is the time of a loop of calls with hooks minus that of the same loop without, per call. Rows: a leaf
// called in a loop; 2, 16 and 200 different leaves called in turn; recursion 10 and 300 deep.
//
// Two hyperthreads share a core, and on a virtual machine the other one, the sibling, may be somebody else's. While it
// is busy, hooks take up to twice as long, but rdtsc does not. Nothing tells whether it is, except the core itself:
// nops take twice as long too. So a loop of nops runs before and after each short batch of calls, and is compared with
// the fastest such loop of the whole run. Where both took hardly longer the sibling was idle, where both took much
// longer it was busy; a batch of which they say neither, or not the same, does not count. Each case has a table of its
// own, with the ratios to two rdtsc in the same case. What the sibling does in the middle of a batch (some 30
// microseconds) is not seen.
//
// -burn CPU: for a case that does not occur by itself. Another process does nops on that processor all the time, and
// the program keeps away from it. That makes a sibling busy only if they are one; the tables say whether it did.

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

// The words through which the hooks are called, as a rewritten program has them.
extern "C" {
uint64_t slots[2];
}

// 256 leaves with hooks and 256 without, each 64 bytes long.
asm(R"(
        .text
        .balign 64
hooked_leaves:
        .rept 256
        .balign 64
        call *slots(%rip)
        call *slots+8(%rip)
        ret
        .endr
        .balign 64
plain_leaves:
        .rept 256
        .balign 64
        ret
        .endr

        .balign 64
two_stamps:
        mov %rax, %r8
        mov %rdx, %r9
        rdtsc
        rdtsc
        mov %r8, %rax
        mov %r9, %rdx
        ret

        .balign 64
hooked_recursion:
        call *slots(%rip)
        sub $8, %rsp
        dec %edi
        jz 1f
        call hooked_recursion
1:      add $8, %rsp
        call *slots+8(%rip)
        ret
        .balign 64
plain_recursion:
        sub $8, %rsp
        dec %edi
        jz 1f
        call plain_recursion
1:      add $8, %rsp
        ret

// Leaf number i % (mask + 1) of those at rdi, i from rdx to 1; rsi: mask. Hooked itself, so that the leaves have a parent.
        .balign 64
hooked_caller:
        call *slots(%rip)
        call plain_caller
        call *slots+8(%rip)
        ret
        .balign 64
plain_caller:
        push %rbx
        push %r12
        push %r13
        mov %rdi, %rbx
        mov %rsi, %r12
        mov %rdx, %r13
        xor %ecx, %ecx
1:      mov %ecx, %eax
        shl $6, %eax
        add %rbx, %rax
        call *%rax
        inc %ecx
        cmp %r12d, %ecx
        jb 2f
        xor %ecx, %ecx
2:      dec %r13
        jnz 1b
        pop %r13
        pop %r12
        pop %rbx
        ret

// A microsecond or so.
        .balign 64
nops:
        mov $512, %ecx
        .balign 64
1:      .rept 64
        nop
        .endr
        dec %ecx
        jnz 1b
        ret
)");

extern "C" {
extern char hooked_leaves[], plain_leaves[], two_stamps[];
void hooked_caller(char* leaves, uint64_t different, uint64_t calls);
void hooked_recursion(uint64_t depth);
void plain_recursion(uint64_t depth);
void nops();
}

namespace {

uint64_t time_stamp() { return __builtin_ia32_rdtsc(); }

// Short batches: most of them are not interrupted.
constexpr uint64_t kCalls = 1200;  // per batch
constexpr size_t kBatches = 1501;

struct Batch {
  double nops_before, nops_after;  // cycles of the loop of nops
  double cycles;                   // per call
};
using Batches = std::vector<Batch>;

double time_of_nops() {
  const uint64_t start = time_stamp();
  nops();
  return double(time_stamp() - start);
}

template <class Calls>
Batches batches(Calls calls) {
  Batches all;
  for (size_t i = 0; i < kBatches; ++i) {
    Batch b;
    b.nops_before = time_of_nops();
    const uint64_t start = time_stamp();
    calls();
    b.cycles = double(time_stamp() - start) / double(kCalls);
    b.nops_after = time_of_nops();
    all.push_back(b);
  }
  return all;
}

Batches leaves(char* which, uint64_t different) {
  return batches([=] { hooked_caller(which, different, kCalls); });
}

Batches recursion(void (*function)(uint64_t), uint64_t depth) {
  return batches([=] {
    for (uint64_t i = 0; i < kCalls / depth; ++i) function(depth);
  });
}

struct Row {
  const char* name;
  Batches (*with)();     // hooks, or the two rdtsc
  Batches (*without)();  // the same loop
};

constexpr Row kRows[] = {
    {"two rdtsc", [] { return leaves(two_stamps, 1); }, [] { return leaves(plain_leaves, 1); }},
    {"1 callee", [] { return leaves(hooked_leaves, 1); }, [] { return leaves(plain_leaves, 1); }},
    {"2 callees", [] { return leaves(hooked_leaves, 2); }, [] { return leaves(plain_leaves, 2); }},
    {"16 callees", [] { return leaves(hooked_leaves, 16); }, [] { return leaves(plain_leaves, 16); }},
    {"200 callees", [] { return leaves(hooked_leaves, 200); }, [] { return leaves(plain_leaves, 200); }},
    {"recursion, 10 deep", [] { return recursion(hooked_recursion, 10); },
     [] { return recursion(plain_recursion, 10); }},
    {"recursion, 300 deep", [] { return recursion(hooked_recursion, 300); },
     [] { return recursion(plain_recursion, 300); }},
};
constexpr size_t kRowCount = std::size(kRows);

// The process that is measured writes its batches, row by row; nothing where nothing is recorded.
void measure_all() {
  hooked_caller(hooked_leaves, 1, 1);
  if (slots[0] == slots[1]) return;
  for (const Row& row : kRows) {
    for (const Batches& all : {row.with(), row.without()}) std::fwrite(all.data(), sizeof(Batch), all.size(), stdout);
  }
}

constexpr const char* kTypes[] = {"time", "elapsed", "cpu", "adaptive", "count"};
constexpr size_t kTypeCount = std::size(kTypes);

// Of all rounds.
struct Figures {
  Batches with, without;
};
using Column = Figures[kRowCount];

void read_batches(FILE* from, Batches& to) {
  Batches all(kBatches);
  all.resize(std::fread(all.data(), sizeof(Batch), all.size(), from));
  to.insert(to.end(), all.begin(), all.end());
}

// Adds the batches of a run to each row of a type, or none.
void run(const char* self, const char* type, Column& column) {
  const std::string command = std::string("PROFTYPE=") + type + " PROFDIR=. '" + self + "' -measure";
  FILE* out = popen(command.c_str(), "r");
  if (!out) return;
  for (Figures& f : column) {
    read_batches(out, f.with);
    read_batches(out, f.without);
  }
  pclose(out);
}

// The sibling, as the loops of nops tell: how many times the fastest of them all both of a batch took.
struct Case {
  const char* name;
  double least, most;

  bool has(const Batch& b, double fastest) const {
    const auto fits = [&](double nops) { return nops >= least * fastest && nops <= most * fastest; };
    return fits(b.nops_before) && fits(b.nops_after);
  }
};
constexpr Case kCases[] = {{"idle", 1, 1.1}, {"busy", 1.4, 2.5}};  // more: the loop was interrupted
constexpr size_t kMin = 30;                                        // batches that a figure is made of

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double median_of(const Batches& all, const Case& which, double fastest) {
  std::vector<double> cycles;
  for (const Batch& b : all) {
    if (which.has(b, fastest)) cycles.push_back(b.cycles);
  }
  if (cycles.size() < kMin) return kNone;
  std::sort(cycles.begin(), cycles.end());
  return cycles[cycles.size() / 2];
}

void print(double value, int places) {
  if (value != value) {
    std::printf(" %8s", "-");
  } else {
    std::printf(" %8.*f", places, value);
  }
}

class Report {
 public:
  explicit Report(const Column (&columns)[kTypeCount]) : columns_(columns) {
    for_each([&](const Batch& b) { fastest_ = std::min({fastest_, b.nops_before, b.nops_after}); });
    for (const Column& column : columns_) {
      stamps_.with.insert(stamps_.with.end(), column[0].with.begin(), column[0].with.end());
      stamps_.without.insert(stamps_.without.end(), column[0].without.begin(), column[0].without.end());
    }
  }

  void show(const Case& which) const {
    size_t all = 0, of_case = 0;
    for_each([&](const Batch& b) {
      ++all;
      of_case += which.has(b, fastest_);
    });
    std::printf("\nsibling %s (%zu of %zu batches)\n%-20s", which.name, of_case, all, "cycles per pair");
    for (const char* type : kTypes) std::printf(" %8s", type);
    std::printf("   over two rdtsc:");
    for (const char* type : kTypes) std::printf(" %8s", type);
    std::printf("\n");
    for (size_t row = 0; row < kRowCount; ++row) {
      std::printf("%-20s", kRows[row].name);
      for (const Column& column : columns_) print(cost(column[row], which), 1);
      std::printf("%18s", "");
      for (const Column& column : columns_) print(cost(column[row], which) / cost(stamps_, which), 2);
      std::printf("\n");
    }
  }

 private:
  double cost(const Figures& f, const Case& which) const {
    return median_of(f.with, which, fastest_) - median_of(f.without, which, fastest_);
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Column& column : columns_) {
      for (const Figures& f : column) {
        for (const Batch& b : f.with) visit(b);
        for (const Batch& b : f.without) visit(b);
      }
    }
  }

  const Column (&columns_)[kTypeCount];
  Figures stamps_;  // two rdtsc, which are the same for all types
  double fastest_ = std::numeric_limits<double>::infinity();
};

// Makes a processor busy as long as this process lives, and keeps this process and its children away from it.
bool burn(int processor) {
  cpu_set_t there, elsewhere;
  CPU_ZERO(&there);
  CPU_SET(size_t(processor), &there);
  if (sched_getaffinity(0, sizeof elsewhere, &elsewhere) != 0) return false;
  CPU_CLR(size_t(processor), &elsewhere);
  if (sched_setaffinity(0, sizeof elsewhere, &elsewhere) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sched_setaffinity(0, sizeof there, &there) != 0) _exit(1);
    for (;;) nops();
  }
  return child > 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::memcpy(slots, dlsym(RTLD_DEFAULT, "_profhooks"), sizeof slots);
  unlink(("prof." + std::to_string(getpid())).c_str());  // of no interest; its memory stays
  if (argc > 1 && std::strcmp(argv[1], "-measure") == 0) {
    measure_all();
    return 0;
  }
  int next = 1;
  if (argc > 2 && std::strcmp(argv[1], "-burn") == 0) {
    if (!burn(std::atoi(argv[2]))) {
      std::perror("-burn");
      return 1;
    }
    next = 3;
  }
  const int rounds = argc > next ? std::atoi(argv[next]) : 5;
  static Column columns[kTypeCount];
  for (int r = 0; r < rounds; ++r) {
    for (size_t type = 0; type < kTypeCount; ++type) run(argv[0], kTypes[type], columns[type]);
  }
  const Report report(columns);
  for (const Case& which : kCases) report.show(which);
}
