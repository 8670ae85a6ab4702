// An analysis made by hand, for tests of views.

#ifndef TESTS_UNIT_PROF_MADE_ANALYSIS_H
#define TESTS_UNIT_PROF_MADE_ANALYSIS_H

#include <string>

#include "prof/model/analysis/analysis.h"
#include "tests/unit/prof_fixture.h"

namespace prof_test {

// Functions by name, nodes as (parent, function, calls, self), at a gigahertz.
class Sample {
 public:
  Sample() : analysis(prof::FunctionTable(program(), false), "/bin/sample") {
    analysis.tsc_hz = 1e9;
    analysis.tree.nodes.resize(1);
  }
  uint32_t add(uint32_t parent, const std::string& function, uint64_t calls, uint64_t self) {
    return add_to(parent, 0, address_of(function), calls, self);
  }
  uint32_t add_to(uint32_t parent, uint32_t object, uint64_t address, uint64_t calls, uint64_t self) {
    auto& nodes = analysis.tree.nodes;
    prof::CallNode node;
    node.parent = parent;
    node.function = analysis.functions.at(object, address);
    node.calls = calls;
    node.self = self;
    const uint32_t index = uint32_t(nodes.size());
    uint32_t* link = &nodes[parent].first_child;
    while (*link) link = &nodes[*link].next_sibling;
    *link = index;
    nodes.push_back(node);
    return index;
  }
  const prof::Analysis& finish() {
    auto& nodes = analysis.tree.nodes;
    for (auto& n : nodes) n.total = n.self;
    for (size_t i = nodes.size(); i-- > 1;) nodes[nodes[i].parent].total += nodes[i].total;
    analysis.sums = prof::sum_functions(analysis.tree, analysis.functions.functions().size());
    return analysis;
  }
  // Function `name`, at an address made from its first letter.
  static uint64_t address_of(const std::string& name) { return 0x1000 + 0x10 * uint64_t(name[0] - 'a'); }

  prof::Analysis analysis;

 private:
  static prof::Object program() {
    TemporaryDirectory dir;
    ElfWriter e;
    for (const char* name : {"alpha", "beta", "_ZN3fooC2Ei", "main", "step", "tiny"}) {
      e.add_symbol(name, name[0] == '_' ? address_of("foo") : address_of(name), 16);
    }
    e.add_symbol("_start", 0x900, 16);
    e.write(dir / "sample");
    prof::Object object("sample", prof::Object::Kind::program);
    object.add_symbols(prof::ElfFile(dir / "sample"));
    object.finish();
    return object;
  }
};

}  // namespace prof_test

#endif
