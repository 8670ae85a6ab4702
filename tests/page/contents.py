"""contents.py PAGE JSON [TABLE]: what prof --html wrote is safe, and has the numbers of what prof --json wrote in the same run;
and the rows of the table that prof printed. Says what is not so, and then ends with status 1.

A reader of its own, by what prof/page/contents.h and packed.h say."""

import base64
import hashlib
import html.parser
import json
import math
import re
import struct
import sys
import zlib


def check(condition, text):
    if not condition:
        sys.exit(f"{sys.argv[1]}: {text}")


class Page(html.parser.HTMLParser):
    """The elements of a page: how many of each, the text in styles, scripts and templates, and what could lead elsewhere."""

    def __init__(self, text):
        super().__init__(convert_charrefs=False)
        self.tags, self.inside, self.policy, self.wrong = [], {"style": [], "script": [], "profile": [], "source": []}, None, []
        self.within = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "srcset", "action", "data", "style", "srcdoc", "poster") or name.startswith("on"):
                self.wrong.append(f"<{tag} {name}={value}>")
        if tag == "meta" and dict(attributes).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attributes)["content"]
        kind = dict(attributes).get("class") if tag == "template" else tag
        if kind in self.inside:
            self.within = kind
            self.inside[kind].append("")

    def handle_endtag(self, tag):
        if tag in (self.within, "template"):
            self.within = None

    def handle_data(self, data):
        if self.within:
            self.inside[self.within][-1] += data


def check_safe(path):
    """Returns the packed profiles, how long the rest is, and the packed source, if the page has it."""
    data = open(path, "rb").read()
    page = Page(data.decode("utf-8"))
    check(not page.wrong, f"leads elsewhere: {page.wrong[:3]}")
    around = re.sub(rb"<template class=.(profile|source).[^<]*</template>", b"", data)
    found = re.search(rb"[a-z]+://|url\(|@import|fetch\(|innerHTML|outerHTML|document\.write|eval\(|new Function", around)
    check(not found, f"has a link, or sets HTML: {found and found.group()}")
    check(len(page.inside["style"]) == 1 and len(page.inside["script"]) == 1, "not one style and one script")
    known = {"html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "h3", "div", "ul", "p", "main", "label", "select",
             "span", "button", "input", "output", "canvas", "section", "em", "code", "template", "script"}
    check(set(page.tags) <= known, f"other elements: {set(page.tags) - known}")
    rules = dict(rule.strip().split(" ", 1) for rule in page.policy.split(";"))
    wanted = {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}
    for kind in "style", "script":
        digest = hashlib.sha256(page.inside[kind][0].encode()).digest()
        wanted[kind + "-src"] = "'sha256-" + base64.b64encode(digest).decode() + "'"
    check(rules == wanted, f"the policy is {rules}, not {wanted}")
    profiles, sources = page.inside["profile"], page.inside["source"]
    check(all(re.fullmatch("[A-Za-z0-9+/]+={0,2}", text) for text in profiles + sources), "a profile is not base64")
    check(len(sources) <= 1 and page.tags.count("template") == len(profiles + sources), "other templates")
    return profiles, len(data) - sum(map(len, profiles + sources)), *sources


class Packed:
    """What is packed: a document, and columns of numbers."""

    def __init__(self, text):
        data = zlib.decompress(base64.b64decode(text, validate=True))
        (length,) = struct.unpack_from("<I", data)
        self.content = json.loads(data[4:4 + length].decode("utf-8"))
        self.columns, at = {}, 4 + length

        def number():
            nonlocal at
            n = shift = 0
            while True:
                n |= (data[at] & 127) << shift
                shift += 7
                at += 1
                if data[at - 1] < 128:
                    return n

        while at < len(data):
            end = at + 1 + data[at]
            name = data[at + 1:end].decode()
            at = end
            count, size = number(), number()
            begin = at
            self.columns[name] = [number() for _ in range(count)]
            check(at - begin == size, f"column {name} has {at - begin} bytes, not {size}")


