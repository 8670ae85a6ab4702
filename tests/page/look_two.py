"""look_two.py NAME PICTURES PROF-DIFF-ARGUMENT...: opens NAME.html, the page of two profiles, does what a reader does, and compares what
is shown with NAME.json, of the same prof diff, and with what prof diff prints of the profiles, which tell all of their clock; and the source,
with --with-source, with what is packed of it, which tests/e2e/reading/page_diff.sh compares with prof --annotate.
Prints what was compared, or ends with what is wrong."""

import json
import subprocess
import sys

from browser import Browser
from contents import check_safe
from two_profiles import table_of
from two_sources import TwoSources

name, pictures, has_source = sys.argv[1], sys.argv[2], "--with-source" in sys.argv
arguments = [argument for argument in sys.argv[3:] if argument != "--with-source"]
of_json = json.load(open(name + ".json"))
functions, tree = of_json["functions"], of_json["tree"]
is_timed = "self_seconds" in functions[0] and of_json["type"] != "count"
opened = "performance.getEntriesByName('open', 'measure').length > 0"
settled = "new Promise(done => setTimeout(() => setTimeout(done)))"


def check(condition, text):
    if not condition:
        sys.exit(f"{name}: {text}")


def printed(*options):
    """Header, titles and rows of the table, without the sum of all."""
    with open(name + ".table", "wb") as file:
        subprocess.run(["prof", "diff", "-w", *options, *arguments], stdout=file, check=True)
    header, titles, rows = table_of(name + ".table")
    return header, titles, rows[:-1], rows[-1]


browser = Browser()
text = lambda id_: browser.evaluate(f"document.getElementById('{id_}').textContent")


def go(fragment):
    browser.evaluate("""new Promise(done => {
      if (location.hash === %s) return done();
      addEventListener('popstate', () => setTimeout(() => setTimeout(done)), { once: true });
      location.hash = %s;
    })""" % (json.dumps(fragment.rstrip("#")), json.dumps(fragment)))


def click(selector):
    x, y = browser.evaluate("""(() => { const e = %s; e.scrollIntoView({ block: 'center' });
      const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()""" % selector)
    browser.click(x, y)
    browser.evaluate(settled)


def rows_of(list_):
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


# As prof diff shows them.


def duration(seconds):
    unit, scale = next((u for u in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)) if seconds * u[1] < 999.5), ("s", 1))
    n = seconds * scale
    digits = f"{n:.{2 if n < 9.995 else 1 if n < 99.95 else 0}f}"
    return "0" if digits == "0.00" else digits + unit


def marked(change, shown):
    return ("" if change["known"] or change["change"] == 0 else "~") + shown


def part(change, in_):
    if in_ != "both":
        return "gone" if in_ == "a" else "new"
    if change["a"] <= 0:
        return ""
    percent = 100 * abs(change["change"]) / change["a"]
    size = f"{percent:.{2 if percent < 9.995 else 1 if percent < 99.95 else 0}f}%"
    return "0%" if size == "0.00%" else ("-" if change["change"] < 0 else "+") + size


def times(change, in_):
    of = part(change, in_)
    return marked(change, duration(change["a"]) + "->" + duration(change["b"])) + (f" ({of})" if of else "")


def calls(change):
    shown = lambda n: f"{n:.0f}" if n == int(n) else f"{n:.1f}"
    return shown(change["a"]) if change["change"] == 0 else marked(change, shown(change["a"]) + "->" + shown(change["b"]))


def figures_of(item):
    found = []
    if is_timed:
        found += ["Total " + times(item["total_seconds"], item["in"]), "Self " + times(item["self_seconds"], item["in"])]
    return found + (["Calls " + calls(item["calls"])] if "calls" in item else [])


def path_of(i):
    path = []
    while i >= 0:
        path.append(str(tree[i]["function"]))
        i = tree[i]["parent"]
    return ".".join(path[::-1])


