// Writes, into the current folder, the programs and profiles that tests/e2e/reading/golden.sh shows: all numbers in them are made
// up, so what prof prints of them is the same everywhere. Times are in nanoseconds.

#include <initializer_list>
#include <map>

#include "tests/unit/prof_fixture.h"

using prof_format::Block;
using namespace prof_test;

namespace {

constexpr uint64_t kMilli = 1'000'000;
constexpr uint64_t kCopies = 0x100000;  // how far after a function its copy is

// Names as compilers make them: templates of C++ with 300 characters, Rust's paths, letters that are not ASCII.
const std::string kVisit =
    "_ZN7storage5index12BalancedTreeINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt6vectorISt4pairIS7_"
    "St3mapIiSt13"
    "unordered_mapIS7_dSt4hashIS7_ESt8equal_toIS7_ESaIS9_IKS7_dEEESt4lessIiESaIS9_IKiSJ_EEEESaISQ_EESK_IvEE18visit_all_"
    "in_"
    "orderINS0_6LatestEEEvRSG_SX_T_RKSt8functionIFbRKSS_EE";
const std::string kGroup =
    "_Z22group_by_name_of_ownerI7größeESt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt6vectorISt10unique_"
    "ptrIT_St14default_deleteISA_EESaISD_EESt4lessIS7_ESaISt4pairIKS7_SF_EEERKS8_ISt10shared_ptrIKSA_ESaISP_"
    "EESt8functionIFS7"
    "_RSO_EE";
const std::string kLambda =
    "_ZZ4mainENKUlRKT_E_clISt6vectorISt4pairINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt3mapIiSt13unordered_"
    "mapISB_dSt4hashISB_ESt8equal_toISB_ESaIS5_IKSB_dEEESt4lessIiESaIS5_IKiSL_EEEESaISS_EEEEDaS1_";
const std::string kRust =
    "_ZN116_$LT$alloc..collections..btree..map..IntoIter$LT$K$C$V$C$A$GT$$u20$as$u20$core..iter..traits..iterator.."
    "Iterator$GT$"
    "4next17h0123456789abcdefE";
const std::string kValue = "_ZNK7größe4wertEi", kJapanese = "\u65e5\u672c\u8a9e\u306e\u95a2\u6570";

// A program or a library of functions that are 64 bytes apart, from 0x1000 on.
class Code {
 public:
  Code(const std::string& path, const std::string& build_id, uint64_t bias, const std::vector<std::string>& names)
      : path_(path), build_id_(build_id), bias_(bias) {
    elf_.rewritten = true;
    elf_.build_id = build_id;
    elf_.original_build_id = "of " + build_id;
    for (const std::string& name : names) {
      const uint64_t at = 0x1000 + 0x40 * addresses_.size();
      addresses_[name] = at;
      elf_.add_symbol(name, at, 16);
      elf_.add_copy(kCopies + at, at);
    }
  }
  void add_import(const std::string& name) {
    const uint64_t at = 0x800 + 0x10 * imports_++;
    addresses_[name] = at;
    elf_.add_import(kCopies + at, at, name);
  }
  void write() const { elf_.write(path_); }
  void add_to(ProfileWriter& profile) const { profile.add_module(path_, build_id_, bias_, bias_, bias_ + 2 * kCopies); }
  uint64_t pc(const std::string& name) const { return bias_ + kCopies + addresses_.at(name) + 5; }

