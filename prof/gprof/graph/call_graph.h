// gprof's model of a run: functions, the arcs between them, and cycles of functions that call each other; and how it is
// made of a gmon.out.
//
// In the order in which they are used:
//
//     symbols.h       the functions of a program, as gprof takes them from its symbols
//     call_graph_of   struct Gmon (read/gmon_file.h) laid over them: ticks and calls
//     assemble.h      depth-first numbering, which finds cycles and puts callers after what they call; then
//                     times of functions given on to their callers, by the number of calls: gprof's guess;
//                     at last what stands before what, and the number in brackets
//     measured.h      or the same graph of a profile with a tree, in which these times are known
//     report.h        gprof's layouts: flat profile, call graph, index; where the guess and what was measured differ
//                     most
//
// A graph is whole after call_graph_of and assemble.
//
// Times are in ticks, of which `rate` are a second (or whatever the dimension of the histogram is).

#ifndef PROF_GPROF_GRAPH_CALL_GRAPH_H
#define PROF_GPROF_GRAPH_CALL_GRAPH_H

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "prof/read/gmon_file.h"

namespace prof::gprof {

constexpr uint32_t kNone = UINT32_MAX;  // in the place of an index

// What gprof calls a symbol; or a cycle as a whole, which is one more entry of the graph.
struct Function {
  uint64_t address = 0;
  uint64_t end = 0;     // address of the last byte. The last function of a program may end before it begins (symbols.h)
  std::string name;     // as in the symbol table; empty: of a cycle
  std::string printed;  // what is printed in its place; empty: the demangled name
  std::string file;     // in the source; empty if it is not known
  unsigned line = 0;    // there
  bool is_static = false;
  bool is_outside = false;  // it stands for callers that are not known, in a graph that is made of a tree (measured.h)
  bool is_mapped = false;   // it stands for all functions of an object file: ordering.h
  bool is_function = true;  // false: a label, or a line of the source. Calls to it are those of the function before it
  bool has_calls = true;    // false: they were not counted (measured.h)

  double ticks = 0;         // of its own
  double child_ticks = 0;   // of what it called, its part of it
  uint64_t calls = 0;       // by others; before link_cycles (assemble.h): by itself, too. Of a cycle: from outside
  uint64_t self_calls = 0;  // by itself. Of a cycle: of members by other members

  std::vector<uint32_t> callers, callees;  // arcs to it and from it, the oldest first. (gprof has the newest first.)

  uint32_t order = 0;            // topological number: those called have lower ones, members of a cycle the same
  uint32_t cycle = 0;            // number of the cycle that it is in, or is; 0: none
  uint32_t head = kNone;         // entry of that cycle as a whole; without a cycle the function itself
  uint32_t next_member = kNone;  // of the cycle; of a cycle its first member
  double fraction = 0;           // the part of its time that is shown: less than 1 if callers were left out
  double self_shown = 0;         // ticks, fraction * ticks
  double children_shown = 0;     // that part of child_ticks
  bool is_printed = true;        // it has an entry in the graph
  uint32_t index = 0;            // number in brackets, from 1; 0: it is not known yet
};

// Calls of one function by another.
struct Arc {
  uint32_t caller = 0, callee = 0;  // indices into CallGraph::functions
  uint64_t calls = 0;               // 0: they could have been made, and were not (-c)
  bool is_estimate = false;         // shared by samples, at least some of them
  double ticks = 0;                 // the part of the callee's own time, or of its cycle's, that belongs to these calls
  double child_ticks = 0;           // the part of what the callee called
};

struct CallGraph {
  // By address, and after them one entry for each cycle: cycle n is functions[function_count + n - 1].
  std::vector<Function> functions;
  uint32_t function_count = 0;  // without cycles
  std::vector<Arc> arcs;        // in the order in which they were first seen, which decides how cycles are numbered

