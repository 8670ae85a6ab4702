# The hooks keep every register and flag on every path, in every mode, and need little of the program's stack.
. "${0%/*}/../../libprof/common.inc"

hooked registers
hooked stack_use
for type in $types; do
  export PROFTYPE=$type
  record registers
  grep -qx 'ok [1-9][0-9]*' stdout || fail "$type: $(head -n 3 stdout)"
  record stack_use
  [ "$(cat stdout)" -le 512 ] || fail "$type: the hooks use $(cat stdout) bytes of the program's stack"
done
