// Programs that change their root, their user, or what they see of the file system. See rights.cc.

#ifndef LIBPROF_RIGHTS_H
#define LIBPROF_RIGHTS_H

namespace libprof {

// Finds the C library's functions that such programs call. In a dynamic program, before they are called from where the
// dynamic linker cannot be asked, as in a signal handler.
void find_watched_functions();

}  // namespace libprof

#endif
