// The numbers that the GDB remote protocol has for signals (gdb's include/gdb/signals.def), which are not those of Linux: of a
// program that SIGUSR1 (10) killed it says 30, and its 10 is SIGBUS (7).

#ifndef PROF_INSTRUCTIONS_REMOTE_SIGNAL_NUMBERS_H
#define PROF_INSTRUCTIONS_REMOTE_SIGNAL_NUMBERS_H

namespace prof::remote {

// What the protocol says for a signal of Linux.
int to_protocol_signal(int signal);
// The signal of Linux; 0 if it has none.
int from_protocol_signal(int number);

}  // namespace prof::remote

#endif
