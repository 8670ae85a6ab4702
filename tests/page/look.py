"""look.py NAME PICTURES PROF-ARGUMENT...: opens NAME.html in a browser, does what a reader does, and compares what is shown with
NAME.json and with what prof prints with these arguments. Prints what was compared, or ends with what is wrong."""

import json
import re
import subprocess
import sys

from browser import Browser

name, pictures, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
of_json = json.load(open(name + ".json"))
is_apart = isinstance(of_json, list)
part = of_json[0] if is_apart else of_json
functions, tree, hz = part["functions"], part["tree"], part["tsc_hz"] or 1e9
is_timed = any(f["total_cycles"] for f in functions)
is_sampled = "user_samples" in part
has_two_runs = part["type"] == "waiting"


def check(condition, text):
    if not condition:
        sys.exit(f"{name}: {text}")


def printed(*options):
    """Header, titles and rows of the table of functions."""
    output = subprocess.run(["prof", "-w", *options, *arguments], capture_output=True, text=True, check=True).stdout
    header, titles, rows = [], None, []
    for line in output.splitlines():
        if "\t" not in line:
            header.append(line)
        elif titles is None:
            titles = line.split("\t")[0].split()
        else:
            cells, of = line.split("\t", 1)
            rows.append([*cells.split(), of])
    return header, titles, rows


browser = Browser()
text = lambda id_: browser.evaluate(f"document.getElementById('{id_}').textContent")
opened = "performance.getEntriesByName('open', 'measure').length > 0"
settled = "new Promise(done => setTimeout(() => setTimeout(done)))"  # what is shown after the drawing is there, too


def go(fragment):
    """To another view of the page that is open."""
    browser.evaluate("""new Promise(done => {
      if (location.hash === %s) return done();
      addEventListener('popstate', () => setTimeout(() => setTimeout(done)), { once: true });
      location.hash = %s;
    })""" % (json.dumps(fragment.rstrip("#")), json.dumps(fragment)))


def rows_of(list_, names_only=False):
    """All rows of a list, of which only those in sight are in the document."""
    return browser.evaluate("""(async () => {
      const list = document.getElementById(%s), rows = new Map();
      for (let top = 0; ; top += 200) {
        list.scrollTop = top;
        await new Promise(done => setTimeout(done, 20));
        list.listing.draw();
        const before = Math.max(0, Math.floor(list.scrollTop / 24) - 5);
        [...list.querySelectorAll('tbody tr:not([aria-hidden])')].forEach((row, i) =>
          rows.set(before + i, [...row.cells].map(cell => cell.textContent)));
        if (list.scrollTop + list.clientHeight >= list.scrollHeight - 1) break;
      }
      return [...rows].sort(([a], [b]) => a - b).map(([, row]) => row);
    })()""" % json.dumps(list_))


def seconds(shown):
    """The ends of a time that is shown, with the error of their digits."""
    match = re.fullmatch(r"\??([\d.]+)(?:-([\d.]+))?(ns|us|ms|s)?", shown)
    check(match, f"{shown} is no time")
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, None: 0}[match[3]]
    return [float(end) * scale for end in match.group(1, 2) if end]


def check_time(what, shown, cycles, low, high):
    ends = seconds(shown)
    if len(ends) == 2:  # two digits, away from each other
        check(ends[0] <= low / hz + 1e-10 and high / hz <= ends[1] + 1e-10, f"{what}: {shown} does not hold {low / hz} to {high / hz}")
        check(ends[0] * 1.1 + 0.01 * ends[1] >= low / hz and ends[1] * 0.9 <= high / hz + 1e-9, f"{what}: {shown} is wider than {low / hz} to {high / hz}")
    else:
        check(abs(ends[0] - cycles / hz) <= 0.0051 * cycles / hz + 5.1e-12, f"{what}: {shown} is not {cycles / hz}")
        check(high - low <= 0.2 * cycles + 2, f"{what}: {shown} is known from {low / hz} to {high / hz} only")


