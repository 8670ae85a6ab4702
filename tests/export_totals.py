"""export_totals.py FORMAT FILE... prints a line for each function in an export of prof, as a reader of that format adds it
up: name, calls, self, total, waiting, with tabs; times in nanoseconds, of callgrind's in cycles; - for what the format has
not. What breaks a rule of the format is told, and the exit status is 1.

FORMAT: json, json_cycles or json_folded (what prof --json says, in nanoseconds or cycles, or with names as in folded
stacks), folded, callgrind, pprof, speedscope, csv."""

import collections
import csv
import gzip
import json
import re
import sys


def check(condition, text):
    if not condition:
        sys.exit(f"{sys.argv[1]}: {text}")


class Totals:
    """Sums by name. A stack is a list of names, the outermost first."""

    def __init__(self):
        self.sums = collections.defaultdict(lambda: [None] * 4)

    def add(self, name, column, n):
        self.sums[name][column] = (self.sums[name][column] or 0) + n

    def add_stack(self, stack, self_time, calls=None, waiting=None):
        self.add(stack[-1], 1, self_time)
        if calls is not None:
            self.add(stack[-1], 0, calls)
        if waiting is not None:
            self.add(stack[-1], 3, waiting)
        for name in set(stack):
            self.add(name, 2, self_time)

    def print(self):
        for name in sorted(self.sums):
            print(name, *("-" if n is None else n for n in self.sums[name]), sep="\t")


def nanoseconds(cycles, hz):
    return round(cycles * 1e9 / (hz or 1e9))


def read_json(path, totals, in_cycles=False, name_of=lambda name, f: name):
    profile = json.load(open(path))
    program = profile["modules"][0]["name"]
    sums_of = collections.defaultdict(list)
    for f in profile["functions"]:
        is_of_library = f["module"] != program and f["module"] != f["name"] and f["module"] != "[libraries]"
        name = name_of(f"{f['name']} [{f['module']}]" if is_of_library else f["name"], f)
        fields = ("calls", "self_cycles", "total_cycles", "self_waiting_cycles")
        sums_of[name].append([f.get(field, 0) for field in fields])
    for name, of_name in sums_of.items():
        sums = [sum(column) for column in zip(*of_name)]
        if not in_cycles:
            sums[1:] = [nanoseconds(n, profile["tsc_hz"]) for n in sums[1:]]
        # One of several functions with a name may have called another.
        totals.sums[name] = sums if in_cycles or len(of_name) == 1 else [*sums[:2], None, sums[3]]


def read_json_cycles(path, totals):
    read_json(path, totals, in_cycles=True)


def read_json_folded(path, totals):
    def name_of(name, f):
        if len(name) > 250:
            name = f"{name[:250]}...[{f['address']}]"
        return f["module"] + name if name.startswith("#") else name

    read_json(path, totals, name_of=name_of)


def read_folded(path, totals):
    for line in open(path):
        parts = re.fullmatch(r"([^ ;][^;]*(?:;[^;]+)*) ([0-9]+)\n", line)
        check(parts, f"no folded stack: {line!r}")
        stack = parts[1].split(";")
        check(not re.search(r" [0-9.]+$", stack[-1]), f"ends like two numbers: {line!r}")
        totals.add_stack(stack, int(parts[2]))


def read_speedscope(path, totals):
    document = json.load(open(path))
    check(document["$schema"] == "https://www.speedscope.app/file-format-schema.json", "another schema")
    frames = document["shared"]["frames"]
    check(all(isinstance(f["name"], str) and isinstance(f.get("file", ""), str) for f in frames), "frames")
    check(document["profiles"], "no profiles")
    for profile in document["profiles"]:
        check(profile["type"] == "evented" and isinstance(profile["name"], str), "kind of profile")
        check(profile["unit"] in ("none", "nanoseconds"), "unit")
        is_waiting = profile["name"].endswith("waiting")
        stack, before, self_times = [], profile["startValue"], []
        for event in profile["events"]:
            check(set(event) == {"type", "frame", "at"} and event["at"] >= before, f"event {event}")
            if stack:
                self_times[-1] += event["at"] - before
            before = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
                self_times.append(0)
                continue
            check(event["type"] == "C" and stack and stack[-1] == event["frame"], f"not balanced: {event}")
            names = [frames[f]["name"] for f in stack]
            taken = self_times.pop()
            if is_waiting:
                totals.add(names[-1], 3, taken)
            elif not profile["name"].endswith("cpu"):
                totals.add_stack(names, taken)
            stack.pop()
        check(not stack and profile["endValue"] == before, "end")


