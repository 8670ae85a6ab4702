// hooks [ROUNDS]: what a pair of hooks costs, in cycles of the time-stamp counter, next to two bare rdtsc.
//
//     g++ -std=c++20 -O2 -o build/hooks tests/bench/hooks.cc -Wl,--no-as-needed -Lbuild/lib -l:libprof.so &&
//     LD_LIBRARY_PATH=build/lib build/hooks
//
// The program runs itself once per round and PROFTYPE, so that what is compared is interleaved; printed are medians.
// Each figure is the time of a loop of calls with hooks minus that of the same loop without, per call. Rows: a leaf
// called in a loop; 2, 16 and 200 different leaves called in turn; recursion 10 and 300 deep. Other load on the machine
// changes the ratios: another thread on the same core slows down the hooks but not rdtsc.

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
)");

extern "C" {
extern char hooked_leaves[], plain_leaves[], two_stamps[];
void hooked_caller(char* leaves, uint64_t different, uint64_t calls);
void hooked_recursion(uint64_t depth);
void plain_recursion(uint64_t depth);
}

namespace {

uint64_t time_stamp() { return __builtin_ia32_rdtsc(); }

// Short batches: most of them are not interrupted.
constexpr uint64_t kCalls = 1200;  // per batch
constexpr int kBatches = 1501;

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

template <class Batch>
double cycles_per_call(Batch batch) {
  std::vector<double> values;
  for (int i = 0; i < kBatches; ++i) {
    const uint64_t start = time_stamp();
    batch();
    values.push_back(double(time_stamp() - start) / double(kCalls));
  }
  return median(values);
}

double leaves(char* which, uint64_t different) {
  return cycles_per_call([=] { hooked_caller(which, different, kCalls); });
}

double recursion(void (*function)(uint64_t), uint64_t depth) {
  return cycles_per_call([=] {
    for (uint64_t i = 0; i < kCalls / depth; ++i) function(depth);
  });
}

struct Row {
  const char* name;
  double (*measure)();
};

const Row kRows[] = {
    {"two rdtsc", [] { return leaves(two_stamps, 1) - leaves(plain_leaves, 1); }},
    {"1 callee", [] { return leaves(hooked_leaves, 1) - leaves(plain_leaves, 1); }},
    {"2 callees", [] { return leaves(hooked_leaves, 2) - leaves(plain_leaves, 2); }},
    {"16 callees", [] { return leaves(hooked_leaves, 16) - leaves(plain_leaves, 16); }},
    {"200 callees", [] { return leaves(hooked_leaves, 200) - leaves(plain_leaves, 200); }},
    {"recursion, 10 deep", [] { return recursion(hooked_recursion, 10) - recursion(plain_recursion, 10); }},
    {"recursion, 300 deep", [] { return recursion(hooked_recursion, 300) - recursion(plain_recursion, 300); }},
};
constexpr size_t kCount = sizeof kRows / sizeof kRows[0];

// Nothing where nothing is recorded.
void measure_all() {
  hooked_caller(hooked_leaves, 1, 1);
  if (slots[0] == slots[1]) return;
  for (const Row& row : kRows) std::printf("%.3f\n", row.measure());
}

constexpr const char* kTypes[] = {"elapsed", "cpu", "adaptive", "count"};
constexpr size_t kTypeCount = sizeof kTypes / sizeof kTypes[0];

// Adds a figure to each row of a type, or none.
void run(const char* self, const char* type, std::vector<double> (&rows)[kCount]) {
  const std::string command = std::string("PROFTYPE=") + type + " PROFDIR=. '" + self + "' -measure";
  FILE* out = popen(command.c_str(), "r");
  double value;
  for (size_t i = 0; out && i < kCount && std::fscanf(out, "%lf", &value) == 1; ++i) rows[i].push_back(value);
  if (out) pclose(out);
}

std::string decimal(const std::vector<double>& values, double unit, int places) {
  if (values.empty()) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", places, median(values) / unit);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  std::memcpy(slots, dlsym(RTLD_DEFAULT, "_profhooks"), sizeof slots);
  unlink(("prof." + std::to_string(getpid())).c_str());  // of no interest; its memory stays
  if (argc > 1 && std::strcmp(argv[1], "-measure") == 0) {
    measure_all();
    return 0;
  }
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  std::vector<double> figures[kTypeCount][kCount];
  for (int r = 0; r < rounds; ++r) {
    for (size_t type = 0; type < kTypeCount; ++type) run(argv[0], kTypes[type], figures[type]);
  }
  std::printf("%-20s", "cycles per pair");
  for (const char* type : kTypes) std::printf(" %9s", type);
  std::printf(" %19s\n", "elapsed / two rdtsc");
  for (size_t i = 0; i < kCount; ++i) {
    std::printf("%-20s", kRows[i].name);
    for (const auto& rows : figures) std::printf(" %9s", decimal(rows[i], 1, 1).c_str());
    std::printf(" %19s\n", decimal(figures[0][i], median(figures[0][0]), 2).c_str());
  }
}
