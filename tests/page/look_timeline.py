"""look_timeline.py NAME PICTURES: opens NAME.html, which has a timeline of several threads, and chooses parts of it as a reader does. What
is shown of a part is added up from the columns of the page. Prints what was compared, or ends with what is wrong."""

import json
import math
import re
import sys

from browser import Browser
from contents import Profile, check_safe

name, pictures = sys.argv[1], sys.argv[2]
profile = Profile(check_safe(name + ".html")[0][0])
content, columns = profile.content, profile.columns
sample, hz = content["timeline"]["sample"], content["hz"]
slices, last = [], 0
for step in columns["timeline.slice"]:
    last += step
    slices.append(last)
settled = "new Promise(done => setTimeout(() => setTimeout(done)))"


def check(condition, text):
    if not condition:
        sys.exit(f"{name}: {text}")


def own_samples(begin, end):
    """Of each function, and all."""
    sums, all_ = {}, 0
    for slice, node, samples in zip(slices, columns["timeline.node"], columns["timeline.samples"]):
        if begin <= slice < end:
            f = profile.functions[node]
            sums[f] = sums.get(f, 0) + samples
            all_ += samples
    return sums, all_


browser = Browser()
text = lambda id_: browser.evaluate(f"document.getElementById('{id_}').textContent")
hash_ = lambda: browser.evaluate("location.hash")
place = lambda: browser.evaluate("(() => { const e = document.getElementById('timeline'); e.scrollIntoView(); "
                                 "const r = e.getBoundingClientRect(); return [r.x, r.y, r.width] })()")


def mouse(kind, x, y):
    browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)


def drag(begin, end):
    """From one part of the width to another."""
    x, y, width = place()
    mouse("mousePressed", x + begin * width, y + 25)
    mouse("mouseMoved", x + (begin + end) / 2 * width, y + 30)
    mouse("mouseMoved", x + end * width, y + 30)
    mouse("mouseReleased", x + end * width, y + 30)
    browser.evaluate(settled)


def chosen():
    match = re.search(r"range=(\d+)-(\d+)", hash_())
    check(match, f"no range is chosen: {hash_()}")
    return int(match[1]), int(match[2])


def check_part():
    """All rows of the part that is shown. Returns how many."""
    begin, end = chosen()
    check_waiting(begin, end)
    sums, all_ = own_samples(begin, end)
    check(re.search(rf": {all_} samples?\.$", text("ranged")), f"{text('ranged')}, not {all_} samples")
    rows = browser.evaluate("document.getElementById('table').listing.all.map(row => [row.function, ...row.texts])")
    check(browser.evaluate("document.getElementById('table').listing.columns.map(c => c.title).join()") == "%,Self,Total,Name", "other columns")
    has_own = {f for f, n in sums.items() if n and content["functions"]["name"][f]}
    shown = {row[0] for row in rows}
    check(has_own <= shown, f"functions are missing: {has_own - shown}")
    counted = 0
    for f, percent, self, _ in rows:
        shares = re.fullmatch(r"~?([\d.]+)", percent)
        own_part = whole_part.get(f, 1)
        if shares and own_part > 0.999:
            share = 100 * sums.get(f, 0) / all_
            # What counters took is left out, of this function and of others.
            check(abs(float(shares[1]) - share) <= 0.06 + 0.05 * share, f"{content['functions']['name'][f]}: {percent} %, not {share}")
            counted += 1
    return len(rows), counted


def known_of(begin, end):
    """By thread, of its slices between those of its first and its last sample: how many there are in a part, and their samples."""
    known = []
    for thread in range(len(content["timeline"]["threads"])):
        of = [(slice, n) for slice, t, n in zip(slices, columns["timeline.thread"], columns["timeline.samples"]) if t == thread]
        first, last_ = of[0][0] + 1, of[-1][0]
        known.append((max(min(end, last_) - max(begin, first), 0), sum(n for slice, n in of if max(begin, first) <= slice < min(end, last_))))
    return known


def seconds(shown):
    """Both ends of a time, and how far it may be from what was rounded."""
    digits, unit = re.fullmatch(r"([\d.-]+?)(ns|us|ms|s)?", shown).groups()
    ends = digits.split("-")
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, None: 1}[unit]
    return [float(end) * scale for end in ends], len(ends) > 1