def figures():
    shown = text("shown-figures")
    return dict(re.match(r"(Total|Self|Waiting|CPU|Calls|Per call|of) (.*)", one).groups() for one in shown.split(" \u00b7 ") if one)


def look_at_table():
    header, titles, rows = printed()
    lines = browser.evaluate("[...document.querySelectorAll('#run p')].map(p => p.textContent)")
    check(lines[:len(header)] == header, f"the header is {lines}, not {header}")
    shown = rows_of("table")
    wrong = [pair for pair in zip(sorted(shown), sorted(rows)) if pair[0] != pair[1]]
    check(len(shown) == len(rows) and not wrong, f"the table has {len(shown)} rows, not {len(rows)}; {wrong[:2]}")
    # Times that are shown alike may stand in either order: prof may have learnt more of the clock between the two.
    check([row[1] for row in shown] == [row[1] for row in rows], f"the table is not in order: {[row[1] for row in shown]}")
    keys = {"Self": "self", "Elapsed": "self", "Total": "total", "Calls": "calls", "Per-call": "per-call", "Name": "name"}
    for title in [*titles, "Name"]:
        if title not in keys:
            continue
        x, y = browser.evaluate("""(() => { const b = [...document.querySelectorAll('#table th button')].find(b => b.textContent === %s);
          b.scrollIntoView({ block: 'center' }); const r = b.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()""" % json.dumps(title))
        browser.click(x, y)
        wanted = [row[-1] for row in printed("--sort", keys[title])[2]]
        shown = [row[-1] for row in rows_of("table")]
        at = titles.index(title) if title in titles else -1
        # Names alike may stand in either order; so may what prof tells apart by what is not shown.
        check(sorted(shown) == sorted(wanted), f"sorted by {title}: other rows")
        values = {row[-1]: row[at] for row in rows}
        check([values[n] for n in shown] == [values[n] for n in wanted], f"sorted by {title}: {shown[:5]}, not {wanted[:5]}")
        check(browser.evaluate("document.querySelector('#table th[aria-sort] button').textContent") == title, f"no sign at {title}")
    return titles, rows


def numbers_of(rows):
    """The page's numbers of functions, and their rows, in the order of the table by self time."""
    go("#")
    rows = rows_of("table")
    numbers = []
    for i in range(len(rows)):
        browser.evaluate("document.getElementById('table').focus()")
        browser.key("ArrowDown")
        browser.wait("location.hash !== %r && location.hash.includes('function=')" % (f"#function={numbers[-1]}" if numbers else ""))
        numbers.append(browser.evaluate("location.hash.match(/function=(\\d+)/)?.[1]"))
    check(len(set(numbers)) == len(numbers), "the keys do not go through the table")
    return rows, numbers


def look_at_functions(titles, rows, numbers):
    """What the page adds up of the contexts of a function is what prof says of the function."""
    compared = 0
    for row, number in zip(rows, numbers):
        cells = dict(zip(titles, row))
        go(f"#focus={number}")
        check(text("shown-name") == row[-1], f"focus on {row[-1]}: {text('shown-name')}")
        found = figures()
        for title, of in (("Total", "Total"), ("Self", "Self"), ("Elapsed", "Self"), ("Calls", "Calls"), ("Per-call", "Per call")):
            if title not in cells or cells[title] == "-" or (is_sampled and title == "Self"):
                continue
            shown = found[of].split(" (")[0] if of in found else None
            check(shown == cells[title], f"{row[-1]}: {title} {shown}, not {cells[title]}")
            compared += 1
    return compared


def paths():
    """Of the heaviest contexts: functions by their place in JSON, from the outermost on."""
    order = sorted(range(len(tree)), key=lambda i: -(tree[i]["cycles"] if is_timed else tree[i]["calls"]))
    for i in order[:40]:
        path, at = [], i
        while at >= 0:
            path.append(tree[at]["function"])
            at = tree[at]["parent"]
        if len(path) < 100:
            yield i, path[::-1]


