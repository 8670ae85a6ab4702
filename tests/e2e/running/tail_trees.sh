# Trees with tail calls: the function jumped to is under the one that jumped, and under that alone.
. "${0%/*}/../common.inc"

# tree PROGRAM PROFILE...: PATH CALLS of each context; before the name of a function that was jumped to is >, else /.
# What was sampled outside of functions ("[libraries]") has no calls; whether there are such samples is chance.
tree() {
  prof --json "$@" >tree.json 2>prof.log || fail "prof: $(cat prof.log)"
  jq -r '. as $p | reduce .tree[] as $n ([]; . + [(if $n.parent < 0 then "" else .[$n.parent] + (if $n.tail then ">" else "/" end) end) +
    $p.functions[$n.function].name]) | . as $paths | range(length) |
    select($p.tree[.].calls != 0) | "\($paths[.]) \($p.tree[.].calls)"' tree.json | sort
}

# A loop of tail calls is as deep as there are functions in it. What a function without hooks calls (leaf) is its caller's.
cat >expected <<'END'
main 1
main/after 45
main/calls_and_jumps 3
main/calls_and_jumps>leaf 6
main/catches 3
main/catches/after 3
main/catches/jumps_to_thrower 3
main/catches/jumps_to_thrower>thrower 3
main/comes_back 3
main/comes_back/after 3
main/comes_back/jumps_to_far_jump 3
main/comes_back/jumps_to_far_jump>far_jump 3
main/conditional 3
main/conditional>leaf 1
main/direct 3
main/direct>leaf 3
main/indirect 3
main/indirect>leaf 3
main/jumps_and_raises 3
main/jumps_and_raises>raises 3
main/jumps_and_raises>raises/handler 3
main/jumps_and_raises>raises/handler>handled 3
main/jumps_and_raises>raises/handler>handled>leaf 3
main/jumps_and_raises>raises>after 3
main/jumps_through_pointer 6
main/jumps_to_burn 1
main/jumps_to_burn>burn 1
main/jumps_to_unhooked 3
main/leaf 3
main/ping 4
main/ping>pong 501500
main/ping>pong>ping 501500
main/resumes 3
main/resumes/after 3
main/resumes/runs_on_fiber 3
main/resumes/runs_on_fiber/jumps_and_yields 3
main/resumes/runs_on_fiber/jumps_and_yields>yields 3
main/resumes/runs_on_fiber/jumps_and_yields>yields>after 3
main/resumes/runs_on_fiber>leaf 3
main/state0 3
main/state0/leaf 3
main/state0>state1 2001
main/state0>state1>state0 999
main/state0>state1>state0/leaf 999
main/twice 3
main/twice>direct 3
main/twice>direct>leaf 3
main/with_stack 3
main/with_stack>many 3
END
functions=$(sed -n 's/^KEPT [a-z]* \([a-z_0-9]*\)(.*/\1/p' "$programs/tail_trees.cc" | grep -v ^unhooked | sort -u)
for compiler in gcc clang; do
  for link in pie static; do
    program=$compiler-$link
    # shellcheck disable=SC2046 # lists of words
    CC=$compiler compile $program "$programs/tail_trees.cc" -O2 $(link_flags $link)
    # shellcheck disable=SC2046,SC2086
    rewrite $program $(printf -- '-F %s ' main $functions)
    for type in $types; do
      PROFTYPE=$type profiled $program
      # clang does not make a jump of a call with its arguments on the stack.
      tree $program.prof $program.profiles/prof.* | sed 's/with_stack.many/with_stack>many/' >tree
      diff expected tree >differences || fail "$program, $type: (< expected, > recorded) $(grep '^[<>]' differences | head -n 6 | paste -sd ';')"
      # A static program has no samples.
      [ $type = count ] || [ $type$link = samplestatic ] || jq -e '(.functions | map({(.name): .}) | add) as $f |
        $f.jumps_to_burn.total_cycles >= $f.burn.self_cycles and $f.burn.self_cycles > $f.main.self_cycles' tree.json >/dev/null ||
        fail "$program, $type: times: $(jq -c '.functions[] | [.name, .self_cycles, .total_cycles]' tree.json | grep -E 'main|burn' | paste -sd ' ')"
    done
  done
done
prof -d gcc-pie.prof gcc-pie.profiles/prof.* >stdout 2>stderr
grep -q '^.	pong (tail call):' stdout || fail "the tree does not tell: $(head -n 20 stdout)"

