#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "prof/instructions/trace/varint.h"
#include "prof/read/error.h"
#include "trace_fixture.h"

using namespace prof_test;
using namespace prof_format;
using prof::ListingForm;
using prof::TraceAccess;
using prof::TraceFilter;
using prof::TraceWriter;

namespace {

using Values = std::vector<uint64_t>;

TraceWriter::Settings settings() {
  TraceWriter::Settings made;
  made.pid = 10;
  return made;
}

// mov %rax,(%rdi); add $1,%rax; jne back: `rounds` times, storing 8 bytes further on each time.
void write_loop(TraceWriter& writer, unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) {
    const TraceAccess stored[] = {store(0x5000 + 8 * uint64_t(i), 8)};
    writer.step(kThread, 0x1000, "\x48\x89\x07", stored);
    writer.step(kThread, 0x1003, "\x48\x83\xc0\x01", {});
    writer.step(kThread, 0x1007, "\x75\xf7", {});
  }
  writer.step(kThread, 0x1009, "\xc3", std::vector<TraceAccess>{load(0x7ff0, 8)});
}

std::string write_small(const std::string& path) {
  TraceWriter writer(path, settings());
  writer.command("/bin/loop", {"loop", "2"});
  write_loop(writer, 2);
  writer.end(kEndExit, 3);
  return path;
}

}  // namespace

TEST_CASE("a trace is read as it was written") {
  const TemporaryDirectory directory;
  const std::string path = write_small(directory / "trace");
  const Listed all = listed(path);
  CHECK(all.text ==
        "11\t0x1000\t0x1000\tmov %rax, (%rdi)\tW8 0x5000\n"
        "11\t0x1003\t0x1003\tadd $0x1, %rax\n"
        "11\t0x1007\t0x1007\tjnz 0x1000\n"
        "11\t0x1000\t0x1000\tmov %rax, (%rdi)\tW8 0x5008\n"
        "11\t0x1003\t0x1003\tadd $0x1, %rax\n"
        "11\t0x1007\t0x1007\tjnz 0x1000\n"
        "11\t0x1009\t0x1009\tret\tR8 0x7ff0\n");
  CHECK(all.remarks.empty());
  CHECK_FALSE(all.is_partial);
  prof::TraceReader reader(path);
  REQUIRE(reader.file().end());
  CHECK(reader.file().end()->instructions == 7);
  CHECK(reader.file().end()->accesses == 3);
  CHECK(reader.file().end()->status == 3);
  TraceFilter nothing;
  nothing.first = 0;
  CHECK(listed(path, nothing).text.empty());
}

TEST_CASE("other tools' formats of a trace") {
  const TemporaryDirectory directory;
  const std::string path = directory / "trace";
  {
    TraceWriter writer(path, settings());
    const TraceAccess changed[] = {load(0x5000, 4), store(0x5000, 4)};
    writer.step(kThread, 0x1000, "\xff\x07", changed);  // incl (%rdi)
    const TraceAccess moved[] = {load(0x6000, 8), store(0x7000, 8)};
    writer.step(kThread, 0x1002, "\xff\x37", moved);  // push (%rdi)
    writer.end(kEndExit, 0);
  }
  CHECK(listed(path, {}, ListingForm::lackey).text ==
        "I  00001000,2\n M 00005000,4\nI  00001002,2\n L 00006000,8\n S 00007000,8\n");
  TraceFilter last;
  last.last = 1;
  const std::string text = listed(path, last, ListingForm::drcachesim).text;
  CHECK(text.substr(text.find("----\n") + 5) ==
        "           4           2:          11 ifetch       2 byte(s) @ 0x0000000000001002 ff 37 push (%rdi)\n"
        "           5           2:          11 read         8 byte(s) @ 0x0000000000006000 by PC 0x0000000000001002\n"
        "           6           2:          11 write        8 byte(s) @ 0x0000000000007000 by PC 0x0000000000001002\n");
}