 private:
  std::string path_, build_id_;
  uint64_t bias_;
  ElfWriter elf_;
  std::map<std::string, uint64_t> addresses_;
  unsigned imports_ = 0;
};

std::string helper(int n) { return "_Z" + std::string(n < 10 ? "8" : "9") + "helper_" + std::to_string(n) + "i"; }
std::string nested(int n) { return "nested_" + std::to_string(n); }

std::vector<std::string> functions() {
  std::vector<std::string> names = {"main",
                                    kVisit,
                                    kGroup,
                                    kLambda,
                                    kRust,
                                    kValue,
                                    kJapanese,
                                    "load_configuration",
                                    "open_configuration",
                                    "read_header",
                                    "decode",
                                    "walk",
                                    "dispatch",
                                    "handle"};
  for (int i = 1; i <= 30; ++i) names.push_back(helper(i));
  for (int i = 1; i <= 44; ++i) names.push_back(nested(i));
  return names;
}

const std::string kLongFolder =
    "a-folder-whose-name-is-as-long-as-that-of-a-build-tree-in-which-somebody-wrote-down-the-compiler-and-its-version-"
    "the-"
    "options-the-target-and-the-day-and-then-again-all-of-these-for-good-measure-with-an-\u00fcml\u00e4ut";

struct Times {
  uint64_t calls, self, waited = 0;
};

// A profile with one module or two, and its threads.
class Run {
 public:
  Run(uint32_t type, uint32_t pid, uint32_t parent, std::initializer_list<const Code*> modules) : code_(modules) {
    prof_format::Header& h = writer_.header();
    h.type = type;
    h.pid = pid;
    h.parent_pid = parent;
    h.realtime_start = pid;
    h.probe_inside = 12 * 256;
    h.probe_outside = 30 * 256;
    h.probe_inside_spread = 2 * 256;
    h.probe_outside_spread = 4 * 256;
    h.cpu_start = 1;
    h.cpu_end = 1 + 6'420 * kMilli;
    for (const Code* code : code_) code->add_to(writer_);
  }
  // Arguments, each with a NUL after it.
  void set_command_line(const std::string& arguments) {
    std::string& bytes = writer_.bytes();
    const Block at = Block(bytes.size() / PROF_BLOCK_SIZE);
    bytes += arguments;
    bytes.resize((bytes.size() + PROF_BLOCK_SIZE - 1) / PROF_BLOCK_SIZE * PROF_BLOCK_SIZE);
    writer_.header().command_line = at;
    writer_.header().command_line_size = uint32_t(arguments.size());
    writer_.header().blocks_used = Block(bytes.size() / PROF_BLOCK_SIZE);
  }
  // What is added from now on is of this thread.
  Block begin_thread(uint32_t tid, const std::string& name) {
    thread_ = writer_.add_thread(tid);
    name.copy(writer_.thread(thread_).name, sizeof prof_format::Thread::name);
    return writer_.root(thread_);
  }
  Block add(Block parent, const std::string& name, Times times, bool is_tail_call = false) {
    return add_of(*code_[0], parent, name, times, is_tail_call);
  }
  Block add_of(const Code& code, Block parent, const std::string& name, Times times, bool is_tail_call = false) {
    const uint32_t type = writer_.header().type;
    const uint64_t self = type == prof_format::kCount ? 0 : times.self;
    const Block node =
        writer_.add_node(parent, code.pc(name) | (is_tail_call ? prof_format::kTailCall : 0), times.calls, self);
    if (type == prof_format::kTime && times.waited != 0) {
      writer_.node(node).blocked_cycles = times.waited;
      prof_format::Thread& thread = writer_.thread(thread_);
      thread.away += times.waited;
      thread.end = thread.last_tsc -= times.waited;  // by its own clock, which does not go on meanwhile
      thread.blocked += times.calls;
    }
    return node;
  }
  void write(const std::string& path) const { writer_.write(path); }