class Profile(Packed):
    def __init__(self, text):
        super().__init__(text)
        steps, changes = self.columns["nodes.parent"], self.columns["nodes.function"]
        self.parents = [i - step for i, step in enumerate(steps)]
        self.functions, last = [], 0
        for change in changes:
            last += signed(change)
            self.functions.append(last)

    def figures(self, prefix, parents):
        """By node or by function: a dictionary of its figures, named as in JSON."""
        columns = {name[len(prefix):]: values for name, values in self.columns.items() if name.startswith(prefix)}

        def totals(more, own):
            sums = [0] * len(own)
            for i in range(len(own) - 1, -1, -1):
                sums[i] += own[i] + signed(more[i])
                if parents and i:
                    sums[parents[i]] += sums[i]
            return sums

        result = {"calls": columns["calls"], "flags": columns["flags"]}
        if "self" not in columns:
            return result
        own = result["self"] = columns["self"]
        low = [n - signed(less) for n, less in zip(own, columns["self_low"])]
        high = [n + signed(more) for n, more in zip(own, columns["self_high"])]
        result["total"] = totals(columns["total"], own)
        errors = {what: columns.get(what + "_error", [0] * len(own)) for what in ("self", "total")}
        ends = {"self": (low, high), "total": (totals(columns["total_low"], low), totals(columns["total_high"], high))}
        for what, (lower, upper) in ends.items():
            result[what + "_error"] = errors[what]
            result[what + "_low"] = [max(n - 1.96 * e, 0) for n, e in zip(lower, errors[what])]
            result[what + "_high"] = [max(n + 1.96 * e, 0) for n, e in zip(upper, errors[what])]
        if "self_waiting" in columns:
            result["self_waiting"] = columns["self_waiting"]
            result["total_waiting"] = totals(columns["total_waiting"], columns["self_waiting"])
        return result


def signed(n):
    return n >> 1 ^ -(n & 1)


def same(what, i, expected, actual, error=0):
    check(abs(expected - actual) <= error, f"{what} {i}: {actual}, not {expected}")


def compare(kind, prefix, items, at, total, names, error):
    """`items` of JSON with the figures `at` their numbers. `names`: of what the page has, in JSON."""
    for i, item in items:
        for name, of_json in names.items():
            if of_json in item and name in at:
                same(f"{kind} {of_json}", i, item[of_json], at[name][i], error if name.endswith(("low", "high")) else 0)
        flags = at["flags"][i]
        if not prefix:
            same(f"{kind} doubtful_calls", i, item.get("doubtful_calls", False), bool(flags & 4))
            same(f"{kind} doubtful_cycles", i, item.get("doubtful_cycles", False), bool(flags & 16))
    return len(items)