# The arcs say the same.
prof -g gmon.out gcc-pie.prof gcc-pie.profiles/prof.* 2>stderr || fail "prof -g: $(cat stderr)"
gprof -b -q gcc-pie gmon.out >graph 2>stderr || fail "gprof: $(cat stderr)"
# callers NAME: who calls it, and how often.
callers() {
  awk -v name="$1" '{ gsub(/ <cycle [0-9]+>/, "") } /^---/ { n = 0; next } /^\[/ { if ($0 ~ " " name " \\[") for (i = 0; i < n; ++i) print before[i]; next }
    NF > 1 { split($(NF - 2), calls, "/"); before[n++] = $(NF - 1) " " calls[1] }' graph | sort | paste -sd ' '
}
[ "$(callers pong)" = "ping 501500" ] || fail "callers of pong: $(callers pong)"
[ "$(callers burn)" = "jumps_to_burn 1" ] || fail "callers of burn: $(callers burn)"
[ "$(callers direct)" = "main 3 twice 3" ] || fail "callers of direct: $(callers direct)"

# Between libraries. The first jump through a stub that is not bound yet is the caller's.
cat >library.c <<'C'
long own(long n) {
  for (long i = n & 3; i > 0; --i) asm volatile("" : "+r"(n)); // not too small for hooks
  return n + 1;
}
long called_back(long n);
long there(long n) { return called_back(n + 1); }
C
cat >program.c <<'C'
#include <stdio.h>
long there(long n), own(long n);
long called_back(long n) { return own(n) * 2; }
static long (*volatile pointer)(long) = there;
__attribute__((noinline)) static long here(long n) { return there(n * 3); }
__attribute__((noinline)) static long by_pointer(long n) { return pointer(n * 5); }
int main(void) {
  long sum = 0;
  for (long i = 0; i < 4; ++i) sum += here(i) + by_pointer(i) + own(i);
  printf("%ld\n", sum);
  return 0;
}
C
cat >expected <<'END'
main 1
main/by_pointer 4
main/by_pointer>there 4
main/by_pointer>there>called_back 4
main/by_pointer>there>called_back/own 4
main/here 4
main/here>there 4
main/here>there>called_back 4
main/here>there>called_back/own 4
main/own 4
END
compile libthere.so library.c -O2 -shared -fPIC -Wl,-z,lazy
compile program program.c -O2 -L. -lthere "-Wl,-rpath,$PWD" -Wl,-z,lazy
rewrite program --no-imports
rewrite libthere.so --no-imports
mkdir copies
mv libthere.so.prof copies/libthere.so
export LD_LIBRARY_PATH=$PWD/copies
for type in $types; do
  PROFTYPE=$type LD_BIND_NOW=1 profiled program
  tree program.prof program.profiles/prof.* >tree
  diff expected tree >differences || fail "library, $type: (< expected, > recorded) $(grep '^[<>]' differences | head -n 6 | paste -sd ';')"
  PROFTYPE=$type profiled program
  tree program.prof program.profiles/prof.* >tree
  grep -qx 'main/by_pointer>there>called_back/own 4' tree || fail "library, bound late, $type: $(paste -sd ';' tree)"
  flatten program
  [ "$(awk '$1 > 0 { print $2, $1 }' program.calls | sort | paste -sd ' ')" = "by_pointer 4 called_back 8 here 4 main 1 own 12 there 8" ] || fail "library, bound late, $type: $(cat program.calls)"
done

# A jump whose end has to be found out costs more than a call, and that is not the time of the function jumped to.
cat >pointer.c <<'END'
__attribute__((noipa)) long called(long x) { return x * 3; }
__attribute__((noipa)) long jumped_to(long x) { return x * 5; }
long (*volatile pointer)(long) = jumped_to;
__attribute__((noipa)) long jumps(long x) { return pointer(x + 1); }
int main() {
  long x = 0;
  for (int i = 0; i < 1000; ++i) x += called(i) + jumps(i);
  return x == 0;
}
END
compile pointer pointer.c -O2
rewrite pointer
for type in time elapsed; do
  PROFTYPE=$type profiled pointer
  prof --json pointer pointer.profiles/prof.* >pointer.json || fail "prof failed"
  # Cycles that are left out of the self time of the function.
  probe() { jq ".functions[] | select(.name == \"$1\" and .calls == 1000) | .self_probe_cycles" pointer.json; }
  [ "$(probe called)" -gt 0 ] || fail "$type: no cost"
  [ "$(probe jumped_to)" -gt "$(probe called)" ] ||
    fail "$type: of jumped_to $(probe jumped_to) cycles are the hooks', of called $(probe called)"
done
