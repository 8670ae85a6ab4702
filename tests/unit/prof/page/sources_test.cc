#include "prof/page/sources.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "tests/unit/prof_made_analysis.h"
#include "tests/unit/prof_printed.h"

using namespace prof_test;

namespace {

std::string bytes_of(const std::string& letters) {
  const std::string all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0, count = 0;
  for (const char letter : letters.substr(0, letters.find('='))) {
    bits = bits << 6 | uint32_t(all.find(letter));
    if ((count += 6) < 8) continue;
    count -= 8;
    bytes += char(bits >> count & 255);
  }
  return bytes;
}

// The document that is packed first.
nlohmann::json document_of(const std::string& letters) {
  const std::string packed = bytes_of(letters);
  std::string bytes(1 << 20, '\0');
  uLongf size = bytes.size();
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                     packed.size()) == Z_OK);
  size_t length = 0;
  for (int i = 4; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[size_t(i)]);
  return nlohmann::json::parse(bytes.substr(4, length));
}

}  // namespace

TEST_CASE("a page has the files of source with most time first, and what of them is there") {
  Sample s;
  s.add(s.add(0, "main", 1, 10), "step", 5, 1000);
  const prof::Analysis& analysis = s.finish();
  TemporaryDirectory dir;
  write_file(dir / "hot.c", "\tif (a <\e b)\nlast");
  prof::Annotation annotation;
  annotation.files.resize(2);
  annotation.files[0].path = "/gone/cold.c";
  annotation.files[0].lines[7].functions = {0};
  annotation.files[1].path = dir / "hot.c";
  annotation.files[1].lines[2].functions = {1};
  prof::Disassembly disassembly;
  prof::DisassembledInstruction instruction;
  instruction.file = dir / "." + "/hot.c";  // as another compiler may write it
  instruction.line = 1;
  instruction.text = "ret";
  disassembly.functions.push_back({1, 1, {instruction}});
  prof::SourceText text({});
  const std::string letters = printed([&](prof::Output& out) {
    prof::Packed packed(out);
    prof::pack({analysis, annotation, disassembly, text, {"one\n"}}, packed);
    packed.finish();
  });
  const nlohmann::json document = document_of(letters);
  CHECK(document["titles"] == nlohmann::json({"Calls", "Self"}));
  CHECK(document["remarks"] == nlohmann::json({"one\\x0a"}));
  REQUIRE(document["files"].size() == 2);
  const nlohmann::json &hot = document["files"][0], &cold = document["files"][1];
  CHECK(hot["path"] == dir / "hot.c");
  CHECK(hot["text"] == "        if (a <\\x1b b)\nlast\n");
  CHECK(hot["cut"] == false);
  // The line of the instruction, and that of the function.
  CHECK(hot["cells"].dump() == R"([["",""],["5","1.00us"]])");
  CHECK(document["instructions"]["text"] == nlohmann::json({"ret"}));
  CHECK(cold["path"] == "/gone/cold.c");
  CHECK(cold["text"] == nullptr);
  CHECK(cold["cells"].size() == 1);
}

TEST_CASE("a page has the instructions of the functions with most time") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 10);
  s.add(main, "step", 5, 1000);
  s.add(main, "beta", 5, 100);
  s.add(main, "alpha", 0, 0);  // never called
  std::vector<std::string> remarks;
  CHECK(prof::functions_with_instructions(s.finish(), {0, 1, 2, 3}, remarks) == std::vector<uint32_t>{1, 2, 0});
  CHECK(prof::functions_with_instructions(s.finish(), {3}, remarks).empty());
  CHECK(remarks.empty());
}

TEST_CASE("a page that has not all instructions says so") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 10);
  for (uint64_t i = 0; i < 500; ++i) s.add_to(main, 0, 0x10000 + 0x10 * i, 1, 20);
  std::vector<uint32_t> all(s.analysis.functions.functions().size());
  std::iota(all.begin(), all.end(), 0);
  REQUIRE(all.size() >= 501);
  std::vector<std::string> remarks;
  const std::vector<uint32_t> functions = prof::functions_with_instructions(s.finish(), all, remarks);
  CHECK(functions.size() == 500);
  CHECK(std::ranges::find(functions, s.analysis.tree.nodes[main].function) == functions.end());
  CHECK(remarks ==
        std::vector<std::string>{"the page has the instructions of 500 of 501 functions, those with most time; "
                                 "prof --disassemble shows others"});
}
