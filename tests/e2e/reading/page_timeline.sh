# When a run spent its time, in the page of prof --html (make page looks at it in a browser): all samples, of the threads and
# functions that had the processor at that moment; what is damaged is refused.
. "${0%/*}/../common.inc"

# Three phases that follow each other: the first and the last of one thread, the second of another.
cat >phases.c <<'C'
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>
#define KEPT __attribute__((noipa))
static volatile unsigned long sum;
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}
static void work(void) {
  for (double end = seconds() + 0.3; seconds() < end;)
    for (int i = 0; i < 10000; i++)
      sum += i;
}
KEPT void load(void) { work(), sum++; }
KEPT void compute(void) { work(), sum += 2; }
KEPT void store(void) { work(), sum += 3; }
static void *other(void *x) {
  prctl(PR_SET_NAME, "</script>");
  compute();
  return x;
}
int main(void) {
  load();
  pthread_t t;
  pthread_create(&t, 0, other, 0);
  pthread_join(t, 0);
  store();
  return 0;
}
C
compile phases phases.c -O1 -fno-inline -pthread
prof run --dir run ./phases >/dev/null 2>prof.log || fail "prof run: $(cat prof.log)"
samples=$(echo run/prof.*.samples)
prof --html page.html run 2>stderr || fail "prof --html: $(cat stderr)"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$tests/page python3 - page.html "$samples" >said 2>&1 <<'PY' || fail "the timeline: $(tail -n 3 said)"
import collections
import json
import sys
from contents import Profile, check, check_safe
profiles, _ = check_safe(sys.argv[1])
profile, file = Profile(profiles[0]), json.load(open(sys.argv[2]))
timeline, columns, names = profile.content["timeline"], profile.columns, profile.content["functions"]["name"]
threads = {t["thread"]: t for t in file["threads"]}
check(sum(columns["timeline.samples"]) == file["user_samples"] + (file["kernel_samples"] or 0), "not all samples")
check(timeline["slice"] * 1e9 == file["timeline"]["slice_ns"], "another slice")
check(timeline["kernel"] == (file["kernel_samples"] is not None), "it does not say whether the kernel was sampled")
check(len(timeline["threads"]) == 2 and timeline["threads"][1][0] == "</script>", f"threads {timeline['threads']}")
of_thread, when, slice = collections.Counter(), {}, 0
for step, thread, node, samples in zip(*(columns["timeline." + c] for c in ("slice", "thread", "node", "samples"))):
    slice += step
    of_thread[thread] += samples
    while node:  # all that it was called by
        when.setdefault((names[profile.functions[node]], thread), []).extend([slice] * samples)
        node = profile.parents[node]
for thread, (_, _, number) in enumerate(timeline["threads"]):
    t = threads[number]
    check(of_thread[thread] == t["user_samples"] + t["kernel_samples"], f"samples of thread {number}")
check((slice + 1) * timeline["slice"] >= 0.8, f"ends after {slice} slices of {timeline['slice']} s")
first, second, third = when[("load", 0)], when[("compute", 1)], when[("store", 0)]
check(("load", 1) not in when and ("compute", 0) not in when, "a function is in the other thread")
check(max(first) <= min(second) and max(second) <= min(third), "the phases are not one after the other")
PY

# The nodes are of the whole tree, so a part of it has none.
prof --html page.html --focus load run 2>stderr || fail "--focus: $(cat stderr)"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$tests/page python3 - <<'PY' || fail "--focus has a timeline"
from contents import Profile, check_safe
profile = Profile(check_safe("page.html")[0][0])
assert profile.content["timeline"] is None and "timeline.node" not in profile.columns
PY

# damaged FILTER TEXT: the same samples, changed by a filter of jq, are refused with a text.
cp "$samples" whole
damaged() {
  jq -c "$1" whole >"$samples" || fail "jq $1"
  run prof --html page.html run
  [ "$status" = 1 ] && grep -q "damaged: $2" stderr || fail "$1: $status $(cat stderr)"
}
damaged '.timeline.slice_ns = 0' 'slice_ns is 0'
damaged '.timeline.slice_ns = 1' 'length_ns has too many slices'
damaged '.timeline.counts[0][0] = 2048' 'a slice is no number that it can be'
damaged '.timeline.counts[0][1] = 2' 'a thread is no number that it can be'
damaged '.timeline.counts[0][2] = 1000000' 'a chain is no number that it can be'
damaged '.timeline.counts[0][3] = 2' 'in_kernel is no number that it can be'
damaged '.timeline.counts[0][4] = 1000000000' 'a count is no number that it can be'
damaged '.timeline.counts += .timeline.counts' 'the timeline'
damaged '.timeline.counts[0] = [1]' 'a count of the timeline has not five numbers'
damaged '.timeline.counts = 1' 'counts is no list'
damaged '.timeline = []' 'it has no slice_ns'