 private:
  ProfileWriter writer_;
  Block thread_ = 0;
  std::vector<const Code*> code_;
};

// What the first thread of the program did; of `factor` as much time, and so many calls.
void add_main_thread(Run& run, const Code& library, double factor) {
  auto ms = [&](double n) { return uint64_t(n * factor * double(kMilli)); };
  const Block root = run.begin_thread(100, "golden");
  const Block main = run.add(root, "main", {1, ms(20)});
  const Block load = run.add(main, "load_configuration", {10, ms(0.1)});
  const Block open = run.add(load, "open_configuration", {10, ms(0.1), ms(210)});
  const Block header = run.add(open, "read_header", {10, ms(0.3)});
  run.add(header, "decode", {10, ms(140)});
  const Block visit = run.add(main, kVisit, {1'200, ms(1'100), ms(400)});
  run.add(visit, kLambda, {1'200, ms(310)});
  run.add(visit, kValue, {20'000'000, ms(900)});
  const Block group = run.add(main, kGroup, {12, ms(480)});
  run.add(group, kRust, {4'000'000, ms(260)});
  run.add(group, "strlen", {48, ms(3)});
  run.add_of(library, group, "inflate", {12, ms(333), ms(5)});
  const Block walk = run.add(main, "walk", {3, ms(12)});
  const Block again = run.add(walk, "walk", {9, ms(30)});
  run.add(again, "walk", {27, ms(90)});
  run.add(again, kJapanese, {27, ms(41)});
  const Block dispatch = run.add(main, "dispatch", {6, ms(2)});
  run.add(dispatch, "handle", {6, ms(77)}, true);
  Block deepest = main;
  for (int i = 1; i <= 44; ++i) deepest = run.add(deepest, nested(i), {uint64_t(i), ms(7)});
  for (int i = 1; i <= 30; ++i) run.add(main, helper(i), {uint64_t(i), ms(0.5 * i)});
}

void add_worker(Run& run, uint32_t tid, const std::string& name) {
  const Block root = run.begin_thread(tid, name);
  const Block group = run.add(root, kGroup, {3, 120 * kMilli, 900 * kMilli});
  run.add(group, kRust, {1'000'000, 70 * kMilli});
}

void write_run(const std::string& path, uint32_t type, const Code& code, const Code& library, double factor) {
  Run run(type, 100, 1, {&code, &library});
  add_main_thread(run, library, factor);
  run.write(path);
}

}  // namespace

int main() {
  Code code("golden", "the program", 0, functions());
  code.add_import("strlen");
  code.write();
  const std::string long_name = "libstorage_with_a_name_that_is_rather_long-x86_64-linux-gnu.so.12";
  const Code library(long_name, "the library", 0x7f0000000000, {"inflate", "deflate"});
  library.write();

  Run run(prof_format::kTime, 100, 1, {&code, &library});
  const std::string zero(1, '\0');
  run.set_command_line("./golden" + zero + "--input" + zero + "/srv/" + kLongFolder + "/numbers.csv" + zero + "--fast" +
                       zero);
  add_main_thread(run, library, 1);
  add_worker(run, 105, "worker-gr\u00f6\u00dfe");
  add_worker(run, 106, "w");
  run.write("prof.100");

  Run child(prof_format::kTime, 101, 100, {&code, &library});
  child.set_command_line("./golden" + zero + "child" + zero);
  add_worker(child, 101, "golden");
  child.write("prof.101");

  Run second_child(prof_format::kTime, 102, 100, {&code, &library});
  second_child.set_command_line("./golden" + zero + "gr\u00f6\u00dfer" + zero);
  add_worker(second_child, 102, "golden");
  second_child.add_of(library, second_child.begin_thread(103, "thread"), "inflate", {40, 25 * kMilli, 7 * kMilli});
  second_child.write("prof.102");

  write_run("count", prof_format::kCount, code, library, 1);
  write_run("elapsed", prof_format::kElapsed, code, library, 1);
  write_run("cpu", prof_format::kCpu, code, library, 0.75);

  // Another build of the program, at a long path: without two functions and with others, and slower.
  std::filesystem::create_directory(kLongFolder);
  std::vector<std::string> names = functions();
  names.erase(names.begin() + 6, names.begin() + 8);
  names.insert(names.begin(), {"added", "load_configuration.part.0", kJapanese});
  Code second(kLongFolder + "/golden", "the second", 0, names);
  second.add_import("strlen");
  second.write();
  for (int i = 0; i < 3; ++i) {
    const std::string number = std::to_string(i + 1);
    write_run("before." + number, prof_format::kTime, code, library, 1 + 0.01 * i);
    Run after(prof_format::kTime, 200, 1, {&second, &library});
    const Block root = after.begin_thread(200, "golden");
    const Block main = after.add(root, "main", {1, 21 * kMilli});
    const Block visit = after.add(main, kVisit, {2'400, (2'150 + 7 * uint64_t(i)) * kMilli});
    after.add(visit, kLambda, {2'400, 600 * kMilli});
    after.add(visit, kValue, {20'000'000, (880 + 30 * uint64_t(i)) * kMilli});
    after.add(main, "load_configuration.part.0", {10, 3 * kMilli});
    after.add(main, "added", {7, 55 * kMilli});
    for (int n = 1; n <= 28; ++n) after.add(main, helper(n), {uint64_t(n), uint64_t(n) * 600'000});
    after.write("after." + number);
  }
}