TEST_CASE("filters of a trace") {
  const TemporaryDirectory directory;
  const std::string path = directory / "trace";
  {
    TraceWriter writer(path, settings());
    for (unsigned i = 0; i < 3; ++i) {
      writer.step(kThread, 0x1000 + i, "\x90", {});
      writer.step(kOtherThread, 0x2000 + i, "\x90", {});
    }
    writer.end(kEndExit, 0);
  }
  const auto lines = [&](const TraceFilter& filter) {
    const std::string text = listed(path, filter).text;
    std::string addresses;
    for (size_t at = 0; (at = text.find('\t', at)) != std::string::npos; at = text.find('\n', at))
      addresses += text.substr(at + 1, 6) + " ";
    return addresses;
  };
  CHECK(lines({}) == "0x1000 0x1001 0x1002 0x2000 0x2001 0x2002 ");
  TraceFilter filter;
  filter.ranges = {{0x1001, 0x2001}};
  CHECK(lines(filter) == "0x1001 0x1002 0x2000 ");
  filter.threads = {12};
  CHECK(lines(filter) == "0x2000 ");
  filter = {};
  filter.first = 4;
  filter.last = 2;
  CHECK(lines(filter) == "0x1002 0x2000 ");
  filter = {};
  filter.functions = prof_names::Filter({"nothing*"}, {});
  CHECK(lines(filter).empty());
}

