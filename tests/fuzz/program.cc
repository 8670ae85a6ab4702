// A rewritten program as the reader sees it: notes, map of copies, symbols; and names printed.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "fuzz.h"
#include "printed.h"
#include "prof/commands/options/message.h"
#include "prof/commands/showing/suggest.h"
#include "prof/read/elf_file.h"
#include "prof/read/skeleton.h"
#include "prof/views/run/views.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int file = memfd_create("program", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != ssize_t(size)) std::abort();
  const fuzz::Messages messages;
  const fuzz::Printed printed;
  try {
    prof::ElfFile program(path);
    prof::Object object("program", prof::Object::Kind::program);
    std::vector<uint64_t> addresses = {0, 0x1000, UINT64_MAX};
    for (const auto& entry : program.map()) addresses.push_back(entry.copy);
    for (const auto& symbol : program.symbols()) addresses.push_back(symbol.address + symbol.size);
    object.set_rewritten(std::move(program));
    // What profiles keep of the file is a file, too.
    prof::ElfFile skeleton("skeleton", prof::skeleton_of(object.files()[0]));
    if (skeleton.symbols().size() > object.files()[0].symbols().size()) std::abort();
    std::vector<std::string> remarks;
    object.add_debug_file({}, remarks);
    object.finish();
    // Not demangled: that is another's work, and takes its time.
    prof::Analysis analysis(prof::FunctionTable(std::move(object), true), path);
    for (uint64_t a : addresses) analysis.functions.at(0, analysis.functions.program().entry_of(a));
    analysis.sums.resize(analysis.functions.functions().size());
    analysis.tree.nodes.resize(1 + analysis.sums.size());
    for (uint32_t f = 0; f < analysis.sums.size(); ++f) {
      analysis.sums[f].calls = analysis.tree.nodes[f + 1].calls = 2;
      analysis.tree.nodes[f + 1].function = f;
      analysis.tree.nodes[f].next_sibling = f + 1;
    }
    std::swap(analysis.tree.nodes[0].next_sibling, analysis.tree.nodes[0].first_child);
    prof::Output out(printed.stream, "printed");
    prof::print_modules(analysis, {}, out);
    prof::print_flat(analysis, {}, out);
    prof::print_tree(analysis, {}, out);
    prof::print_json(analysis, {}, out);
    prof::print_suggestion(analysis, out);
    out.finish();
  } catch (const prof::Error& e) {
    prof::say(e.what());
  }
  return 0;
}
