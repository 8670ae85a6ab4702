// What is in a function is told by its group. Of the bytes between functions, the linker's stubs are known by their
// sections. Padding is what compilers and linkers leave between what they place: no-operations after a function, and
// zeros up to the next function or section. (find_padding finds less, and what is safe to overwrite; here nothing
// depends on it.) Whatever else lies there is unknown: code that no table describes, or data.

#include "coverage.h"

#include <algorithm>

#include "unknown_code.h"

namespace profld {

namespace {

// A range in a group without functions was not left out by anybody: nothing tells which function it is of.
void add_range(const Program& program, const CodeRange& r, Coverage& counted) {
  const Group& group = program.groups[r.group];
  const bool has_function = !program.ranges[group.ranges.front()].fragment;
  uint64_t& bytes = group.moves()                     ? counted.hooked
                    : has_function && !group.selected ? counted.not_chosen
                                                      : counted.stays;
  bytes += r.range.size();
}

// Bytes of zeros at the end of the range.
uint64_t zeros_at_end(const Image& image, OldRange range) {
  const ByteView bytes = *image.bytes(range.start, range.size());
  return uint64_t(std::find_if(bytes.rbegin(), bytes.rend(), [](uint8_t byte) { return byte != 0; }) - bytes.rbegin());
}

// A range between functions, without stubs in it.
void add_gap(const Image& image, OldRange gap, Coverage& counted) {
  bool several_bytes = false;
  const OldAddr start = end_of_no_operations(image, gap.start, gap.end, &several_bytes);
  const uint64_t zeros = zeros_at_end(image, {start, gap.end});
  counted.padding += (start - gap.start) + zeros;
  counted.unknown += (gap.end - start) - zeros;
}

}  // namespace

Coverage coverage_of(const Program& program) {
  Coverage counted;
  for (const CodeRange& r : program.ranges) add_range(program, r, counted);
  std::vector<OldRange> stubs = linkage_stubs(*program.image);
  std::ranges::sort(stubs, {}, &OldRange::start);
  for (OldRange gap : code_outside_functions(program)) {
    for (OldRange stub : stubs) {
      const OldRange inside{std::max(stub.start, gap.start), std::min(stub.end, gap.end)};
      if (inside.start >= inside.end) continue;
      add_gap(*program.image, {gap.start, inside.start}, counted);
      counted.stubs += inside.size();
      gap.start = inside.end;
    }
    add_gap(*program.image, gap, counted);
  }
  return counted;
}

}  // namespace profld
