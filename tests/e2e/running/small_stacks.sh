# Coroutines on stacks of 4 KiB side by side: each call is recorded in its own context. That holds with imports recorded as
# well, which the program does not tell of: no function of its own is under one of them.
. "${0%/*}/../common.inc"

for optimization in -O0 -O2; do
  compile small_stacks "$programs/small_stacks.c" "$optimization"
  rewrite small_stacks
  for arguments in up down chain "up ucontext" "down ucontext" "chain ucontext"; do
    for type in ${types/ sample/}; do # no signal fits onto such a stack
      export PROFTYPE=$type
      # shellcheck disable=SC2086 # a list of words
      profiled small_stacks $arguments
      flatten small_stacks
      jq -r 'def path($t; $f; $i): if $i < 0 then "" else path($t; $f; $t[$i].parent) + "/" + $f[$t[$i].function].name end;
        .tree as $t | .functions as $f | [range(0; $t | length) as $i | select($f[$t[$i].function].imported | not) | {calls: $t[$i].calls, path: path($t; $f; $i)}] |
        group_by(.path)[] | "context \(map(.calls) | add) \(.[0].path)"' small_stacks.json |
        sed -n 's|^\(context [0-9]*\) .*/main/|\1 main/|p; s|^\(context [0-9]*\) .*/main$|\1 main|p' |
        grep -Ev '/(enter|prepare)(/|$)' | sort >recorded
      diff <(sort small_stacks.stdout) recorded >contexts.diff ||
        fail "$optimization $arguments, $type: (< expected, > recorded) $(grep -c '^[<>]' contexts.diff): $(sed -n 's/^[<>]/&/p' contexts.diff | head -n 6 | paste -sd ';')"
    done
  done
done
