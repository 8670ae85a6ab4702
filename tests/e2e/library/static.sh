# One program, linked with shared libraries and statically: functions of the C library, of libm and of libz are called as often,
# found by address, through any of their names.
#
# What is run at the start and at the end is not the same in both, so what is compared is how much more calls there are when the
# program does its work five times and not twice. Left out is what profld's reports say has no hooks in one of the two (string
# functions, for one, that libraries choose by the processor), and what the compiler made into a part of its caller in one of
# them: that is one function and not two.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

cat >program.c <<'C'
#include <locale.h>
#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>
#include <zlib.h>
static int compare(const void* a, const void* b) { return strcmp(a, b); }
static int number(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }
static void work(int item) {
  char text[4000] = {0}, words[20][8];
  unsigned char packed[5000];
  for (int i = 0; i < 20; ++i) snprintf(words[i], 8, "%05d", i * 7919 % 1000 + item % 2);
  qsort(words, 20, sizeof *words, compare);
  void* tree = NULL;
  for (int i = 0; i < 20; ++i) tsearch(words[i], &tree, compare);
  for (int i = 0; i < 20; ++i) tdelete(words[i], &tree, compare);
  int numbers[300];
  for (int i = 0; i < 300; ++i) numbers[i] = i * 7919 % 1000;
  qsort(numbers, 300, sizeof *numbers, number);
  double sum = 0;
  for (int i = 1; i < 9; ++i) sum += strtod(words[i], NULL) + tgamma(i / 2.0) + lgamma(i) + cbrt(i) + erf(i) + j0(i);
  struct tm tm;
  time_t second = 1000000000;
  gmtime_r(&second, &tm);
  strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %A", &tm);
  second += mktime(&tm);
  wchar_t wide[100];
  mbstowcs(wide, text, 100);
  char* kept = strdup(text);
  char* rest = NULL;
  for (char* word = strtok_r(kept, "-: ", &rest); word; word = strtok_r(NULL, "-: ", &rest)) sum += atoi(word);
  free(kept);
  int read = 0;
  sscanf(words[3], "%d", &read);
  srand(5);
  for (int i = 0; i < 10; ++i) sum += rand() % 100 + drand48();
  FILE* memory = fmemopen(text, sizeof text, "w");
  for (int i = 0; i < 100; ++i) fprintf(memory, "%x %g\n", i, sqrt(i));
  fclose(memory);
  uLongf size = sizeof packed, full = sizeof text;
  compress2(packed, &size, (Bytef*)text, sizeof text, 6);
  uncompress((Bytef*)text, &full, packed, size);
  printf("%g %ld %d %lu %lx %lx\n", sum, (long)second, read, size, crc32(0, packed, (uInt)size), adler32(0, packed, (uInt)size));
}
int main(int argc, char** argv) {
  setenv("TZ", "UTC0", 1);
  for (int item = atoi(argv[1]); item; --item) work(item);
  return 3;
}
C
compile dynamic program.c -O1 -lz -Wl,-rpath,.,--disable-new-dtags
compile static program.c -O1 -static -lz
rewrite dynamic --no-imports
rewrite static --all
for file in $(ldd ./dynamic | awk '$2 == "=>" { print $3 }'); do
  cp -L "$file" plain/
  library "${file##*/}"
done

# counts DIRECTORY COMMAND TIMES: "MODULE ADDRESS CALLS" of each function.
export GLIBC_TUNABLES=glibc.malloc.top_pad=67108864:glibc.malloc.trim_threshold=268435456
counts() {
  rm -rf profiles
  mkdir profiles
  (cd "$1" && PROFDIR=$OLDPWD/profiles exec "$2" "$3") >stdout || [ $? = 3 ] || fail "$2 $3: $(tail -n 2 stdout)"
  [ "$(wc -l <stdout)" = "$3" ] || fail "$2 $3: $(tail -n 2 stdout)"
  prof --json profiles/prof.* 2>prof.log | jq -r '.functions[] | [.module // "-", .address, .calls, .name] | @tsv' || fail "prof --json: $(cat prof.log)"
}
counts copy ../dynamic.prof 2 >dynamic.2
counts copy ../dynamic.prof 5 >dynamic.5
cp stdout expected
counts . ./static.prof 2 >static.2
counts . ./static.prof 5 >static.5
cmp -s expected stdout || fail "they print: $(diff expected stdout | head -n 4)"

# A line "MODULE ADDRESS NAME" for each name of a function; in the static program they are all of the one module.
names() { nm "$@" --defined-only | sed -nE 's/^0*([0-9a-f]+) [TtWwi] ([^@]*).*/0x\1\t\2/p'; }
for library in plain/*; do names -D "$library" | sed "s/^/${library##*/}\t/"; done >names.dynamic
names static | sed 's/^/static\t/' >names.static
jq -r '(.left_out + .skipped)[].address' static.report | sed 's/^/static\t/' >unhooked
for library in plain/*; do
  jq -r '(.left_out + .skipped)[].address' "copy/${library##*/}.report" | sed "s/^/${library##*/}\t/"
done >>unhooked

# Where a direct call or jump in the static program leads. A function that libraries export is one that others may take the
# place of, so there it is called; in the static program it may be within its only callers.
objdump -d --no-show-raw-insn static | sed -nE 's/.*\t(call|jmp|j[a-z]+) +([0-9a-f]+) <.*/0x\2/p' | sort -u >sites

# A function of the static program stands for all that have one of its names: versions, and those that two libraries have.
awk -F'\t' '
  FILENAME == "unhooked" { unhooked[$1, $2]; next }
  FILENAME == "sites" { site[$1]; next }
  FILENAME == "names.static" { static_of[$3] = $2; next }
  FILENAME == "names.dynamic" {
    if (!($3 in static_of) || (($1, $2) in same)) next
    a = same[$1, $2] = static_of[$3]
    name[a] = $3 " [" $1 "]"
    if ((($1, $2) in unhooked) || (("static", a) in unhooked)) left_out[a]
    next
  }
  FILENAME ~ /2$/ { $3 = -$3 }
  $1 == "static" { static_calls[$2] += $3; next }
  ($1, $2) in same { calls[same[$1, $2]] += $3 }
  END {
    for (a in name) {
      if ((a in left_out) || (!static_calls[a] && !(a in site))) continue
      if (calls[a] + 0 == static_calls[a] + 0) {
        compared += calls[a] > 0
        continue
      }
      printf "%s: %d calls, in the static program %d\n", name[a], calls[a], static_calls[a]
      wrong = 1
    }
    print compared + 0
    exit wrong
  }' unhooked sites names.static names.dynamic static.2 static.5 dynamic.2 dynamic.5 >found || fail "$(head -n 4 found | paste -sd ';')"
[ "$(tail -n 1 found)" -gt 60 ] || fail "only $(tail -n 1 found) functions are compared"