def look_at_contexts(number_of):
    compared = 0
    for i, path in paths():
        if not all(f in number_of for f in path) or (is_timed and tree[i]["cycles"] == 0):
            continue
        node = tree[i]
        go("#zoom=" + ".".join(number_of[f] for f in path))
        found = figures()
        if is_timed and not is_sampled:
            for of, key, low, high in (("Total", "cycles", "low", "high"), ("Self", "self_cycles", "self_low", "self_high")):
                check_time(f"context {i}", found[of].split(" (")[0], node[key], node[low], node[high])
        if "Calls" in found:
            check(found["Calls"].lstrip("?~") == str(node["calls"]), f"context {i}: {found['Calls']} calls, not {node['calls']}")
        compared += 1
    return compared


def children_of():
    children = {}
    for i, node in enumerate(tree):
        children.setdefault(node["parent"], []).append(i)
    return children


def outermost():
    """Of each node, whether none above it is of the same function."""
    children, open_, result = children_of(), {}, [False] * len(tree)
    steps = [(i, False) for i in reversed(children.get(-1, []))]
    while steps:
        i, is_leaving = steps.pop()
        f = tree[i]["function"]
        if is_leaving:
            open_[f] -= 1
            continue
        result[i] = open_.get(f, 0) == 0
        open_[f] = open_.get(f, 0) + 1
        steps.append((i, True))
        steps += [(c, False) for c in reversed(children.get(i, []))]
    return result


def look_at_neighbours(rows, numbers, json_of):
    children, is_outer = children_of(), outermost()
    names = {json_of[n]: row[-1] for row, n in zip(rows, numbers) if n in json_of}
    compared = 0
    for number in numbers[:12]:
        f = json_of.get(number)
        if f is None:
            continue
        go(f"#function={number}")
        callers, callees = {}, {}
        for i, node in enumerate(tree):
            if node["function"] != f:
                continue
            above = tree[node["parent"]]["function"] if node["parent"] >= 0 else -1
            for groups, other, j in [(callers, above, i)] + [(callees, tree[c]["function"], c) for c in children.get(i, [])]:
                sums = groups.setdefault(other, [0, 0])
                sums[0] += tree[j]["calls"]
                sums[1] += tree[j]["cycles"] if is_outer[j] else 0
        for list_, groups in (("callers", callers), ("callees", callees)):
            shown = {row[-1]: row for row in rows_of(list_)}
            check(len(shown) == len(groups), f"{list_} of {names[f]}: {sorted(shown)}, not {len(groups)}")
            for other, (calls, cycles) in groups.items():
                if other >= 0 and other not in names:
                    continue
                row = shown["[outside]" if other < 0 else names[other]]
                check(row[-2] == "-" or row[-2].lstrip("?~") == str(calls), f"{list_} of {names[f]}: {row}, not {calls} calls")
                if is_timed and "-" not in row[1] and "?" not in row[1] and not is_sampled:
                    check_time(f"{list_} of {names[f]}", row[1], cycles, cycles, cycles)
                compared += 1
    return compared


def look_for(word, rows):
    """Typed into the search, as a reader does it."""
    go("#")
    browser.evaluate("document.getElementById('canvas').focus()")
    browser.key("/")
    for letter in word:
        browser.key(letter)
    browser.evaluate(settled)
    meant = [row[-1] for row in rows if word in row[-1].lower()]
    shown = [row[-1] for row in rows_of("table")]
    check(sorted(shown) == sorted(meant), f"search {word}: {shown[:4]}, not {meant[:4]}")
    count, share = re.fullmatch(r"(\d+) functions?, (?:~?([\d.]+) %|-) of the (?:time|calls)", text("found")).groups()
    check(int(count) == len(meant), f"search {word}: {text('found')}, not {len(meant)}")
    is_meant = {i for i, f in enumerate(functions) if word in f["name"].lower()}
    key = "cycles" if is_timed else "calls"
    totals = [node[key] for node in tree]
    if not is_timed:
        for i in range(len(tree) - 1, -1, -1):
            if tree[i]["parent"] >= 0:
                totals[tree[i]["parent"]] += totals[i]
    whole = sum(t for t, node in zip(totals, tree) if node["parent"] < 0)
    inside, through = [], 0
    for i, node in enumerate(tree):
        above = node["parent"] >= 0 and inside[node["parent"]]
        here = node["function"] in is_meant
        through += totals[i] if here and not above else 0
        inside.append(above or here)
    if share and whole and not is_sampled:
        check(abs(float(share) - 100 * through / whole) < 0.06, f"search {word}: {text('found')}, not {100 * through / whole} %")
    browser.wait(f"location.hash.includes('search={word}')")
    browser.key("Escape")