def check_numbers(profile, of_json):
    content = profile.content
    # Errors of estimates are rounded before 1.96 of them are added.
    error = 2 if any("total_error_cycles" in f for f in of_json["functions"]) else 0
    two_runs = "cpu.nodes.calls" in profile.columns
    check(abs(content["hz"] - (of_json["tsc_hz"] or 1e9)) <= 1, "another rate")
    where = {(content["modules"][m], a, n): f for f, (m, a, n) in
             enumerate(zip(content["functions"]["module"], content["functions"]["address"], content["functions"]["name"]))}
    check(len(where) == len(content["functions"]["name"]), "two functions are the same")
    numbers = []
    by_place = {}
    for (module, address, name), f in where.items():
        by_place.setdefault((module, address), []).append((name, f))
    for f in of_json["functions"]:
        place = f["address"] if "address" in f else f"{f.get('file', '')}:{f['line']}" if "line" in f else "0x0"
        found = by_place[(printable(f["module"]), printable(place))]
        numbers.append(next(n for name, n in found if name.split(" [")[0] == printable(f["name"]).split(" [")[0] or len(found) == 1))
    names = {"calls": "calls", "self": "self_cycles", "total": "total_cycles", "self_low": "self_low", "self_high": "self_high",
             "total_low": "total_low", "total_high": "total_high", "self_error": "self_error_cycles", "total_error": "total_error_cycles",
             "self_waiting": "self_waiting_cycles", "total_waiting": "total_waiting_cycles"}
    if "samples" in (of_json["functions"] or [{}])[0]:  # these ranges are of samples, and only the table has them
        del names["self_low"], names["self_high"]
    if two_runs:  # what is left of one run without the other
        del names["self_waiting"], names["total_waiting"]
    items = list(zip(numbers, of_json["functions"]))
    compared = compare("function", two_runs, items, profile.figures("sums.", None), "total_cycles", names, error)
    tree = [(i + 1, node) for i, node in enumerate(of_json["tree"])]
    for i, node in tree:
        same("parent of node", i, node["parent"] + 1, profile.parents[i])
        same("function of node", i, numbers[node["function"]], profile.functions[i])
        check(bool(node.get("tail")) == bool(profile.columns["nodes.flags"][i] & 1), f"node {i}: reached by jumps")
        check(bool(node.get("calls_estimated")) == bool(profile.columns["nodes.flags"][i] & 2), f"node {i}: estimated calls")
    node_names = {**names, "total": "cycles", "total_low": "low", "total_high": "high", "total_waiting": "waiting_cycles",
                  "self_low": "self_low", "self_high": "self_high"}
    compared += compare("node", two_runs, tree, profile.figures("nodes.", profile.parents), "cycles", node_names, error)
    if two_runs:
        cpu = {"calls": "cpu_calls", "self": "self_cpu_cycles"}
        compare("function, CPU", True, items, profile.figures("cpu.sums.", None), "", {**cpu, "total": "total_cpu_cycles"}, 0)
        compare("node, CPU", True, tree, profile.figures("cpu.nodes.", profile.parents), "", {**cpu, "total": "cpu_cycles"}, 0)
    check(compared > 2, "nothing was compared")
    # Nodes that JSON has not are times of functions in no context.
    for i in range(len(tree) + 1, len(profile.parents)):
        check(profile.parents[i] == 0 and profile.columns["nodes.calls"][i] == 0, f"node {i} is not in JSON")


def printable(text):
    """As libprof/printable.h has it, of what JSON may hold."""
    return "".join(
        "".join(f"\\x{b:02x}" for b in c.encode("utf-8", "replace"))
        if c < " " or "\x7f" <= c <= "\x9f" or "\u2028" <= c <= "\u202e" or "\u2066" <= c <= "\u2069" else "\\\\" if c == "\\" else c
        for c in text)


def check_table(profile, path):
    lines = open(path, encoding="utf-8").read().split("\n")
    header, rest = [], []
    for line in lines:
        (rest if rest or line.lstrip().startswith("%") else header).append(line)
    rows = [(*cells.split(), name) for cells, name in (line.split("\t", 1) for line in rest if "\t" in line)]
    content = profile.content
    check(header == content["header"], f"the header is {content['header']}, not {header}")
    check(rows[0] == (*content["table"]["titles"], "Name"), f"titles {content['table']['titles']}, not {rows[0]}")
    actual = [(*texts, content["functions"]["name"][f]) for f, *texts in content["table"]["rows"]]
    for wanted, row in zip(rows[1:], actual):
        check(wanted == row, f"the table has {row}, not {wanted}")
    check(len(rows) == len(actual) + 1, f"{len(actual)} rows, not {len(rows) - 1}")


def main():
    profiles, around, *_ = check_safe(sys.argv[1])
    check(around < 1_000_000, f"{around} bytes beside the data")
    of_json = json.load(open(sys.argv[2]))
    parts = of_json if isinstance(of_json, list) else [of_json]
    check(len(parts) == len(profiles), f"{len(profiles)} profiles, not {len(parts)}")
    for text, part in zip(profiles, parts):
        check_numbers(Profile(text), part)
    if len(sys.argv) > 3:
        check_table(Profile(profiles[0]), sys.argv[3])


if __name__ == "__main__":
    main()
