// Tables of options: what stands on a command line, what is wrong with it, and what help says.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "linker-rewrite/options/command_line.h"

namespace {

using prof_options::Given;

struct Values {
  bool all = false, help = false;
  std::vector<std::string> names;
  std::string file;
  size_t rows = 0;
  uint64_t size = 0;
};

constexpr unsigned kFirst = 1, kSecond = 2;  // commands

const prof_options::Table<Values> kTable = {
    {{'a', "all", "", "everything"}, prof_options::set<&Values::all>},
    {{0, "libs", "[GLOB]", "libraries (repeatable)"}, prof_options::add<&Values::names>},
    {{'n', "rows", "N", "the first N rows"},
     [](Values& v, const Given& given) {
       v.rows = prof_options::number_of<size_t>(given, 1, 99, "a number from 1 to 99");
     }},
    {{'f', "", "FILE", ""}, prof_options::keep<&Values::file>},
    {{0, "size", "SIZE", "of the cache, in which there is room for so much that this line is longer than a terminal"},
     [](Values& v, const Given& given) { v.size = prof_options::size_of(given); }},
    {{0, "second", "", "of one command only"}, prof_options::set<&Values::all>, ~0u, kSecond},
    prof_options::help_option<Values>(),
};

struct Line {
  Values values;
  std::vector<std::string> rest;
  std::string problem;
};

Line parsed(std::vector<std::string> words, bool stops = false, unsigned command = kFirst) {
  std::vector<char*> argv = {const_cast<char*>("program")};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  Line line;
  try {
    const auto all =
        prof_options::parse(kTable, {"program", stops, command}, int(argv.size() - 1), argv.data(), line.values);
    line.rest = all.rest;
    prof_options::check(all, {{{"-a"}, {"-n", "--libs="}, "why"}}, {{"--size", "-f", "it is of FILE"}});
  } catch (const prof_options::UsageError& e) {
    line.problem = e.what();
  }
  return line;
}

using Words = std::vector<std::string>;

TEST_CASE("options are taken by letter, word and abbreviation, in any order") {
  const Line line = parsed({"x", "-fname", "--ro", "5", "y", "--libs=a*", "--libs", "z"});
  CHECK(line.problem == "");
  CHECK(line.values.file == "name");
  CHECK(line.values.rows == 5);
  CHECK(line.values.names == Words{"a*", ""});
  CHECK(line.rest == Words{"x", "y", "z"});
  CHECK(parsed({"--", "-a"}).rest == Words{"-a"});
}

TEST_CASE("what is after the program belongs to the program") {
  const Line line = parsed({"-a", "x", "-f"}, true);
  CHECK(line.values.all);
  CHECK(line.rest == Words{"x", "-f"});
  CHECK(parsed({"-a", "--", "-f"}, true).rest == Words{"-f"});
}

TEST_CASE("what stands after --help is not looked at") {
  CHECK(parsed({"-h", "--nothing"}).values.help);
  CHECK(parsed({"-h", "--nothing"}).problem == "");
}

TEST_CASE("a wrong command line is told: the problem, then what to do") {
  CHECK(parsed({"--nothing"}).problem == "--nothing: no such option; see program --help");
  CHECK(parsed({"--sise=5M"}).problem == "--sise=5M: no such option; did you mean --size?");
  CHECK(parsed({"-ax"}).problem == "-x: no such option; see program --help");
  CHECK(parsed({"--all=1"}).problem == "--all: takes no argument; see program --help");
  CHECK(parsed({"-an"}).problem == "-n: an argument is missing; write -n N");
  CHECK(parsed({"--row"}).problem == "--rows: an argument is missing; write --rows N");
  CHECK(parsed({"-n", "100"}).problem == "-n: invalid number '100'; write a number from 1 to 99");
  CHECK(parsed({"--ro=5x"}).problem == "--rows: invalid number '5x'; write a number from 1 to 99");
  CHECK(parsed({"--second"}).problem == "--second: no such option; see program --help");
  CHECK(parsed({"--second"}, false, kSecond).problem == "");
}

TEST_CASE("options exclude and need others") {
  CHECK(parsed({"--rows", "1", "-a"}).problem == "-a and --rows exclude each other; why");
  CHECK(parsed({"--libs=x", "--all"}).problem == "--all and --libs exclude each other; why");
  CHECK(parsed({"--libs", "--all"}).problem == "");
  CHECK(parsed({"--size", "1"}).problem == "--size needs -f; it is of FILE");
  CHECK(parsed({"--size", "1", "-f", "x"}).problem == "");
}

TEST_CASE("sizes have units of 1024") {
  for (const auto& [text, size] :
       {std::pair<const char*, uint64_t>{"0", 0}, {"3", 3}, {"2K", 2048}, {"1M", 1 << 20}, {"4G", 4ull << 30}})
    CHECK(parsed({"-fx", "--size", text}).values.size == size);
  for (const char* text : {"", "x", "3q", "1T", "1KB", "-1", "20000000000G", "K"})
    CHECK(parsed({"--size", text}).problem ==
          "--size: invalid size '" + std::string(text) + "'; write 500K, 20M or 2G");
}

TEST_CASE("help has a line for each option, or more") {
  CHECK(prof_options::help_of(kTable, {16}) ==
        "  -a, --all     everything\n"
        "  --libs[=GLOB]\n"
        "                libraries (repeatable)\n"
        "  -n, --rows N  the first N rows\n"
        "  --size SIZE   of the cache, in which there is room for so much that this line\n"
        "                is longer than a terminal\n"
        "  --second      of one command only\n"
        "  -h, --help    print this\n");
  CHECK(prof_options::help_of(kTable, {24, true}).find("\n      --libs[=GLOB]     libraries") != std::string::npos);
}

}  // namespace