def row_of_canvas(row, x=0.5):
    """Clicks into a row of the graph."""
    left, top, width = browser.evaluate("""(() => { const c = document.getElementById('canvas'); c.scrollIntoView({ block: 'center' });
      const r = c.getBoundingClientRect(); return [r.x, r.y, r.width] })()""")
    browser.click(left + x * width, top + 20 * row + 10)
    browser.evaluate(settled)


def look_at_graph():
    go("#")
    whole = text("shown-name")
    check(whole.startswith("All of "), f"at first {whole} is shown")
    row_of_canvas(1, 0.02)
    zoomed = browser.evaluate("location.hash")
    first = text("shown-name")
    check("zoom=" in zoomed and first != whole, f"a click does not zoom: {zoomed} {first}")
    check(browser.evaluate("document.getElementById('selected-name').textContent") == first, "a click does not select the function")
    row_of_canvas(0)  # back to its caller, which lies over it
    check(text("shown-name") == whole, "a click on a caller does not zoom out")
    # The same with the keyboard, in the icicle and in the flame graph, whose callers are below.
    for form, inwards, outwards in (("icicle", "ArrowDown", "ArrowUp"), ("flame", "ArrowUp", "ArrowDown")):
        browser.evaluate(f"document.getElementById('{form}').click(); document.getElementById('canvas').focus()")
        browser.key(inwards)
        browser.evaluate(settled)
        check(text("shown-name") == first, f"{form}, {inwards}: {text('shown-name')}, not {first}")
        browser.key("Enter")
        browser.evaluate(settled)
        check(browser.evaluate("location.hash").split("&")[-1].startswith(("zoom", "function")), f"{form}: Enter does not zoom")
        browser.key(outwards)
        browser.evaluate(settled)
        check(text("shown-name") == whole, f"{form}, {outwards}: {text('shown-name')}")
        browser.key("0")
        browser.evaluate(settled)
        check("zoom=" not in browser.evaluate("location.hash"), "0 does not zoom out")
    # Back through what was looked at.
    browser.evaluate("history.back()")
    browser.wait("location.hash.includes('zoom=')")


def look_at_callers(rows):
    """Turned around, the first is what took most by itself, or was called most."""
    go("#")
    browser.evaluate("document.getElementById('canvas').focus()")
    browser.key("i")
    browser.evaluate(settled)
    check(browser.evaluate("document.getElementById('inverted').getAttribute('aria-pressed')") == "true", "i does not turn around")
    browser.key("ArrowDown")
    browser.evaluate(settled)
    sums = {}
    for node in tree:
        sums[node["function"]] = sums.get(node["function"], 0) + node["self_cycles" if is_timed else "calls"]
    if is_sampled:
        return
    most = max(sums.values())
    wanted = {functions[f]["name"] for f, n in sums.items() if n == most}
    shown = text("shown-name").split(" [")[0]
    check(any(shown == n or "\\" in shown for n in wanted), f"Callers: first {shown}, not {wanted}")
    browser.key("ArrowDown")
    browser.evaluate(settled)
    check("called this way" in text("shown-figures"), f"no caller: {text('shown-figures')}")
    browser.key("f")
    browser.evaluate(settled)
    check(browser.evaluate("location.hash").count("focus=") == 1, "f does not focus")
    check(not browser.evaluate("document.getElementById('focused').hidden"), "the focus is not told")


