#include "prof/read/gmon_file.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "prof/read/error.h"
#include "prof/views/run/views.h"
#include "prof/views/text/output.h"
#include "tests/unit/prof_fixture.h"
#include "tests/unit/prof_gmon_bytes.h"

using namespace prof_test;
using prof::decode_gmon;

namespace {

// "low-high/rate: bins ...; from>to*calls; address*count".
std::string text_of(const prof::Gmon& gmon) {
  std::string s;
  for (const prof::GmonHistogram& h : gmon.histograms) {
    s += std::to_string(h.low) + "-" + std::to_string(h.high) + "/" + std::to_string(h.rate) + ":";
    for (const uint64_t ticks : h.bins) s += " " + std::to_string(ticks);
    s += "; ";
  }
  for (const prof::GmonArc& a : gmon.arcs)
    s += std::to_string(a.from) + ">" + std::to_string(a.to) + "*" + std::to_string(a.calls) + "; ";
  for (const prof::GmonBlock& b : gmon.blocks) s += std::to_string(b.address) + "*" + std::to_string(b.count) + "; ";
  return s;
}

std::string read(const GmonBytes& file) { return text_of(decode_gmon(file.bytes, "gmon.out")); }

// What is said of a file that is refused.
std::string error_of(const std::string& bytes) {
  try {
    decode_gmon(bytes, "gmon.out");
  } catch (const prof::Error& e) {
    const std::string message = e.what();
    CHECK(message.starts_with("gmon.out: "));
    CHECK(message.find('\n') == std::string::npos);
    return message.substr(10);
  }
  return "";
}
std::string error_of(const GmonBytes& file) { return error_of(file.bytes); }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string written(const prof::Gmon& gmon) {
  TemporaryDirectory dir;
  prof::write_file(dir / "gmon.out", [&](prof::Output& out) { prof::print_gmon(gmon, out); });
  return read_file(dir / "gmon.out");
}

GmonBytes some_gnu(bool is_big_endian = false, unsigned word = 8) {
  GmonBytes file(is_big_endian, word);
  return file.header().histogram(0x1000, 0x1010, {1, 0, 65535, 4}).arc(0x1004, 0x1008, 7);
}

GmonBytes some_bsd(uint32_t rate, bool is_big_endian = false, unsigned word = 8) {
  GmonBytes file(is_big_endian, word);
  file.bsd_header(0x1000, 0x1010, 2, rate).number(3, 2).number(9, 2);
  return file.bsd_arc(0x1004, 0x1008, 7);
}

}  // namespace

TEST_CASE("ticks that would fill a disk with records of a large histogram are refused") {
  constexpr uint64_t kBins = 1 << 19;
  prof::GmonHistogram histogram{0x1000, 0x1000 + 2 * kBins, 100, "seconds", 's', std::vector<uint64_t>(kBins)};
  histogram.bins[7] = uint64_t(65535) * 1000;
  CHECK_THROWS_WITH_AS(written({{histogram}, {}, {}}), doctest::Contains("too great"), prof::Error);
}

TEST_CASE("gmon.out of GNU: histograms, arcs and blocks, in any order") {
  CHECK(read(GmonBytes().header()) == "");
  CHECK(read(some_gnu()) == "4096-4112/100: 1 0 65535 4; 4100>4104*7; ");
  CHECK(read(GmonBytes().header(0).arc(1, 2, UINT32_MAX)) == "1>2*4294967295; ");
  GmonBytes file;
  file.header().arc(1, 2, 3).number(2, 1).number(2, 4).word(16).word(UINT64_MAX).word(32).word(0);
  CHECK(read(file.histogram(8, 16, {5}, 1000)) == "8-16/1000: 5; 1>2*3; 16*18446744073709551615; 32*0; ");
}

TEST_CASE("gmon.out of version 0 has names in its records of blocks") {
  GmonBytes file;
  file.header(0).number(2, 1).number(2, 4).text(std::string("all\0", 4));
  for (const uint64_t address : {0x10, 0x20})
    file.word(address * 3).word(address).text(std::string("f\0file.c\0", 9)).number(12, 4);
  CHECK(read(file) == "16*48; 32*96; ");
  for (size_t size = 21; size < file.bytes.size(); ++size)
    CHECK(contains(error_of(file.bytes.substr(0, size)), "cut off within a record of basic blocks"));
}