  double rate = 1;                    // ticks per second
  std::string dimension = "seconds";  // of the histogram
  char abbreviation = 's';
  double scale = 0;          // of the first histogram: units of two bytes of code for each bin
  double total_ticks = 0;    // of the histogram, of functions or not: what the flat profile's percentages are of
  double shown_ticks = 0;    // sum of self_shown of the functions: what those of the call graph are of
  bool is_measured = false;  // times of arcs are known, not computed: measured.h
  double sample = 0;         // the same, and they are those of samples: ticks of one; else 0
  bool has_histogram = false, has_arcs = false;

  std::vector<uint32_t> entries;  // all of `functions`, in the order of the call graph

  std::unordered_map<uint64_t, uint32_t> arc_of;  // by caller << 32 | callee, for add_arc

  uint32_t cycle_count() const { return uint32_t(functions.size()) - function_count; }
  bool is_cycle(uint32_t function) const { return function >= function_count; }
  // Whether the arc goes from a function to itself, or to another one of its cycle.
  bool is_within_cycle(const Arc& arc) const {
    return arc.caller == arc.callee ||
           (functions[arc.caller].cycle != 0 && functions[arc.caller].cycle == functions[arc.callee].cycle);
  }
};

// What the user chose to see. gprof has two lists of each kind: if one of functions to take has anything in it, these
// are taken; otherwise all but those in the other list.
struct Choice {
  std::vector<bool> taken, left_out;  // by function; shorter: the rest is in neither list
  bool takes_some = false;            // anything is in the first list

  bool is_taken(uint32_t f) const { return f < taken.size() && taken[f]; }
  bool is_left_out(uint32_t f) const { return f < left_out.size() && left_out[f]; }
  bool holds(uint32_t f) const { return is_taken(f) || (!takes_some && !is_left_out(f)); }

  void take(uint32_t f) { takes_some = set(taken, f); }
  void leave_out(uint32_t f) { set(left_out, f); }

 private:
  static bool set(std::vector<bool>& list, uint32_t f) {
    if (list.size() <= f) list.resize(f + 1);
    list[f] = true;
    return true;
  }
};

struct Selection {
  Choice flat;   // -p and -P: has its time counted, and a row in the flat profile
  Choice graph;  // -q and -Q, -f and -e: has an entry in the call graph, as do those it calls
  Choice time;   // -n and -N, -F and -E: gives its time on to callers
  std::function<bool(uint32_t caller, uint32_t callee)> keeps_arc;  // empty: all. -k
};

// Where the steps tell what they do, for prof gprof -d. `levels` are gprof's.
struct Trace {
  enum Level : uint32_t {
    numbering = 2,
    cycles = 4,
    tally = 16,
    arc_order = 32,
    samples = 64,
    symbols = 128,
    static_calls = 256,
    look_ups = 512,
    propagation = 1024,
    blocks = 2048,
    symspecs = 4096,
    annotation = 8192
  };
  uint32_t levels = 0;
  std::function<void(const std::string& line)> print;  // a line, without its end

  // Whether one of these levels is asked for.
  bool has(uint32_t any) const { return (levels & any) != 0 && print; }
};

// The index of the function that an address is in, or kNone. Of `functions`, which are in order of address, the first
// `count` are looked at.
uint32_t function_at(const std::vector<Function>& functions, size_t count, uint64_t address);

// Adds calls, by an arc there is or by a new one. (Calls of the callee are not changed.)
void add_arc(CallGraph& graph, uint32_t caller, uint32_t callee, uint64_t calls, bool is_estimate = false);

// A call graph from what a gmon.out holds.
//
// Ticks of a bin go to the functions that it overlaps, each the part of the bin that it covers, in units of two bytes
// as gprof counts them. Its arithmetic is kept to the last digit: the ends of bins are doubles cut down to whole units.
// So is its fault with the last function of a program, which gets no ticks at all: what gprof compares with, the
// beginning of the next one, lies outside its table.

// `functions`: as of symbols.h. The graph has ticks, calls and arcs; nothing is numbered yet.
CallGraph call_graph_of(std::vector<Function> functions, const Gmon& gmon, const Selection& selection = {},
                        const Trace& trace = {});

// gprof leaves its own runtime out of all that it shows, mcount and the like, as if the user had asked for it.
void leave_out_runtime(const std::vector<Function>& functions, Selection& selection);

}  // namespace prof::gprof

#endif
