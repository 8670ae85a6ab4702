# A signal after each of the instructions of the hooks whose clock is the thread's own: each signal, and each stop of the
# process that sends it, is a switch that the hook has to see or to survive. Calls and times as in runtime/interrupted.sh.
. "${0%/*}/../../libprof/common.inc"
. "${0%/*}/../../libprof/interrupted.inc"

export PROFTYPE=time
at enter_time 1 54 jump
at leave_time 1 39 jump
at enter_time 1 54 leave
at leave_time 1 39 leave
at enter_time_carefully 1 56 swap
at leave_time 1 39 swap
