# A profile is read while its program makes ever new contexts: whatever instant it is, it can be read, and counts only grow.
. "${0%/*}/../common.inc"

cat >grow.c <<'C'
#define KEPT __attribute__((noipa))
typedef int function(unsigned, int);
static function* const next[4];
#define GROW(name) \
  KEPT static int name(unsigned way, int depth) { return depth == 0 ? 0 : next[way % 4](way / 4, depth - 1) + 1; }
GROW(a) GROW(b) GROW(c) GROW(d)
static function* const next[4] = {a, b, c, d};
int main(int argc, char** argv) {
  for (unsigned way = 0; argc; way++) {
    next[way % 4](way * 2654435761u, 8);
    for (volatile int i = 0; i < 3000; i++) {
    }
  }
}
C
compile grow grow.c -O1
rewrite grow
mkdir profiles
for type in $types; do
  rm -f profiles/*
  PROFTYPE=$type PROFDIR=profiles ./grow.prof &
  pid=$!
  trap 'kill -KILL $pid 2>/dev/null' EXIT
  until prof grow.prof profiles/prof.* >/dev/null 2>&1; do sleep 0.01; done
  last=0 growths=0
  # Many times, and until it was seen to grow.
  for ((i = 0; i < $(few_or_all 4 25) || growths < 3; i++)); do
    prof grow.prof profiles/prof.* >view 2>prof.log || fail "$type: read $i: $(cat prof.log)"
    grep -vq 'the program is still running\| samples, one every \|: the hooks were more than half of the run' prof.log && fail "$type: read $i: prof says $(cat prof.log)"
    calls=$(column Calls '' view | awk '{ sum += $1 } END { print sum + 0 }')
    [ "$calls" -ge "$last" ] || fail "$type: $calls calls after $last"
    [ "$calls" = "$last" ] || growths=$((growths + 1))
    last=$calls
  done
  # It goes on making contexts, however slowly.
  for (( ; ; )); do
    prof --json grow.prof profiles/prof.* >json || fail "$type: no JSON"
    jq -e '.complete == false' json >/dev/null || fail "$type: it is complete"
    jq -e '(.tree | length) <= 1000' json >/dev/null || break
  done
  kill -KILL $pid
  { wait $pid; } 2>/dev/null
  trap - EXIT
done