TEST_CASE("histograms of the same addresses are added up") {
  GmonBytes file;
  file.header().histogram(0, 8, {65535, 1}).histogram(8, 16, {1, 2}).histogram(0, 8, {65535, 2});
  CHECK(read(file) == "0-8/100: 131070 3; 8-16/100: 1 2; ");
  // A rate that was measured may differ a little.
  CHECK(read(GmonBytes().header().histogram(0, 8, {1}, 1000).histogram(0, 8, {1}, 1001)) == "0-8/1000: 2; ");
}

TEST_CASE("gmon.out of BSD and of 4.4BSD") {
  CHECK(read(some_bsd(0)) == "4096-4112/100: 3 9; 4100>4104*7; ");
  CHECK(read(some_bsd(250)) == "4096-4112/250: 3 9; 4100>4104*7; ");
  CHECK(read(GmonBytes().bsd_header(0, 16, 0, 1000).bsd_arc(1, 2, uint64_t(1) << 40)) == "1>2*1099511627776; ");
}

TEST_CASE("what is no gmon.out of x86-64 is told from damage") {
  for (const auto& make : {+[](bool big, unsigned word) { return some_gnu(big, word); },
                           +[](bool big, unsigned word) { return some_bsd(0, big, word); },
                           +[](bool big, unsigned word) { return some_bsd(100, big, word); }}) {
    CHECK(contains(error_of(make(true, 8)), "of a big-endian machine"));
    CHECK(contains(error_of(make(false, 4)), "of a machine with words of 32 bits"));
    CHECK(contains(error_of(make(true, 4)), "of a big-endian machine"));
  }
  // Cut off as well.
  CHECK(contains(error_of(some_gnu(true).bytes.substr(0, 50)), "of a big-endian machine"));
}

TEST_CASE("a gmon.out that was cut off anywhere is refused") {
  const std::string gnu = some_gnu().bytes, old = some_bsd(0).bytes, new_bsd = some_bsd(100).bytes;
  for (size_t size = 0; size < gnu.size(); ++size) {
    const bool is_whole = size == 20 || size == gnu.size() - 21;  // between records
    CHECK(contains(error_of(gnu.substr(0, size)), "was cut off within") == !is_whole);
  }
  for (size_t size = 0; size < old.size(); ++size)
    CHECK(contains(error_of(old.substr(0, size)), "was cut off within") == (size != 24));
  for (size_t size = 0; size < new_bsd.size(); ++size) CHECK(error_of(new_bsd.substr(0, size)).empty() == (size == 44));
}

TEST_CASE("what cannot be is refused") {
  auto with = [](const GmonBytes& file) { return error_of(file); };
  CHECK(contains(with(GmonBytes().header(2)), "of version 2"));
  CHECK(contains(with(GmonBytes().header(0x1ffff)), "sprof reads it"));
  CHECK(contains(with(GmonBytes().header().number(3, 1)), "at byte 20 there is a record of the unknown kind 3"));
  CHECK(contains(with(GmonBytes().header().histogram(0, 8, {1}, 0)), "has no rate"));
  GmonBytes no_rate;
  no_rate.word(0).word(16).number(44, 4).number(0x51879, 4).number(0, 4).text(std::string(16, '\0'));
  CHECK(contains(with(no_rate), "has no rate"));
  CHECK(contains(with(GmonBytes().header().histogram(8, 8, {1})), "in front of its beginning"));
  CHECK(contains(with(GmonBytes().header().histogram(9, 8, {1})), "in front of its beginning"));
  CHECK(contains(with(GmonBytes().header().histogram(0, 8, {})), "has no bins"));
  CHECK(contains(with(GmonBytes().header().histogram(0, 2, {1, 2, 3})), "more bins than addresses"));
  CHECK(contains(with(GmonBytes().bsd_header(0, 16, 0).number(1, 2)), "cut off within an arc"));
  GmonBytes odd;
  CHECK(contains(with(odd.word(0).word(16).number(23, 4).text("abc")), "impossible size"));
  GmonBytes short_size;
  CHECK(contains(with(short_size.word(0).word(16).number(19, 4)), "impossible size"));
  GmonBytes blocks;  // as many as there can be
  CHECK(contains(with(blocks.header().number(2, 1).number(UINT32_MAX, 4).word(1)), "cut off"));
}

