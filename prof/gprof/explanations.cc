#include "explanations.h"

namespace prof::gprof {

const char* const kFlatExplanation = R"(
 % time      the function's own time, as a part of all
 cumulative  own times of this function and of all above it, added up
 self        own time: without what the function called
 calls       how often others called it; empty if nobody knows
 self/call   own time by call
 total/call  time by call with what the function called
 name        rows stand in the order of own time, then of calls, then of names
)";

const char* const kGraphExplanation = R"(
 Each entry is of one function: the line that begins with a number in brackets.
 Above it stand those that called it, below it those that it called.

 Of the function itself:
 index     its number; entries stand in the order of self and children together
 % time    its time with what it called, as a part of all
 self      its own time
 children  the time of what it called
 called    how often others called it + how often it called itself

 Of a caller: which part of the function's self and children times belongs to
 its calls, and how many of all calls it made. <spontaneous>: no caller is known.

 Of a function that was called: which part of its own self and children times
 belongs to these calls, and how many of all its calls they are.

 Functions that call each other in a circle are a cycle. The cycle as a whole
 has an entry, with its calls from outside + those within, and its members below.
)";

}  // namespace prof::gprof
