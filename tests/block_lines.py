"""block_lines.py PROGRAM SOURCE JSON GCOV: compares the counts of basic blocks that prof --json shows with the counts of lines
in a file of gcov's. PROGRAM has debug information. The count of a line is that of the block of it that ran most often, so
SOURCE has a statement on each line. Lines that say "two ways in" are left out, and those without code, as labels."""

import bisect
import collections
import json
import os
import re
import subprocess
import sys

program, source, profile, gcov = sys.argv[1:]


def line_table():
    """Addresses, ascending, and the lines of the source that begin there (None: of another file)."""
    text = subprocess.run(["objdump", "--dwarf=decodedline", "-WL", program], capture_output=True, text=True, check=True).stdout
    rows = []
    for row in text.splitlines():
        found = re.match(r"^(\S+?):?\s+(\d+|-)\s+0x([0-9a-f]+)", row)
        if not found:
            continue
        name, line, address = found.groups()
        own = os.path.basename(name) == os.path.basename(source)
        rows.append((int(address, 16), int(line) if line != "-" and own else None))
    return sorted(set(rows), key=lambda r: r[0])


rows = line_table()
starts = [r[0] for r in rows]
lines = collections.defaultdict(int)
with open(profile) as f:
    blocks = json.load(f)["blocks"]
for block in blocks:
    start = int(block["address"], 16)
    i = bisect.bisect_right(starts, start) - 1
    first = bisect.bisect_left(starts, starts[i]) if i >= 0 else 0
    end = bisect.bisect_left(starts, start + block["size"])
    for row in rows[first:end]:
        if row[1] is not None:
            lines[row[1]] = max(lines[row[1]], block["count"])

wrong = compared = 0
with open(gcov) as f:
    for text in f:
        count, line = text.split(":", 2)[:2]
        count, line = count.strip().rstrip("*"), int(line)
        if line == 0 or count == "-":
            continue
        expected = 0 if count.startswith(("#", "=")) else int(count)
        if line not in lines or "two ways in" in text:
            continue
        compared += 1
        if lines[line] != expected:
            wrong += 1
            print(f"line {line}: {lines[line]}, not {expected}")
if compared < 5:
    sys.exit(f"only {compared} lines could be compared")
sys.exit(1 if wrong else 0)