TEST_CASE("histograms that do not go together are refused, as gprof does") {
  auto second = [](uint64_t low, uint64_t high, const std::vector<uint16_t>& bins, uint32_t rate = 100,
                   const std::string& dimension = "seconds", char abbreviation = 's') {
    GmonBytes file;
    file.header().histogram(0x100, 0x110, {1, 2, 3, 4});
    return error_of(file.histogram(low, high, bins, rate, dimension, abbreviation));
  };
  CHECK(second(0x110, 0x118, {1, 2}) == "");
  CHECK(second(0xf8, 0x100, {1, 2}) == "");
  CHECK(contains(second(0x10c, 0x11c, {1, 2, 3, 4}), "overlap"));
  CHECK(contains(second(0xf8, 0x108, {1, 2, 3, 4}), "overlap"));
  CHECK(contains(second(0x104, 0x108, {1}), "overlap"));
  CHECK(contains(second(0x80, 0x180, std::vector<uint16_t>(64)), "overlap"));
  CHECK(contains(second(0x100, 0x114, {1, 2, 3, 4, 5}), "overlap"));
  CHECK(contains(second(0x200, 0x210, {1, 2}), "bins of different sizes: 4 and 8 bytes"));
  CHECK(contains(second(0x100, 0x110, {1, 2}), "bins of different sizes"));
  CHECK(contains(second(0x100, 0x110, {1, 2, 3, 4}, 1000), "different rates, 100 and 1000"));
  CHECK(!contains(second(0x100, 0x110, {0, 0, 0, 0}, 1000), "rates"));  // it has no ticks
  CHECK(contains(second(0x200, 0x204, {1}, 100, "Mcycles"), "seconds and Mcycles"));
  CHECK(contains(second(0x200, 0x204, {1}, 100, "seconds", 'S'), "count different things"));
}

TEST_CASE("several gmon.out are added up") {
  prof::Gmon sum = decode_gmon(some_gnu().bytes, "a");
  prof::add_gmon(sum, decode_gmon(some_gnu().bytes, "b"), "b");
  CHECK(text_of(sum) == "4096-4112/100: 2 0 131070 8; 4100>4104*7; 4100>4104*7; ");
  CHECK_THROWS_AS(prof::add_gmon(sum, decode_gmon(some_bsd(0).bytes, "c"), "c"), prof::Error);
}

TEST_CASE("the kinds of gmon.out are known by their first bytes") {
  TemporaryDirectory dir;
  auto is_gmon = [&](const std::string& bytes) {
    write_file(dir / "file", bytes);
    return prof::is_gmon_file(dir / "file");
  };
  for (const bool big : {false, true}) {
    for (const unsigned word : {4, 8}) {
      CHECK(is_gmon(some_gnu(big, word).bytes));
      CHECK(is_gmon(some_bsd(0, big, word).bytes));
      CHECK(is_gmon(some_bsd(100, big, word).bytes));
    }
  }
  CHECK(is_gmon(some_bsd(0).bytes.substr(0, 30)));
  CHECK(is_gmon("gmon"));
  CHECK_FALSE(is_gmon(""));
  CHECK_FALSE(is_gmon("prof"));
  CHECK_FALSE(is_gmon(std::string(1000, '\0')));
  CHECK_FALSE(is_gmon(std::string(1000, '\xff')));
  CHECK_FALSE(is_gmon("#!/bin/sh\necho a script, which is no gmon.out\n"));
  CHECK_FALSE(prof::is_gmon_file(dir.path()));
  CHECK_FALSE(prof::is_gmon_file(dir / "none"));
}

TEST_CASE("what is written of a gmon.out is read again, however great its numbers are") {
  prof::Gmon gmon = decode_gmon(some_gnu().bytes, "gmon.out");
  CHECK(written(gmon) == some_gnu().bytes);
  gmon.histograms[0].bins = {0, 65535, 65536, 1'000'000};
  gmon.histograms.push_back(gmon.histograms[0]);
  gmon.histograms[1].low = 0x2000;
  gmon.histograms[1].high = 0x2010;
  gmon.histograms[1].bins = {0, 0, 0, 0};
  gmon.arcs = {{1, 2, 0}, {3, 4, uint64_t(UINT32_MAX) + 1}, {5, 6, 1}};
  gmon.blocks = {{0x1000, uint64_t(1) << 50}, {0x1004, 0}};
  CHECK(text_of(decode_gmon(written(gmon), "gmon.out")) ==
        "4096-4112/100: 0 65535 65536 1000000; 8192-8208/100: 0 0 0 0; 1>2*0; 3>4*4294967295; 3>4*1; 5>6*1; "
        "4096*1125899906842624; 4100*0; ");
  gmon.arcs = {{1, 2, UINT64_MAX}};
  CHECK_THROWS_AS(written(gmon), prof::Error);
}