def look_at_table():
    header, titles, rows, everything = printed()
    lines = browser.evaluate("[...document.querySelectorAll('#run p')].map(p => p.textContent)")
    check(lines == header, f"the header is {lines}, not {header}")
    shown = rows_of("table")
    check(shown == rows, f"the table has {[pair for pair in zip(shown, rows) if pair[0] != pair[1]][:2]}, {len(shown)} rows, not {len(rows)}")
    last = browser.evaluate("[...document.querySelectorAll('#table tfoot td')].map(td => td.textContent)")
    check(last == everything, f"the sum is {last}, not {everything}")
    keys = {"Change": "self", "Total": "total", "Calls": "calls", "Per call": "per-call", "Name": "name"}
    for title in [*titles, "Name"]:
        click("[...document.querySelectorAll('#table th button')].find(b => b.textContent === %s)" % json.dumps(title))
        check(browser.evaluate("document.querySelector('#table th[aria-sort] button').textContent") == title, f"no sign at {title}")
        shown = rows_of("table")
        check(sorted(shown) == sorted(rows), f"sorted by {title}: other rows")
        if title not in keys:
            continue
        wanted, at = printed("--sort", keys[title])[2], titles.index(title) if title in titles else -1
        # What is alike may stand in either order.
        check([row[at].lstrip("~+-") for row in shown] == [row[at].lstrip("~+-") for row in wanted] or title == "Calls", f"sorted by {title}: {shown[:4]}, not {wanted[:4]}")
        if title == "Calls":
            change = {f"{f['name']}": abs(f["calls"]["change"]) if "calls" in f else 0 for f in functions}
            order = [change.get(row[-1].split(" (was ")[0], 0) for row in shown]
            check(order == sorted(order, reverse=True), f"sorted by {title}: {order}")
    return len(rows)


def look_at_figures():
    """The line under the graph, of functions and of contexts."""
    compared = 0
    for i, f in enumerate(functions):
        if f["in"] == "none":
            continue
        go(f"#focus={i}&by={'time' if is_timed else 'calls'}{'_a' if f['in'] == 'a' else ''}")
        if any(node["function"] == i for node in tree):
            check(text("shown-figures").split(" \u00b7 ") == figures_of(f), f"{f['name']}: {text('shown-figures')}, not {figures_of(f)}")
            compared += 1
    for i, node in enumerate(tree):
        go(f"#zoom={path_of(i)}&by={'time' if is_timed else 'calls'}{'_a' if node['in'] == 'a' else ''}")
        # What is drawn leads there: it has a width.
        if is_timed and max(node["total_seconds"]["a"], node["total_seconds"]["b"]) < 1e-9:
            continue
        wanted = figures_of(node)
        check(text("shown-figures").split(" \u00b7 ") == wanted, f"context {i}: {text('shown-figures')}, not {wanted}")
        compared += 1
    return compared


def colour_at(x, row):
    # Read from a copy: the console complains of whoever reads a canvas often.
    return browser.evaluate("""(() => { const copy = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      copy.drawImage(document.getElementById('canvas'), %d, 20 * %d + 3, 1, 1, 0, 0, 1, 1);
      return [...copy.getImageData(0, 0, 1, 1).data] })()""" % (x, row))


def look_at_colours():
    """What is zoomed to is as wide as the graph: red if it is known to take longer or to be called more often, blue if less, else grey."""
    seen = set()
    for dark in (False, True):
        browser.window(1280, 900, dark)
        for i, node in enumerate(tree):
            change = node["total_seconds"] if is_timed else node["calls"]
            if max(change["a"], change["b"]) < 1e-9 or len(path_of(i).split(".")) > 8:
                continue
            go(f"#zoom={path_of(i)}&by={'time' if is_timed else 'calls'}{'_a' if node['in'] == 'a' else ''}")
            browser.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
            red, green, blue, _ = colour_at(1200, len(path_of(i).split(".")))
            kind = "grey" if not change["known"] or change["change"] == 0 else "red" if change["change"] > 0 else "blue"
            shown = "red" if red > blue + 15 else "blue" if blue > red + 15 else "grey"
            check(kind == shown, f"context {i} is {shown} ({red}, {green}, {blue}), not {kind}: {change}")
            seen.add(kind)
    browser.window(1280, 900)
    check(is_timed or len(seen) == 3, f"only {seen} was there")
    return " and ".join(sorted(seen))


