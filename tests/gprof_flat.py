"""gprof_flat.py PROGRAM JSON FLAT: compares what `gprof -b -p' prints of an exported gmon.out with what prof --json says of the same
profiles: the seconds of each function, to gprof's two decimals, and its calls. gprof counts no call by which a function calls itself,
and what an imported function took is its caller's there. If there are samples by address, seconds are theirs. Functions that have the
same name are added up."""

import bisect
import collections
import json
import re
import subprocess
import sys

program, profile, flat = sys.argv[1:]
TOLERANCE = 0.0051  # seconds, for each function of a name

with open(profile) as f:
    view = json.load(f)
functions, tree = view["functions"], view["tree"]
own = functions[0]["module"] if functions else ""
own = next((m["name"] for m in view["modules"] if m["rewritten"]), own)


def is_own(node):
    function = functions[node["function"]]
    return function["module"] == own and not function.get("imported")


def outer(node):
    """The nearest node above that is of the program, or None."""
    while node["parent"] >= 0:
        node = tree[node["parent"]]
        if is_own(node):
            return node
    return None


calls, seconds, functions_of = collections.Counter(), collections.Counter(), collections.Counter()
by_address = view.get("histogram")
for node in tree:
    function = functions[node["function"]]
    above = outer(node)
    if is_own(node) and (above is None or above["function"] != node["function"]):
        calls[function["raw_name"]] += node["calls"]
    if not by_address:
        owner = node if is_own(node) else above
        if owner is not None:
            seconds[functions[owner["function"]]["raw_name"]] += node["self_cycles"] / view["tsc_hz"]

text = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True, check=True).stdout
symbols = sorted((int(a, 16), name) for a, kind, name in (line.split() for line in text.splitlines()) if kind in "tTwW")
starts = [a for a, _ in symbols]
for _, name in symbols:
    functions_of[name] += 1
for at in by_address or []:
    i = bisect.bisect_right(starts, int(at["address"], 16)) - 1
    if at["module"] == own and i >= 0:
        seconds[symbols[i][1]] += at["samples"] * view["sample_period_ns"] * 1e-9

shown_calls, shown_seconds = collections.Counter(), collections.Counter()
with open(flat) as f:
    for line in f:
        found = re.match(r"\s*[\d.]+\s+[\d.]+\s+([\d.]+)\s+(?:(\d+)\s+[\d.]+\s+[\d.]+\s+)?(\S+)$", line)
        if found:
            shown_seconds[found[3]] += float(found[1])
            shown_calls[found[3]] += int(found[2] or 0)

wrong = []
for name in sorted(set(calls) | set(seconds) | set(shown_calls)):
    if calls[name] != shown_calls[name]:
        wrong.append(f"{name}: {calls[name]} calls, gprof says {shown_calls[name]}")
    if abs(seconds[name] - shown_seconds[name]) > TOLERANCE * max(functions_of[name], 1):
        wrong.append(f"{name}: {seconds[name]:.3f} s, gprof says {shown_seconds[name]:.2f}")
if len(shown_calls) < 5:
    sys.exit(f"gprof shows {len(shown_calls)} functions only")
if wrong:
    sys.exit("; ".join(wrong[:5]))