TEST_CASE("what repeats itself takes little room") {
  const TemporaryDirectory directory;
  const std::string path = directory / "trace";
  {
    TraceWriter writer(path, settings());
    write_loop(writer, 100'000);
    writer.end(kEndExit, 0);
  }
  CHECK(read_file(path).size() < 2000);
  const Counted counted(path);
  CHECK(counted.counts.total() == 300'001);
  CHECK(counted.counts.stores() == 100'000);
  CHECK(counted.at(0x1007).taken == 99'999);
  CHECK(counted.at(0x1007).not_taken == 1);
  TraceFilter last;
  last.last = 2;
  CHECK(listed(path, last, ListingForm::lackey).text == "I  00001007,2\nI  00001009,1\n L 00007ff0,8\n");
}

TEST_CASE("a repeated instruction is one, however it was stepped") {
  const TemporaryDirectory directory;
  const std::string path = directory / "trace";
  {
    TraceWriter writer(path, settings());
    for (uint64_t i = 0; i < 3; ++i) {
      const TraceAccess stored[] = {
          {.address = 0x5010 - 4 * i, .size = 4, .is_write = true, .is_repeated = true, .is_down = true}};
      writer.step(kThread, 0x1000, "\xf3\xab", stored);  // rep stos
      if (i == 1) writer.flush();
    }
    const TraceAccess nothing[] = {{.address = 0x6000, .size = 1, .is_write = true, .is_repeated = true, .count = 0}};
    writer.step(kThread, 0x1002, "\xf3\xaa", nothing);
    CHECK(writer.instructions() == 2);
    writer.end(kEndExit, 0);
  }
  CHECK(listed(path, {}, ListingForm::lackey).text ==
        "I  00001000,2\n S 00005010,4\n S 0000500c,4\n S 00005008,4\nI  00001002,2\n");
  const Counted counted(path);
  CHECK(counted.counts.total() == 2);
  CHECK(counted.counts.stores() == 3);
  CHECK(listed(path).text.find("W4 0x5010 down 3 times") != std::string::npos);
}

TEST_CASE("events of a trace") {
  const TemporaryDirectory directory;
  const std::string path = directory / "trace";
  {
    TraceWriter writer(path, settings());
    writer.step(kThread, 0x1000, "\x0f\x05", {});
    writer.event(kThread, kEventSystemCall, Values{0, 5, 0x9000, 5, kAccessWrite});
    writer.event(kThread, kEventSignal, Values{11});
    writer.step(kThread, 0x2000, "\x90", {});
    writer.event(kThread, kEventLost, Values{7});
    writer.event(kThread, kEventThreadEnd, Values{11});
    writer.end(kEndSignal, 11);
  }
  const Listed all = listed(path);
  CHECK(all.text ==
        "11\t0x1000\t0x1000\tsyscall\n11\t# system call 0 = 5\tW5 0x9000\n11\t# signal 11\n11\t0x2000\t0x2000\tnop\n"
        "11\t# 7 instructions are missing\n11\t# thread ends\n");
  REQUIRE(all.remarks.size() == 1);
  CHECK(all.remarks[0] == "lacks 7 instructions in between");
  CHECK(all.is_partial);
}

TEST_CASE("code that changes while it runs") {
  const TemporaryDirectory directory;
  const std::string path = directory / "trace";
  {
    TraceWriter writer(path, settings());
    for (const char* code : {"\xff\xc0", "\xff\xc8", "\xff\xc0"}) writer.step(kThread, 0x1000, code, {});
    writer.end(kEndExit, 0);
  }
  const std::string text = listed(path).text;
  CHECK(text == "11\t0x1000\t0x1000\tinc %eax\n11\t0x1000\t0x1000\tdec %eax\n11\t0x1000\t0x1000\tinc %eax\n");
}

TEST_CASE("a trace that is cut off anywhere is a part of one") {
  const TemporaryDirectory directory;
  const std::string whole = read_file(write_small(directory / "trace"));
  const std::string cut = directory / "cut";
  for (size_t size = 0; size < whole.size(); ++size) {
    write_file(cut, whole.substr(0, size));
    if (size < sizeof(TraceHeader)) {
      CHECK_THROWS_AS(listed(cut), prof::Error);
      continue;
    }
    const Listed part = listed(cut);
    CHECK(part.is_partial);
    CHECK(!part.remarks.empty());
  }
}

TEST_CASE("a trace with any byte changed is read without harm") {
  const TemporaryDirectory directory;
  const std::string whole = read_file(write_small(directory / "trace"));
  const std::string changed = directory / "changed";
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char other : {'\0', '\x7f', '\xff'}) {
      std::string bytes = whole;
      bytes[at] = other;
      write_file(changed, bytes);
      try {
        listed(changed);
      } catch (const prof::Error&) {
      }
    }
  }
}

TEST_CASE("a trace ends where it becomes too large") {
  const TemporaryDirectory directory;
  const std::string path = directory / "trace";
  TraceWriter::Settings limited = settings();
  limited.limit = 1000;
  TraceWriter writer(path, limited);
  for (uint64_t i = 0; i < 1000 && !writer.is_ended(); ++i) {
    const TraceAccess scattered[] = {load(i * i * i * 0x9e3779b97f4a7c15, 8)};
    writer.step(kThread, 0x1000, "\x48\x8b\x07", scattered);
    writer.flush();
  }
  CHECK(writer.is_ended());
  writer.end(kEndExit, 0);
  CHECK(read_file(path).size() <= 1000);
  const Listed part = listed(path);
  CHECK(part.is_partial);
  CHECK(part.remarks == std::vector<std::string>{"ends where it became as large as it was allowed to be"});
}

TEST_CASE("numbers of variable length") {
  for (const uint64_t number : {uint64_t(0), uint64_t(127), uint64_t(128), uint64_t(1) << 63, UINT64_MAX}) {
    std::string bytes;
    prof::append_varint(bytes, number);
    prof::TraceBytes reader(bytes);
    CHECK(reader.varint() == number);
    CHECK(reader.at_end());
    CHECK(prof::unfolded_sign(prof::folded_sign(number)) == number);
    prof::TraceBytes torn(std::string_view(bytes).substr(1));
    CHECK_THROWS_AS((torn.varint(), torn.varint()), prof::DamagedTrace);
  }
}
