"""look_source.py NAME PICTURES: opens NAME.html, which has the source, does what a reader does, and compares what is shown with
NAME.annotation, which prof --annotate printed, and NAME.disassembly. Prints what was compared, or ends with what is wrong."""

import json
import sys

from browser import Browser
from sources import sections

name, pictures = sys.argv[1], sys.argv[2]
annotation = {heading: (titles, rows) for heading, titles, rows in sections(name + ".annotation")}
instructions = sum(1 for _, titles, rows in sections(name + ".disassembly") for cells, _ in rows if cells[titles.index("Address")])
opened = "performance.getEntriesByName('open the source', 'measure').length > 0"
settled = "new Promise(done => setTimeout(() => setTimeout(done)))"


def check(condition, text):
    if not condition:
        sys.exit(f"{name}: {text}")


browser = Browser()
text = lambda id_: browser.evaluate(f"document.getElementById('{id_}').textContent")
hash_ = lambda: browser.evaluate("location.hash")
lines_in_sight = """(() => { const w = document.getElementById('code'), box = w.getBoundingClientRect();
  return [...w.querySelectorAll('tbody tr:not([aria-hidden])')].map(row => [row, row.getBoundingClientRect()])
    .filter(([, { top, bottom }]) => top >= box.top + 20 && bottom <= box.bottom + 1)
    .map(([row]) => [row.className, row.getAttribute('aria-selected') === 'true', ...[...row.cells].map(cell => cell.textContent)]) })()"""


def open_at(fragment=""):
    browser.open(name + ".html", fragment)
    browser.wait(opened)
    browser.evaluate(settled)


def rows_of(list_):
    """All rows of a window, of which only those in sight are in the document."""
    return browser.evaluate("""(async () => {
      const list = document.getElementById(%s), rows = new Map();
      for (let top = 0; ; top += 200) {
        list.scrollTop = top;
        await new Promise(done => setTimeout(done, 20));
        list.onscroll();
        const before = list.querySelector('tr[aria-hidden]').getBoundingClientRect().height / 24;
        [...list.querySelectorAll('tbody tr:not([aria-hidden])')].forEach((row, i) =>
          rows.set(Math.round(before) + i, [...row.cells].map(cell => cell.textContent)));
        if (list.scrollTop + list.clientHeight >= list.scrollHeight - 1) break;
      }
      return [...rows].sort(([a], [b]) => a - b).map(([, row]) => row);
    })()""" % json.dumps(list_))


def click(selector):
    x, y = browser.evaluate("""(() => { const e = document.querySelector(%s); e.scrollIntoView({ block: 'center' });
      const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()""" % json.dumps(selector))
    browser.click(x, y)
    browser.evaluate(settled)


def look_at_files():
    """Each file, chosen in the list, is what prof --annotate printed of it."""
    paths = [row[-1] for row in rows_of("files")]
    check(sorted(paths) == sorted(heading.split(": ")[0] for heading in annotation), f"files {paths}")
    compared = 0
    for i, path in enumerate(paths):
        click(f"#files tbody tr:nth-child({i + 2})")
        heading = next(h for h in annotation if h.split(": ")[0] == path)
        check(text("file-name") == heading, f"the file is {text('file-name')}, not {heading}")
        titles, rows = annotation[heading]
        shown = browser.evaluate("[...document.querySelectorAll('#code th')].map(th => th.textContent)")
        check(shown == [*titles, "Source"], f"titles {shown}")
        wanted = [[*cells, source] for cells, source in rows]
        shown = rows_of("code")
        wrong = [pair for pair in zip(shown, wanted) if pair[0] != pair[1]]
        check(len(shown) == len(wanted) and not wrong, f"{path}: {len(shown)} lines, not {len(wanted)}; {wrong[:2]}")
        compared += len(shown)
    return f"{len(paths)} files, {compared} lines"