def look_at_neighbours():
    """Callers and callees: before, after, change."""
    compared = 0
    for f, function in enumerate(functions):
        nodes = [i for i, node in enumerate(tree) if node["function"] == f]
        if function["in"] == "none" or not nodes:
            continue
        go(f"#function={f}")
        check(text("selected-name").split(" (was ")[0] == function["name"] or "\\" in text("selected-name"), f"selected {text('selected-name')}")
        titles = browser.evaluate("[...document.querySelectorAll('#callers th')].map(th => th.textContent)")
        check(titles == (["Change", "Total A", "Total B"] if is_timed else []) + ["Calls", "Name"], f"titles {titles}")
        groups = {}
        for i in nodes:
            groups.setdefault(tree[tree[i]["parent"]]["function"] if tree[i]["parent"] >= 0 else -1, []).append(i)
        shown = rows_of("callers")
        check(len(shown) == len(groups), f"callers of {function['name']}: {shown}")
        for row in shown:
            for other, some in groups.items():
                if len(some) != 1 or row[-1] != ("[outside]" if other < 0 else functions[other]["name"]):
                    continue
                node = tree[some[0]]
                wanted = ([duration(node["total_seconds"]["a"]), duration(node["total_seconds"]["b"])] if is_timed else [])
                wanted += [calls(node["calls"])] if "calls" in node else ["-"]
                # A context within another of the same function has no time of its own among the callers'.
                if any(tree[j]["function"] == f for j in above(some[0])):
                    continue
                check(row[1 if is_timed else 0:-1] == wanted, f"callers of {function['name']}: {row}, not {wanted}")
                if is_timed and node["total_seconds"]["change"]:
                    check(row[0].startswith("~") == (not node["total_seconds"]["known"]) or row[0] == "0", f"callers of {function['name']}: {row}")
                compared += 1
    return compared


def above(i):
    while tree[i]["parent"] >= 0:
        i = tree[i]["parent"]
        yield i


def look_at_sides():
    """What is new has no width in A, and what is gone none in B."""
    go("#")
    shown = browser.evaluate("[...document.querySelectorAll('#measures button')].map(b => b.textContent)")
    check(shown == (["Time B", "Time A"] if is_timed else []) + ["Calls B", "Calls A"], f"widths are of {shown}")
    for i, node in enumerate(tree):
        side = {"a": "", "b": "_a"}.get(node["in"])
        if side is not None:
            go(f"#zoom={path_of(i)}&by={'time' if is_timed else 'calls'}{side}")
            check(text("shown-name").split(" (was ")[0] != functions[node["function"]]["name"], f"context {i} is seen on the side that it is not on")
    for press in "i", "f":
        go("#function=0")
        browser.evaluate("document.getElementById('canvas').focus()")
        browser.key(press)
        browser.evaluate(settled)
        check("->" in text("shown-figures") or "Calls" in text("shown-figures"), f"{press}: {text('shown-figures')}")
    go("#search=" + functions[0]["name"][:2].lower())
    check(not text("found").endswith(", "), f"found {text('found')}")
    check(browser.evaluate("document.getElementById('reading-one').hidden && !document.getElementById('reading-two').hidden"), "the page is that of one profile")


def code_rows():
    return browser.evaluate("""[...document.querySelectorAll('#code tbody tr:not([aria-hidden])')]
      .map(row => [row.className, row.getAttribute('aria-selected') === 'true', ...[...row.cells].map(cell => cell.textContent)])""")