def check_waiting(begin, end):
    """How long threads were not on a processor, of a part: all and each. Returns the least that each waited, by its name."""
    known, slice = known_of(begin, end), content["timeline"]["slice"]
    shown = text("off-processor")
    if not any(n for n, _ in known):
        check(browser.evaluate("document.getElementById('off-processor').hidden"), f"{shown}, of nothing")
        return {}
    title, entries = re.fullmatch(r"(.*), from the first sample of a thread to its last: (.*)\.", shown).groups()
    check(title == "Not on a processor" + ("" if content["timeline"]["kernel"] else ", or in the kernel"), shown)
    names = [f"{of} {process}" + (f", thread {thread}" if thread != process else "") for of, process, thread in content["timeline"]["threads"]]
    wanted = [(of, n, samples, 1) for of, (n, samples) in zip(names, known) if n]
    if len(wanted) > 1:
        wanted.insert(0, (f"all {len(wanted)} threads together", sum(w[1] for w in wanted), sum(w[2] for w in wanted), len(wanted)))
    shown = [re.fullmatch(r"(.*): (\S+) of (\S+)", entry).groups() for entry in entries.split("; ")]
    check([of for of, _, _ in shown] == [w[0] for w in wanted], f"{shown}, not {wanted}")
    least = {}
    for (of, off, all_), (_, n, samples, threads) in zip(shown, wanted):
        there, unit = n * slice, 2 * sample / hz * content["timeline"]["weight"] * threads
        likely = there - samples * sample / hz
        within = lambda x: min(max(x, 0), there)
        ends, is_range = seconds(off)
        check(abs(seconds(all_)[0][0] - there) <= 0.006 * there, f"{of}: of {all_}, not {there}")
        near = [within(likely - unit), within(likely + unit)] if is_range else [within(likely)]
        check(all(abs(a - b) <= 0.06 * b + 1e-9 for a, b in zip(ends, near)), f"{of}: {off}, not {near}")
        check(is_range == (within(likely + unit) - within(likely - unit) > 0.2 * within(likely)), f"{of}: {off}, of {likely} and {unit}")
        least[of] = within(likely - unit)
    return least


def colour_at(x, y):
    # Read from a copy: the console complains of whoever reads a canvas often.
    return browser.evaluate("""(() => { const from = document.getElementById('timeline'), copy = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      copy.drawImage(from, %d, %d, 1, 1, 0, 0, 1, 1);
      return [...copy.getImageData(0, 0, 1, 1).data] })()""" % (x, y))


def look_at_waiting():
    """Where a thread is known to have had no processor, its lane says so; where it is not known to be there, nothing. Returns how often."""
    _, _, width = place()
    seen = 0
    for dark, quiet in (False, [0xe3, 0xe7, 0xeb, 255]), (True, [0x2b, 0x30, 0x36, 255]):
        browser.window(1280, 900, dark)
        browser.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        for thread, (of, process, number) in enumerate(content["timeline"]["threads"]):
            sampled = [slice for slice, t in zip(slices, columns["timeline.thread"]) if t == thread]
            gaps = [(a, b) for a, b in zip(sampled, sampled[1:]) if (b - a) * content["timeline"]["slice"] > max(0.04, content["timeline"]["length"] / 200)]
            y0 = thread * 34 + 16
            for a, b in gaps:
                x = (a + b) / 2 / all_slices * width
                check(colour_at(x, y0) == quiet, f"thread {number} waits from {a} to {b}: {colour_at(x, y0)}, not {quiet}")
                left, top, _ = place()
                browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + x, y=top + y0)
                browser.evaluate(settled)
                check("not on a processor" in text("moment") and "% on" not in text("moment"), f"it says {text('moment')}")
                seen += 1
            for slice, word in (sampled[0] / 2, " yet"), ((sampled[-1] + all_slices) / 2, " any more"):
                if min(abs(slice - sampled[0]), abs(slice - sampled[-1])) < all_slices / 20:
                    continue
                x = slice / all_slices * width
                check(colour_at(x, y0)[3] == 0, f"thread {number} may not be there in {slice}: {colour_at(x, y0)}")
                left, top, _ = place()
                browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + x, y=top + y0)
                browser.evaluate(settled)
                check(text("moment").endswith(": no samples" + word), f"it says {text('moment')}")
                seen += 1
    browser.window(1280, 900)
    return seen


# By function, what part of its samples is its own, and not of counters.
all_sums, _ = own_samples(0, 1 << 30)
whole_part = {f: columns["sums.self"][f] / (n * sample) for f, n in all_sums.items()}

