#include "graph_of.h"

#include "prof/gprof/graph/assemble.h"
#include "prof/gprof/graph/call_graph.h"
#include "prof/gprof/symbols/symbols.h"
#include "prof/model/gmon/gmon_of.h"

namespace prof::gprof {

namespace {

CallGraph graph_of(std::vector<Function> functions, const Gmon& gmon, const Object& object) {
  Selection selection;
  leave_out_runtime(functions, selection);
  CallGraph graph = call_graph_of(std::move(functions), gmon, selection);
  assemble(graph, selection);
  // The index names the files of static functions.
  for (const ElfFile& file : object.files())
    add_sources(graph.functions, file, [](const Function& function) {
      return function.is_static && function.file.empty() && (function.calls != 0 || function.ticks != 0);
    });
  return graph;
}

}  // namespace

CallGraph graph_as_gprof(const Analysis& analysis, uint32_t object, const DebugSearch& search) {
  std::vector<std::string> ignored;  // prof -g ignores them, too
  const Gmon gmon = gmon_of(analysis, object, nullptr, call_sites(analysis, search, ignored));
  return graph_of(symbols_of(analysis, object), gmon, analysis.functions.objects()[object]);
}

CallGraph graph_as_gprof(const Object& program, const Gmon& gmon) {
  return graph_of(symbols_of(program), gmon, program);
}

}  // namespace prof::gprof
