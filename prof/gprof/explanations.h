// What the columns of gprof's tables are, for those who see them for the first time.

#ifndef PROF_GPROF_EXPLANATIONS_H
#define PROF_GPROF_EXPLANATIONS_H

namespace prof::gprof {

extern const char* const kFlatExplanation;
extern const char* const kGraphExplanation;

}  // namespace prof::gprof

#endif