browser.window(1280, 900)
browser.open(name + ".html")
browser.wait("performance.getEntriesByName('open', 'measure').length > 0")
check(not browser.evaluate("document.getElementById('time').hidden"), "no timeline is shown")
all_slices = max(math.ceil(content["timeline"]["length"] / content["timeline"]["slice"]), last + 1)
# Each thread of tests/programs/phases.cc sleeps four times for 60 ms between its first sample and its last; a slice or two at each end
# are not known. The first one waits for the others.
least = check_waiting(0, all_slices)
others = [least[f"{of} {process}, thread {number}"] for of, process, number in content["timeline"]["threads"] if process != number]
check(len(others) == 3 and min(others) > 0.2 and least[f"phases {content['timeline']['threads'][0][1]}"] > 0.2, f"they waited {least}")
quiet = look_at_waiting()
check(quiet > 10, f"only {quiet} places were looked at")
whole = text("run"), text("shown-figures"), browser.evaluate("document.getElementById('table').textContent")
compared = 0
for begin, end in ((0.05, 0.3), (0.4, 0.6), (0.7, 0.72), (0.95, 0.2)):
    drag(begin, end)
    slices_shown = chosen()
    width = slices_shown[1] - slices_shown[0]
    check(width >= 1, f"an empty range {slices_shown}")
    rows, counted = check_part()
    compared += counted
check(compared > 0, "no share was compared")
# Both ends are where the pointer was.
drag(0.25, 0.75)
begin, end = chosen()
of_all = browser.evaluate("Number(document.getElementById('timeline').clientWidth)")
check(abs((begin + end) / 2 - last / 2) <= 0.02 * last + 2 and abs(end - begin - last / 2) <= 0.02 * last + 2, f"{begin}-{end} of {last} is not the middle half")
# Zoomed, the same drag is in the range.
browser.evaluate("document.getElementById('zoom-range').click()")
drag(0.25, 0.75)
inner = chosen()
check(begin < inner[0] and inner[1] < end and "span=" in hash_(), f"{inner} is not in {begin}-{end}")
check_part()
# A function, a search, callers and the other form: of the part.
browser.evaluate("document.getElementById('inverted').click()")
browser.evaluate("document.getElementById('flame').click()")
browser.evaluate(settled)
browser.evaluate("document.getElementById('table').focus()")
browser.key("ArrowDown")
browser.wait("location.hash.includes('function=')")
# A link leads to the same, and the way back to what was there before.
link, shown = hash_(), (text("ranged"), text("selected-name"), text("callers"))
browser.open(name + ".html", link)
browser.wait("performance.getEntriesByName('open', 'measure').length > 0")
browser.evaluate(settled)
check((text("ranged"), text("selected-name"), text("callers")) == shown, "the link leads elsewhere")
for size in ((1280, 900), (400, 900)):
    for dark in False, True:
        browser.window(*size, dark)
        browser.evaluate("scrollTo(0, 0); new Promise(done => setTimeout(done, 200))")
        browser.screenshot(f"{pictures}/{name}-{size[0]}-{'dark' if dark else 'light'}.png")
browser.window(1280, 900)
# The keyboard.
browser.evaluate("document.getElementById('timeline').focus()")
browser.key("Backspace")
browser.evaluate(settled)
check("span=" not in hash_(), "Backspace does not zoom out")
browser.key("Escape")
browser.evaluate(settled)
check("range=" not in hash_(), "Escape does not go back to the whole run")
browser.key("ArrowRight")
browser.evaluate(settled)
one = chosen()
browser.key("ArrowRight")
browser.evaluate(settled)
two = chosen()
check(one[0] == 0 and two[0] == one[1] and two[1] - two[0] == one[1] - one[0], f"the arrow moves from {one} to {two}")
check_part()
# A click goes back; then all is as it was.
browser.open(name + ".html", "#range=1-2")
browser.wait("performance.getEntriesByName('open', 'measure').length > 0")
x, y, width = place()
browser.click(x + width / 2, y + 25)
browser.evaluate(settled)
check("range=" not in hash_(), f"a click does not go back: {hash_()}")
check((text("run"), text("shown-figures"), browser.evaluate("document.getElementById('table').textContent")) == whole, "the whole run is another")
# What somebody wrote into the address chooses nothing.
for wrong in ("5-5", "9-3", "0-99999", "x", "-1-4", "1e1-20"):
    browser.open(name + ".html", "#range=" + wrong)
    browser.wait("performance.getEntriesByName('open', 'measure').length > 0")
    check(browser.evaluate("document.getElementById('ranged').hidden"), f"range={wrong} is taken")
check(not browser.errors, f"the console says {browser.errors[:3]}")
browser.close()
print(f"{compared} shares of parts, {quiet} places where threads waited or were not, {len(content['timeline']['threads'])} threads")