def look_at_link():
    """A link leads to the same view."""
    go("#form=flame&inverted=true&by=calls&search=a&function=1&sort=Calls")
    what = "['shown-name', 'shown-figures', 'found', 'selected-name', 'table'].map(id => document.getElementById(id).innerText).join('|')"
    browser.evaluate(settled)
    shown = browser.evaluate(what)
    browser.open(name + ".html", browser.evaluate("location.hash"))
    browser.wait(opened)
    browser.evaluate(settled)
    check(browser.evaluate(what) == shown, "a link leads to another view")
    # What nobody means.
    for fragment in "#zoom=9999999.x&focus=-1&function=1e9&by=%ff&part=77&form=x&sort=__proto__", "#__proto__=1&constructor", "#search=%3Cb%3E":
        browser.open(name + ".html", fragment)
        browser.wait(opened)
        browser.evaluate(settled)
        check(browser.evaluate("document.getElementById('problem').hidden && !document.querySelector('b, img')"), f"{fragment} is not borne")


def take_pictures():
    for width, height in ((1280, 1300), (400, 1900)):
        for dark in (False, True):
            for kind, fragment in (("graph", "#"), ("search", "#search=e&form=flame&function=1"), ("callers", "#inverted=true&function=1")):
                browser.window(width, height, dark)
                browser.open(name + ".html", fragment)
                browser.wait(opened)
                browser.evaluate(settled)
                wide = browser.evaluate("document.documentElement.scrollWidth")
                check(wide <= width, f"the page is {wide} wide, in a window of {width}")
                browser.screenshot(f"{pictures}/{name}-{kind}-{width}-{'dark' if dark else 'light'}.png")


try:
    browser.window(1280, 900)
    browser.open(name + ".html")
    browser.wait(opened)
    browser.evaluate(settled)
    check(browser.evaluate("document.title.endsWith('prof') && document.querySelectorAll('script').length === 1 && !document.querySelector('img')"),
          "a name has become a piece of the page")
    check("--with-source" in text("no-source") and browser.evaluate("document.getElementById('sources').hidden && !document.getElementById('no-source').hidden"),
          "it does not say that it has no source")
    if is_apart:
        parts = browser.evaluate("document.getElementById('part').options.length")
        check(parts == len(of_json), f"{parts} parts, not {len(of_json)}")
        chosen = browser.evaluate("document.getElementById('part').options[1].textContent")
        check(str(of_json[1]["thread"]) in chosen, f"a part is called {chosen}")
        browser.evaluate("(() => { const s = document.getElementById('part'); s.value = 1; s.dispatchEvent(new Event('change')) })()")
        browser.wait("document.querySelector('#run p').textContent.includes('thread %d')" % of_json[1]["thread"])
        said = f"{parts} parts"
    else:
        titles, rows = look_at_table()
        rows, numbers = numbers_of(rows)
        by_name = {}
        for i, f in enumerate(functions):
            by_name.setdefault(f["name"], []).append(i)
        # Names that prof escapes, or that two functions have, are compared in the table only.
        json_of = {n: by_name[row[-1].split(" [")[0]][0] for row, n in zip(rows, numbers) if len(by_name.get(row[-1].split(" [")[0], [])) == 1}
        said = f"{len(rows)} functions, {look_at_functions(titles, rows, numbers)} figures of them"
        said += f", {look_at_contexts({f: n for n, f in json_of.items()})} contexts"
        said += f", {look_at_neighbours(rows, numbers, json_of)} neighbours"
        look_for("e", rows)
        look_for("ma", rows)
        look_at_graph()
        look_at_callers(rows)
        look_at_link()
    take_pictures()
    check(not browser.errors, f"the console has {browser.errors[:3]}")
    check(all(url.startswith(("file://", "about:")) for url in browser.requests), f"asked for {browser.requests[:5]}")
    print(said)
finally:
    browser.close()
