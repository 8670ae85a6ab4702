"""two_profiles.py PAGE JSON [TABLE]: what prof diff --html wrote is safe, and has the numbers of what prof diff --json wrote of the
same; and the texts of the table that prof diff -w printed. Says what is not so, and then ends with status 1.

A reader of its own, by what prof/page/two_profiles.h says."""

import json
import re
import sys

from contents import Packed, check, check_safe, printable, signed


class TwoProfiles(Packed):
    """A page of two profiles: `nodes` and `sums` are [of A, of B], each a dictionary of lists: calls of one run, and seconds."""

    def __init__(self, text):
        super().__init__(text)
        self.parents = [i - step for i, step in enumerate(self.columns["nodes.parent"])]
        self.functions, last = [], 0
        for change in self.columns["nodes.function"]:
            last += signed(change)
            self.functions.append(last)
        self.is_timed = "nodes.self" in self.columns
        self.nodes = [self.figures(i, side + "nodes.", self.parents) for i, side in enumerate(("a.", ""))]
        self.sums = [self.figures(i, side + "sums.", None) for i, side in enumerate(("a.", ""))]

    def figures(self, side, prefix, parents):
        result = {"calls": [n / self.content["runs"][side] for n in self.columns[prefix + "calls"]]}
        if self.is_timed:
            own = self.columns[prefix + "self"]
            total = [0] * len(own)
            for i in range(len(own) - 1, -1, -1):
                total[i] += own[i] + signed(self.columns[prefix + "total"][i])
                if parents and i:
                    total[parents[i]] += total[i]
            result["self_seconds"], result["total_seconds"] = ([n / self.content["hz"] for n in times] for times in (own, total))
        return result

    def compare(self, what, part, i, item):
        """With an item of JSON. Returns how many figures were compared."""
        sides, marks = getattr(self, part), self.columns[f"change.{part}.marks"][i]
        compared = 0
        for key, mark, name in (("calls", 1, None), ("self_seconds", 2, "self"), ("total_seconds", 4, "total")):
            if key not in item or key not in sides[0]:
                continue
            of = item[key]
            for side, letter in enumerate("ab"):
                check(abs(sides[side][key][i] - of[letter]) <= 2e-12 + 1e-6 * abs(of[letter]), f"{what} {i}, {key} of {letter}: {sides[side][key][i]}, not {of[letter]}")
            is_known = bool(marks & mark)
            check(is_known == (of["known"] or (key == "calls" and of["change"] == 0)), f"{what} {i}: {key} is known: {is_known}")
            compared += 1
            if not name:
                continue
            low, high = (self.columns[f"change.{part}.{name}_{end}"][i] / self.content["hz"] for end in ("low", "high"))
            is_outside = of["change"] > low + 1e-11 or of["change"] < -high - 1e-11
            check(is_known or not is_outside, f"{what} {i}: {key} is outside of what errors explain, and not known: {of}")
            if "p" not in of:  # of one run each: what is known is what errors do not explain
                is_inside = -high + 1e-11 < of["change"] < low - 1e-11
                check(not (is_known and is_inside), f"{what} {i}: {key} is known, and errors explain it: {of} {low} {high}")
        return compared


def check_numbers(page, of_json):
    check([of_json[side]["runs"] for side in "ab"] == page.content["runs"], f"runs {page.content['runs']}")
    functions = of_json["functions"]
    names = [printable(f["name"] + (f" (was {f['was']})" if "was" in f else "")) for f in functions]
    shown = page.content["functions"]["name"]
    # JSON has another character for bytes that are no UTF-8.
    alike = (re.fullmatch(re.escape(name).replace("\ufffd", r"(\\x[0-9a-f]{2})+"), one) for name, one in zip(names, shown))
    check(len(names) == len(shown) and all(alike), f"functions {shown}, not {names}")
    modules = [page.content["modules"][m] for m in page.content["functions"]["module"]]
    check(modules == [printable(f["module"]) for f in functions], f"modules {modules}")
    sides = {"none": 0, "a": 8, "b": 16, "both": 24}
    compared = 0
    for i, f in enumerate(functions):
        check(page.columns["change.sums.marks"][i] & 24 == sides[f["in"]], f"function {i} is not in {f['in']}")
        compared += page.compare("function", "sums", i, f)
    every = dict(of_json["all"], total_seconds=of_json["all"]["self_seconds"])
    compared += page.compare("all functions", "sums", len(functions), every)
    tree = of_json["tree"]
    for i, node in enumerate(tree, 1):
        check(page.parents[i] == node["parent"] + 1 and page.functions[i] == node["function"], f"node {i} is elsewhere")
        check(page.columns["change.nodes.marks"][i] & 24 == sides[node["in"]], f"node {i} is not in {node['in']}")
        compared += page.compare("node", "nodes", i, node)
    # Contexts that JSON has not are times of functions in no context.
    for i in range(len(tree) + 1, len(page.parents)):
        check(page.parents[i] == 0 and not any(side["calls"][i] for side in page.nodes), f"node {i} is not in JSON")
    check(compared > 3, "nothing was compared")
    return compared


def table_of(path):
    """Header, titles, and rows of cells and a name: cells may be empty, and titles of two words."""
    header, titles, rows = [], None, []
    for line in open(path, encoding="utf-8").read().splitlines():
        if "\t" not in line:
            header.append(line)
            continue
        cells, name = line.split("\t", 1)
        if titles is None:
            found = list(re.finditer(r"\S+(?: \S+)*", cells))
            titles, ends = [one.group() for one in found], [one.end() for one in found]
        else:
            rows.append([cells[begin:end].strip() for begin, end in zip([0, *ends], ends)] + [name])
    return header, titles, rows


def check_table(content, path):
    header, titles, rows = table_of(path)
    check(content["header"] == header, f"the header is {content['header']}, not {header}")
    check(content["table"]["titles"] == titles, f"titles {content['table']['titles']}, not {titles}")
    shown = [[*texts, content["functions"]["name"][f]] for f, *texts in content["table"]["rows"]]
    shown.append([*content["table"]["sum"], "all functions"])
    for wanted, row in zip(rows, shown):
        check(wanted == row, f"the table has {row}, not {wanted}")
    check(len(rows) == len(shown), f"{len(shown)} rows, not {len(rows)}")


def main():
    profiles, around, *sources = check_safe(sys.argv[1])
    check(around < 1_000_000, f"{around} bytes beside the data")
    check(len(profiles) == 1 and not sources, "not one profile")
    page = TwoProfiles(profiles[0])
    print(check_numbers(page, json.load(open(sys.argv[2]))), "figures")
    if len(sys.argv) > 3:
        check_table(page.content, sys.argv[3])


if __name__ == "__main__":
    main()