def look_at_hot_lines():
    """The hottest line is in sight when a file is opened, and marked; the button goes from it to the others."""
    open_at()
    titles, rows = annotation[text("file-name")]
    hot = [line for line in browser.evaluate(lines_in_sight) if line[0] == "heat4"]
    check(hot, f"no hot line in sight: {browser.evaluate(lines_in_sight)}")
    click("#hot")
    picked = [line for line in browser.evaluate(lines_in_sight) if line[1]]
    check(len(picked) == 1 and picked[0][0] == "heat4", f"the hottest line is {picked}")
    if "Executions" in titles and "Self" not in titles:
        most = max(int(cells[0]) for cells, _ in rows if cells[0].isdigit())
        check(picked[0][2] == str(most), f"the hottest line ran {picked[0][2]} times, not {most}")
    browser.evaluate("new Promise(done => setTimeout(done, 150))")
    check(hash_().endswith("line=" + picked[0][-2]), f"the address is {hash_()}")
    click("#hot")
    check([line for line in browser.evaluate(lines_in_sight) if line[1]] != picked, "there is no next hot line")


def look_at_functions():
    """A function that is picked in the table leads to its line, and the instructions are below it."""
    open_at()
    count, shown = browser.evaluate("document.querySelectorAll('#table tbody tr').length - 2"), 0
    for i in range(min(count, 6)):
        click(f"#table tbody tr:nth-child({i + 2})")
        if browser.evaluate("document.getElementById('to-source').hidden"):
            continue
        function = text("selected-name")
        place = text("to-source").removeprefix("Source: ").rsplit(":", 1)
        click("#to-source")
        check(text("file-name").split(": ")[0].endswith(place[0]), f"{function} is in {place}, not {text('file-name')}")
        lines = browser.evaluate(lines_in_sight)
        at = next((n for n, line in enumerate(lines) if line[1]), None)
        check(at is not None and lines[at][-2] == place[1], f"{function} is at {place}: {lines}")
        below = []
        for line in lines[at + 1:]:
            if line[0] != "instruction":
                break
            below.append(line)
        check(all(line[-2] == "" and line[-1].startswith("    ") for line in below), f"instructions: {below}")
        shown += len(below)
    check(shown, "no function leads to instructions")
    # The address has it all.
    where, lines = hash_(), browser.evaluate(lines_in_sight)
    open_at(where)
    check([line for line in browser.evaluate(lines_in_sight) if line[1]] == [line for line in lines if line[1]], f"{where} leads elsewhere")
    browser.evaluate("document.getElementById('code').focus()")
    before = next(line[-2] for line in lines if line[1])
    browser.key("ArrowDown")
    browser.evaluate(settled)
    after = next((line[-2] for line in browser.evaluate(lines_in_sight) if line[1]), None)
    check(after == str(int(before) + 1), f"the arrow leads from line {before} to {after}")
    for fragment in "#file=99&line=1", "#file=__proto__&line=x", "#file=-1&line=999999999", "#file=0.5&line=-3", "#line=1e9":
        open_at(fragment)
        check(browser.evaluate("document.getElementById('problem').hidden && !document.querySelector('b, img')"), f"{fragment} is not borne")
        check(len(browser.evaluate(lines_in_sight)) > 3, f"{fragment}: no source")
    return f"{shown} instructions of {instructions} below lines"


def take_pictures():
    for width, height in ((1280, 900), (400, 900)):
        for dark in (False, True):
            for kind in "hot", "picked":
                browser.window(width, height, dark)
                open_at()
                wide = browser.evaluate("document.documentElement.scrollWidth")
                check(wide <= width, f"the page is {wide} wide, in a window of {width}")
                if kind == "picked":
                    click("#hot")
                browser.evaluate("document.getElementById('source').scrollIntoView()")
                browser.screenshot(f"{pictures}/{name}-source-{kind}-{width}-{'dark' if dark else 'light'}.png")


try:
    browser.window(1280, 900)
    open_at()
    check(browser.evaluate("document.getElementById('no-source').hidden"), "it says that there is no source")
    said = look_at_files()
    look_at_hot_lines()
    said += ", " + look_at_functions()
    take_pictures()
    check(not browser.errors, f"the console has {browser.errors[:3]}")
    check(all(url.startswith(("file://", "about:")) for url in browser.requests), f"asked for {browser.requests[:5]}")
    print(said)
finally:
    browser.close()
