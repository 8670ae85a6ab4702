// Functions of other libraries, found without asking one that the program may have replaced. See next_function.cc.

#ifndef LIBPROF_NEXT_FUNCTION_H
#define LIBPROF_NEXT_FUNCTION_H

namespace libprof {

// All of these are to be called while no library is being unloaded: as the program starts.

// Whether it can be told what is loaded.
bool knows_libraries();

// Whether a function of this library is what others find by that name: none of those before it has one.
bool is_found_first(const char* name);

// The function of that name in the libraries after this one, as dlsym(RTLD_NEXT, name) finds it; null if there is none.
void* find_next_function(const char* name);

// The function of that name in any library, those after this one first; `otherwise` if there is none.
void* find_library_function(const char* name);
template <class F>
F* library_function(const char* name, F* otherwise) {
  void* found = find_library_function(name);
  return found ? reinterpret_cast<F*>(found) : otherwise;
}

}  // namespace libprof

#endif
