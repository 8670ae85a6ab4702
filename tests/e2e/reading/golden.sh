# What every view prints of made-up profiles, byte by byte: on terminals of 80 and 200 columns, and in a pipe. It is in
# tests/golden/expected; `make golden` writes it anew. On a terminal, of 40 columns as well, no line is wider than it; what is
# for programs is the same everywhere; and nothing is coloured.
. "${0%/*}/../common.inc"

golden=$tests/golden
compile profiles "$golden/profiles.cc" -std=c++20 -I"$tests/.." -include "$tests/unit/prof_fixture.h"
./profiles || fail "no profiles were made"
compile inlined.o -c "$golden/inlined.s"
id=$(printf 'of the program' | od -An -tx1 | tr -d ' \n')
mkdir -p "debug/.build-id/${id:0:2}" actual
cp inlined.o "debug/.build-id/${id:0:2}/${id:2}.debug"
second=$(echo a-folder-*/golden)

# The names of views and how they are asked for; of those for programs the name ends with a star.
cat >views <<END
table             golden prof.100
table-all         --all golden prof.100
table-wide        -w -n 6 golden prof.100
table-rows        -n 5 --sort per-call --no-header golden prof.100
table-some        --function 'helper_1*' --module golden --percent 0.1 golden prof.100
table-elapsed     golden elapsed
table-two-types   -n 8 golden elapsed cpu
table-count       -n 8 golden count
table-processes   -n 8 golden prof.100 prof.101
inlined           -n 5 --inlined --debug-dir debug --function main --function walk golden prof.100
modules           --by-module golden prof.100
tree              -d golden prof.100
tree-all          -d --all golden prof.100
tree-sorted       -d -s golden prof.100
tree-recursion    -d -r --depth 4 golden prof.100
tree-chains       -d --chains --percent 1 golden prof.100
tree-two-types    -d --depth 3 golden elapsed cpu
tree-count        -d --depth 3 golden count
callers           --callers 'größe::wert' --callers decode --callers nested_30 golden prof.100
callees           --callees group_by_name_of_owner --callees walk golden prof.100
focus             -d --focus visit_all_in_order golden prof.100
ignore            --ignore 'nested_*' --ignore visit_all_in_order -n 8 golden prof.100
threads           -t -n 4 golden prof.100
threads-tree      -t -d --depth 2 golden prof.100
processes         --processes -n 3 golden prof.100 prof.101
diff              diff golden before.1 $second after.1
diff-runs         diff -n 12 golden before.1 before.2 before.3 -- $second after.1 after.2 after.3
diff-total        diff --sort total --all golden before.1 $second after.1
diff-tree         diff -d -s golden before.1 before.2 before.3 -- $second after.1 after.2 after.3
json*             --json golden prof.101
processes-json*   --json --processes golden prof.101 prof.102
threads-json*     --json -t golden prof.102
diff-json*        diff --json golden prof.101 prof.102
csv*              --csv golden prof.100
threads-csv*      -t --csv golden prof.102
folded*           --folded golden prof.100
dot*              --dot golden prof.101
suggest*          --suggest golden prof.100
END

PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$tests/e2e python3 - <<'PY' || fail "what prof prints is not as it should be; if it is, make golden"
import os, shlex, subprocess, sys, terminal, unicodedata
environment = {n: v for n, v in os.environ.items() if n not in ("COLUMNS", "tabstop", "NO_COLOR")}
wrong = []

def in_pipe(command, **more):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**environment, **more})
    if result.returncode:
        sys.exit(f"{shlex.join(command)}: exit status {result.returncode}: {result.stderr.decode()}")
    return result.stdout

def on_terminal(command, columns):
    status, output = terminal.run_on_terminal(command, columns, 24, environment, subprocess.DEVNULL)
    if status:
        sys.exit(f"{shlex.join(command)}: exit status {status} on a terminal")
    return output

def width(line):
    columns = 0
    for c in line:
        if c == "\t":
            columns = (columns // 8 + 1) * 8
        elif not unicodedata.combining(c):
            columns += 2 if unicodedata.east_asian_width(c) in "WF" else 1
    return columns

for line in open("views", encoding="utf-8"):
    name, *arguments = shlex.split(line)
    command = ["prof", *arguments]
    outputs = {"pipe": in_pipe(command)}
    for columns in (40, 80, 200):
        outputs[str(columns)] = on_terminal(command, columns)
    if any(b"\x1b" in output for output in outputs.values()):
        wrong.append(f"{name}: has escape sequences")
    if name.endswith("*"):
        name = name[:-1]
        if len(set(outputs.values())) > 1:
            wrong.append(f"{name}: is not the same on a terminal")
        outputs = {"pipe": outputs["pipe"]}
    if not name.endswith("-wide"):
        for columns in (40, 80, 200):
            for shown in outputs.get(str(columns), b"").decode().splitlines():
                if width(shown) > columns:
                    wrong.append(f"{name}: {width(shown)} columns on a terminal of {columns}: {shown}")
    for form, output in outputs.items():
        if form != "40":
            open(f"actual/{name}.{form}", "wb").write(output)
print("\n".join(wrong[:20]), file=sys.stderr, end="\n" if wrong else "")
sys.exit(bool(wrong))
PY

if [ "${GOLDEN:-}" = write ]; then
  rm -rf "$golden/expected"
  cp -r actual "$golden/expected"
else
  diff -r "$golden/expected" actual >differences || fail "other than in tests/golden/expected: $(head -n 30 differences)
in short: $(grep -E '^(diff|Only|[0-9])' differences | head -n 4)"
fi