def messages(data):
    """The fields of a message of protocol buffers: (number, value) with integers and bytes."""
    at = 0

    def varint():
        nonlocal at
        n = shift = 0
        while True:
            byte = data[at]
            at += 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n

    while at < len(data):
        key = varint()
        check(key & 7 in (0, 2), f"wire type {key & 7}")
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            size = varint()
            yield key >> 3, data[at : at + size]
            at += size


def packed(data):
    numbers, n, shift = [], 0, 0
    for byte in data:
        n |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(n)
            n = shift = 0
    return numbers


def read_pprof(path, totals):
    profile = collections.defaultdict(list)
    for number, value in messages(gzip.open(path).read()):
        profile[number].append(value)
    strings = [s.decode("utf-8") for s in profile[6]]
    check(strings[0] == "", "the first string is not empty")
    types = [dict(messages(t)) for t in profile[1]]
    types = [(strings[t[1]], strings[t[2]]) for t in types]
    check(types[0] == ("calls", "count"), f"sample types {types}")
    check(all(unit == "nanoseconds" for name, unit in types[1:]), f"sample types {types}")
    check(strings[profile[14][0]] in [name for name, unit in types], "default sample type")
    mappings = {m[1]: strings[m[5]] for m in (dict(messages(m)) for m in profile[3])}
    check(list(mappings)[0] == 1 and 0 not in mappings, "mappings")
    functions = {f[1]: strings[f[2]] for f in (dict(messages(f)) for f in profile[5])}
    locations = {}
    for location in (dict(messages(l)) for l in profile[4]):
        check(location[1] not in locations and location[1] != 0, "location twice")
        check(location.get(2) is None or location[2] in mappings, "a location in no mapping")
        locations[location[1]] = functions[dict(messages(location[4]))[1]]
    check(len(locations) == len(functions) == len(profile[4]), "locations and functions")
    for sample in profile[2]:
        fields = list(messages(sample))
        stack = [locations[n] for number, value in fields if number == 1 for n in packed(value)][::-1]
        values = [n for number, value in fields if number == 2 for n in packed(value)]
        check(len(values) == len(types), "values of a sample")
        of = dict(zip([name for name, unit in types], values))
        time = of.get("time", of.get("elapsed"))
        totals.add_stack(stack, values[0] if time is None else time, of["calls"], of.get("waiting"))


def read_csv(path, totals):
    rows = list(csv.DictReader(open(path, newline=""), strict=True))
    check(rows, "no lines")
    seconds = lambda text: round(float(text) * 1e9) if text else None
    for row in rows:
        check(None not in row and None not in row.values(), f"fields of {row}")
        name = f"{row['name']} [{row['module']}]" if ".so" in row["module"] else row["name"]
        values = [int(row["calls"]) if row["calls"] else None]
        values += [seconds(row[c]) for c in ("self_seconds", "total_seconds", "waiting_seconds")]
        for column, n in enumerate(values):
            if n is not None:
                totals.add(name, column, n)


def read_callgrind(path, totals):
    """As callgrind_annotate does: the total of what is called is the sum of the calls that lead to it."""
    names, events, caller, callee, calls = {}, [], None, None, None
    called = set()

    def name_of(text):
        number, name = re.fullmatch(r"(\(\d+\)) ?(.*)", text).groups()
        check(not (name and number in names), f"{number} is named twice")
        return names.setdefault(number, name)

    lines = open(path).read().split("\n")
    check(lines[0] == "# callgrind format", "first line")
    for line in lines:
        key, _, value = line.partition("=")
        if line.startswith("events: "):
            events = line.split()[1:]
        elif line.startswith("fn="):
            caller = name_of(value)
        elif line.startswith("cfn="):
            callee = name_of(value)
        elif line.startswith("calls="):
            calls = int(value.split()[0])
            check(calls > 0, line)
        elif re.match(r"0 ", line):
            costs = dict(zip(events, map(int, line.split()[1:]), strict=True))
            time = costs.get("Cycles", costs.get("Elapsed", costs["Calls"]))
            if calls is None:
                totals.add(caller, 0, costs["Calls"])
                totals.add(caller, 1, time)
                if "Waiting" in costs:
                    totals.add(caller, 3, costs["Waiting"])
            else:
                totals.add(callee, 2, time)
                called.add(callee)
            calls = None


def main():
    totals = Totals()
    for path in sys.argv[2:]:
        globals()[f"read_{sys.argv[1]}"](path, totals)
    totals.print()


main()