def look_at_source():
    """Lines with the figures and colours that are packed; functions lead to theirs; what changed most is found. Returns how many lines."""
    if not has_source:
        check("prof diff --html FILE --with-source" in text("no-source"), f"it does not say how to get the source: {text('no-source')}")
        return ""
    browser.wait("performance.getEntriesByName('open the source', 'measure').length > 0")
    check(browser.evaluate("document.getElementById('no-source').hidden && document.getElementById('reading-source').hidden && "
                           "!document.getElementById('reading-source-two').hidden"), "it says that there is no source, or how that of one is read")
    source = TwoSources(check_safe(name + ".html")[2])
    classes = ["", "alike", *(f"more{n}" for n in range(1, 5)), *(f"less{n}" for n in range(1, 5))]
    go("#")
    rows = rows_of("files")
    check([row[-1] for row in rows] == [file["path"] for file in source.files], f"files {rows}")
    compared = 0
    for i, file in enumerate(source.files):
        click(f"document.querySelector('#files tbody tr:nth-child({i + 2})')")
        check(text("file-name") == file["path"] + ": " + file["ran"], f"the file is {text('file-name')}")
        titles = browser.evaluate("[...document.querySelectorAll('#code th')].map(th => th.textContent)")
        check(titles == [*source.titles, "Line", "Source"], f"titles {titles}")
        wanted = [[classes[change], *cells, str(number), line] for number, (cells, line, _, change) in sorted(file["lines"].items())]
        shown = [[row[0], *row[2:]] for row in code_rows()]
        check(shown and shown == wanted[:len(shown)], f"{file['path']}: {[pair for pair in zip(shown, wanted) if pair[0] != pair[1]][:2]}")
        check(str(sum(1 for *_, change in file["lines"].values() if change > 1)) == rows[i][-2], f"lines that changed: {rows[i]}")
        compared += len(shown)
    # From a function to its line, by a click in the table and one on the button.
    led = 0
    for i in range(len(functions)):
        click(f"document.querySelectorAll('#table tbody tr:not([aria-hidden])')[{i}]")
        if browser.evaluate("document.getElementById('to-source').hidden"):
            continue
        click("document.getElementById('to-source')")
        picked = [row for row in code_rows() if row[1]]
        check(len(picked) == 1 and text("selected-name").split(" ")[0] + "(" in picked[0][-1], f"{text('selected-name')} leads to {picked}")
        check(not any(row[0] == "instruction" for row in code_rows()), "there are instructions")
        led += 1
    check(led > 3, f"only {led} functions lead to their source")
    # The line that changed most comes first.
    go("#")
    click("document.getElementById('hot')")
    picked = [row for row in code_rows() if row[1]]
    most = max((heat, number) for number, (_, _, heat, _) in source.files[0]["lines"].items())
    check(len(picked) == 1 and source.files[0]["lines"][int(picked[0][-2])][2] == most[0] > 0, f"the line that changed most is {picked}")
    colours = {}
    for dark in (False, True):
        browser.window(1280, 900, dark)
        for kind in "more", "less", "alike":
            colour = browser.evaluate(f"getComputedStyle(document.querySelector('#code tr[class^={kind}] td')).backgroundColor")
            red, _, blue = (int(n) for n in colour[colour.index("(") + 1:].split(",")[:3])
            colours[kind, dark] = "red" if red > blue + 100 else "blue" if blue > red + 100 else "grey"
    check([*colours.values()] == ["red", "blue", "grey"] * 2, f"colours {colours}")
    for width, height in (1280, 900), (400, 800):
        for dark in (False, True):
            browser.window(width, height, dark)
            browser.evaluate("document.getElementById('source').scrollIntoView(); new Promise(done => setTimeout(done, 200))")
            wide = browser.evaluate("document.documentElement.scrollWidth")
            check(wide <= width, f"the page is {wide} wide, in a window of {width}")
            browser.screenshot(f"{pictures}/{name}-source-{width}-{'dark' if dark else 'light'}.png")
    browser.window(1280, 900)
    return f", {compared} lines, {led} functions that lead to theirs"


def take_pictures():
    """And nothing is wider than the window."""
    for width, height in (1280, 900), (400, 800):
        for dark in (False, True):
            browser.window(width, height, dark)
            for kind, fragment in ("graph", "#"), ("selected", "#function=0&by=" + ("time_a" if is_timed else "calls_a")), ("callers", "#inverted=true&search=a"), ("reading", "#"):
                go(fragment)
                browser.evaluate("scrollTo(0, %s)" % ("1e9" if kind == "reading" else "document.getElementById('lists').offsetTop - 20" if kind == "selected" else "0"))
                browser.evaluate("new Promise(done => setTimeout(done, 200))")
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
    said = f"{look_at_table()} functions, {look_at_figures()} figures, {look_at_neighbours()} neighbours, {look_at_colours()}"
    look_at_sides()
    said += look_at_source()
    take_pictures()
    check(not browser.errors, f"the console has {browser.errors[:3]}")
    check(all(url.startswith(("file://", "about:")) for url in browser.requests), f"asked for {browser.requests[:5]}")
    print(said)
finally:
    browser.close()
