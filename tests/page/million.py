"""million.py PAGE PICTURES SECONDS SIZE: a page of a million contexts, made in so many seconds: opens it, zooms and searches. Each time
is the least of three, since other load only adds to it."""

import sys

from browser import Browser

page, pictures, made, size = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
opened = "performance.getEntriesByName('open', 'measure').length > 0"


def check(condition, text):
    if not condition:
        sys.exit(text)


opening, searching, zooming = [], [], []
for _ in range(3):
    browser = Browser()
    try:
        browser.window(1280, 1000)
        browser.open(page)
        browser.wait(opened)
        # From the navigation on, so with the reading of the file.
        opening.append(browser.evaluate("(({ startTime, duration }) => startTime + duration)(performance.getEntriesByName('open', 'measure')[0])"))
        browser.wait("document.getElementById('shown-figures').textContent")
        for word in "callee", "callee<5", "er<99":
            searching.append(browser.evaluate("""(() => {
              performance.clearMeasures();
              const input = document.getElementById('search');
              input.value = %r;
              input.dispatchEvent(new Event('input'));
              return performance.getEntriesByName('search', 'measure')[0].duration;
            })()""" % word))
        found = browser.evaluate("document.getElementById('found').textContent")
        check(found.startswith("11 functions, "), f"er<99: {found}")
        for button in "inverted", "flame", "icicle", "inverted":
            zooming.append(browser.evaluate("""(() => {
              performance.clearMeasures();
              document.getElementById('%s').click();
              return performance.getEntriesByName('show a graph', 'measure')[0].duration;
            })()""" % button))
        browser.evaluate("new Promise(done => setTimeout(done, 100))")
        browser.screenshot(f"{pictures}/million.png")
        check(not browser.errors, f"the console has {browser.errors[:3]}")
    finally:
        browser.close()
search = max(min(searching[i::3]) for i in range(3))  # the longest of the three
graph = max(min(zooming[i::4]) for i in range(4))
print(f"{size / 1e6:.1f} MB made in {made:.1f} s, opened in {min(opening) / 1e3:.1f} s, searched in {search:.0f} ms, turned around in {graph:.0f} ms")
check(size <= 15e6, "larger than 15 MB")
check(made < 3, "made in more than 3 s")
check(min(opening) < 3000, "opened in more than 3 s")
check(search < 300, "searched in more than 300 ms")
