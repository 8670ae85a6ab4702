# A signal after each of the instructions of the hooks: its handler's calls are recorded in their contexts, and times stay in
# balance, whether the handler returns or jumps away. (runtime/interrupted_elsewhere.sh has the runtime's other ways.)
. "${0%/*}/../../libprof/common.inc"
. "${0%/*}/../../libprof/interrupted.inc"

# With handlers that do not come back to them at once.
export PROFTYPE=elapsed
at enter_elapsed 1 49 jump
at leave_elapsed 1 34 jump
at enter_elapsed 1 49 leave
at leave_elapsed 1 34 leave
