# A signal after each of the instructions on the runtime's most delicate ways: its handler's calls are recorded in their
# contexts, and times stay in balance, also when the handler changes to a coroutine.
. "${0%/*}/../../libprof/common.inc"
. "${0%/*}/../../libprof/interrupted.inc"

export PROFTYPE=elapsed
at enter_elapsed_carefully 1 51 swap
at leave_elapsed 1 34 swap
# Where signals are about to be blocked, because there are no nodes left.
at run_heavyEP 12 36
PROFSIZE=1 at run_heavyEP 12 36 wide
at run_heavyEP 17 30 dig
# Where the thread is found to be on another stack.
at 9change_toEP 1 60 fibers
# Where a timed call returns, also when its frame is the last of a chunk.
export PROFTYPE=adaptive
at leave_timed 1 8 deep
