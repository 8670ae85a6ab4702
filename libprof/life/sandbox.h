// Programs that give up rights: to make system calls, to their files by a change of their root, their user, or what
// they see of the file system. See sandbox.cc.

#ifndef LIBPROF_SANDBOX_H
#define LIBPROF_SANDBOX_H

namespace libprof {

// Finds the C library's functions that such programs call. In a dynamic program, before they are called from where the
// dynamic linker cannot be asked, as in a signal handler.
void find_watched_functions();

}  // namespace libprof

#endif
