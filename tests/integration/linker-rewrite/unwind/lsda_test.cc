// Tables of exception handlers that compilers make, read and written for copies of the functions.

#include "linker-rewrite/unwind/lsda.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/integration/code_fixture.h"
#include "tests/unit/unwind_fixture.h"

using namespace code_fixture;
using namespace unwind_fixture;

namespace {

// Compares the table of handlers of an FDE with that of its copy.
void check_lsda(const Image& image, const EhFrame& frames, const Fde& fde, const Rewritten& r) {
  const RangeCopy& copy = *r.copies.find(fde.range.start);
  const Fde* new_fde = fde_at(r.frames, copy.start);
  REQUIRE(new_fde);
  auto old_table = read_lsda(image, frames, fde), new_table = read_lsda(r.image, r.frames, *new_fde);
  REQUIRE(old_table);
  REQUIRE(new_table);
  REQUIRE(old_table->call_sites.size() == new_table->call_sites.size());
  for (size_t i = 0; i < old_table->call_sites.size(); ++i) {
    const CallSite &a = old_table->call_sites[i], &b = new_table->call_sites[i];
    CHECK(b.range.start.value == copy.address(a.range.start).value);
    CHECK(b.range.end.value ==
          (a.range.end == fde.range.end ? copy.start + copy.size : copy.address(a.range.end)).value);
    CHECK(a.action == b.action);
    const RangeCopy* pad = r.copies.find(a.landing_pad);
    CHECK(b.landing_pad.value == (pad ? pad->address(a.landing_pad) : unmoved(a.landing_pad)).value);
  }
  CHECK(std::ranges::equal(old_table->actions, new_table->actions));
  CHECK(old_table->has_types == new_table->has_types);
  CHECK(old_table->types == new_table->types);
  if (!old_table->types.empty()) CHECK(old_table->types_indirect == new_table->types_indirect);
  CHECK(std::ranges::equal(old_table->exception_specs, new_table->exception_specs));
}

}  // namespace

TEST_CASE("lsda: tables of exception handlers") {
  const std::string text = R"(
    #include <cstdio>
    #include <stdexcept>
    #include <string>
    #include <vector>
    #if __cplusplus < 201703L
    #define THROWS(...) throw(__VA_ARGS__)
    #else
    #define THROWS(...)
    #endif
    struct Guard { std::string s; ~Guard() { std::puts(s.c_str()); } };
    void fail(int i) {
      if (i == 1) throw i;
      if (i == 2) throw std::runtime_error("two");
      if (i == 3) throw Guard{"three"};
    }
    void cleanup_only(int i) { Guard g{"cleanup"}, h{"more"}; fail(i); std::vector<Guard> v(3); fail(i + 1); }
    void specified(int i) THROWS(int, std::runtime_error) { fail(i); }
    void nothing(int i) THROWS() { fail(i); }
    void no_exception(int i) noexcept { Guard g{"noexcept"}; fail(i); }
    int nested(int i) {
      try {
        try { cleanup_only(i); } catch (int& e) { Guard g{"nested"}; specified(e); throw; }
        catch (const std::out_of_range&) { return 1; }
      } catch (const std::runtime_error& e) { std::puts(e.what()); return 2; }
      catch (const Guard&) { try { fail(1); } catch (...) { std::puts("all"); } return 3; }
      catch (...) { std::puts("rest"); throw; }
      return 0;
    }
    int main(int argc, char**) {
      try { nothing(0); no_exception(0); return nested(argc); } catch (...) { return 4; }
    })";
  ScratchDirectory directory;
  for (const char* command :
       {"g++ -std=c++14 -w -O0", "g++ -std=c++14 -w -O2 -fno-pie -no-pie", "g++ -O2 -static -fnon-call-exceptions",
        "g++ -O1 -static-pie", "clang++ -std=c++14 -w -O2", "clang++ -w -std=c++14 -O0 -fno-pic -no-pie"}) {
    CAPTURE(command);
    const std::string program = compile(directory, text, command);
    REQUIRE(program != "");
    const Image image = Image::open(program);
    const EhFrame frames = read_eh_frame(image);
    const Rewritten r = rewrite(image, frames, 4);
    size_t tables = 0, specs = 0, catch_all = 0;
    for (const Fde& f : frames.fdes) {
      if (f.lsda == OldAddr() || !r.copies.find(f.range.start)) continue;
      ++tables;
      check_lsda(image, frames, f, r);
      const auto lsda = read_lsda(image, frames, f);
      specs += !lsda->exception_specs.empty();
      catch_all += std::ranges::find(lsda->types, OldAddr()) != lsda->types.end();
    }
    CHECK(tables > 0);
    CHECK(catch_all > 0);
    if (std::string(command).find("c++14") != std::string::npos) CHECK(specs > 0);
    for (const Fde& f : frames.fdes) {
      const RangeCopy* copy = r.copies.find(f.range.start);
      const Fde* new_fde = fde_at(r.frames, copy ? copy->start : unmoved(f.range.start));
      REQUIRE(new_fde);
      CHECK((new_fde->lsda == OldAddr()) == (f.lsda == OldAddr()));
      CHECK(r.frames.cies[new_fde->cie].personality == frames.cies[f.cie].personality);
      CHECK(r.frames.cies[new_fde->cie].personality_indirect == frames.cies[f.cie].personality_indirect);
    }
  }
}
