"""two_sources.py PAGE ANNOTATION-A ANNOTATION-B [FILE=SIDES...]: the source in what prof diff --html --with-source wrote has, line by line, what
prof --annotate printed of each of the profiles, of one run each. SIDES says whose figures are to be in the files that end with FILE: ab,
which is usual, a or b. Says what is not so, and then ends with status 1; else prints how much it compared.

A reader of its own, by what prof/page/sources.h says."""

import math
import re
import sys

from contents import Packed, check, check_safe
from sources import sections
from two_profiles import TwoProfiles


class TwoSources(Packed):
    """Files: path, selves, ran, note; lines, by number: cells, text, heat, change."""

    def __init__(self, text):
        super().__init__(text)
        content, columns = self.content, self.columns
        self.titles, self.remarks, self.files = content["titles"], content["remarks"], []
        lines = zip(columns["lines.number"], columns["lines.heat"], columns["lines.change"], strict=True)
        blank = [""] * len(self.titles)
        for file, count in zip(content["files"], columns["files.lines"], strict=True):
            texts = (file["text"] or "").split("\n")[:-1]
            known = {number: [blank, text, 0, 0] for number, text in enumerate(texts, 1)}
            number = 0
            check(len(file["cells"]) == count, f"{file['path']}: cells of {len(file['cells'])} lines, not {count}")
            for cells in file["cells"]:
                step, heat, change = next(lines)
                number += step
                known[number] = [cells, texts[number - 1] if number <= len(texts) else "", heat, change]
            self.files.append({**file, "lines": known})
        check(next(lines, None) is None, "lines of no file")
        self.places = list(zip(columns["functions.file"], columns["functions.line"], strict=True))


def seconds(shown):
    """The ends of a time; of none, 0."""
    if not shown:
        return 0, 0
    digits, unit = re.fullmatch(r"[~?+-]*([\d.-]+?)(ns|us|ms|s)?", shown).groups()
    ends = [float(end) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, None: 1}[unit] for end in digits.split("-")]
    return ends[0], ends[-1]


def rounding(end):
    """By how much an end of a printed range may be off: it has two digits, rounded away from the other end."""
    return 10 ** (math.floor(math.log10(end)) - 1) if end > 0 else 0


def check_change(cells, change, titles, of_annotations, what):
    """Of a line that is compared: the sign, whether it is known, and that colour and text are the same. Returns 1."""
    shown = cells[-1]
    if not shown:
        check(change == 0, f"{what}: colour {change} of nothing")
        return 0
    colour = "grey" if change == 1 else "red" if 2 <= change <= 5 else "blue"
    is_known = not shown.startswith("~") and shown != "0"
    check(colour == (("red" if shown[0] == "+" else "blue") if is_known else "grey"), f"{what}: {shown} is {colour}")
    if "Self A" in titles and titles[0] != "Executions A" or is_of_time(titles, cells):
        ends = [seconds(of) for of in of_annotations]
        if is_known:
            (a, b), (c, d) = ends
            is_apart = b - rounding(b) <= c + rounding(c) or d - rounding(d) <= a + rounding(a)
            check(is_apart, f"{what}: {shown} is known, and {of_annotations} are not apart")
    else:
        a, b = (int(cell) if cell.isdigit() else 0 for cell in cells[:2])
        check(shown == (f"{b - a:+d}" if b != a else "0"), f"{what}: {shown} of {a} and {b}")
    return 1


def is_of_time(titles, cells):
    return "Self A" in titles and bool(re.search("s$", cells[-1]))


def main():
    profiles, _, *source = check_safe(sys.argv[1])
    check(len(source) == 1, "no source")
    profile, sources = TwoProfiles(profiles[0]), TwoSources(source[0])
    annotations = [{heading.split(": ")[0]: (titles, rows) for heading, titles, rows in sections(path)} for path in sys.argv[2:4]]
    sides = dict(argument.split("=") for argument in sys.argv[4:])
    titles = sources.titles
    check({f["path"] for f in sources.files} == {path for one in annotations for path in one}, f"files {[f['path'] for f in sources.files]}")
    compared = changes = 0
    for file in sources.files:
        path = file["path"]
        wanted = next((of for end, of in sides.items() if path.endswith(end)), "ab")
        check((file["note"] == "") == (wanted == "ab"), f"{path}: the note is {file['note']!r}")
        printed = []
        for annotation in annotations:
            of_titles, rows = annotation.get(path, ([], []))
            printed.append({int(cells[-1]): dict(zip(of_titles, cells)) | {"text": text} for cells, text in rows})
        for number, (cells, text, heat, change) in file["lines"].items():
            what = f"{path}:{number}"
            of = [one.get(number, {}) for one in printed]
            for side, letter in enumerate("AB"):
                count, self_ = (cells[titles.index(t)] if (t := f"{title} {letter}") in titles else None for title in (titles[0][:-2], "Self"))
                if letter.lower() not in wanted:
                    check(not any(cells) or (count in ("-", "") and self_ in ("-", "", None)), f"{what}: {cells}, of {letter}")
                    continue
                check(count == of[side].get(titles[0][:-2], ""), f"{what}: {count} of {letter}, not {of[side]}")
                if self_ is None:
                    continue
                low, high = seconds(of[side].get("Self", ""))
                check((self_ == "") == (of[side].get("Self", "") == ""), f"{what}: {self_} of {letter}, not {of[side]}")
                check(low * 0.99 <= seconds(self_)[0] <= high * 1.01, f"{what}: {self_} of {letter}, not {of[side]}")
                compared += 1
            shown = next((one["text"] for one, letter in zip(of, "ab") if letter in wanted and one), "")
            check(not shown or text == shown, f"{what}: {text!r}, not {shown!r}")
            if wanted == "ab":
                changes += check_change(cells, change, titles, [one.get("Self", "") for one in of], what)
            else:
                check(change == 0 and heat == 0 and cells[-1] == "", f"{what}: {cells} is compared")
            compared += any(cells)
    names = profile.content["functions"]["name"]
    check(len(sources.places) == len(names), f"{len(sources.places)} places of {len(names)} functions")
    for (file, line), name in zip(sources.places, names):
        if not file:
            continue
        check(line in sources.files[file - 1]["lines"], f"{name} begins nowhere: {file}, {line}")
        plain = re.sub(r" .*|\(.*|\..*", "", name)
        text = sources.files[file - 1]["lines"][line][1]
        is_in_file = re.fullmatch(r"\w+", plain) and re.search(rf"\b{plain}\(", sources.files[file - 1]["text"] or "")
        check(not is_in_file or plain in text, f"{name} begins at {text!r}")
    check(compared and any(file for file, _ in sources.places), "nothing was compared")
    for remark in sources.remarks:
        print("remark:", remark)
    print(f"{compared} figures, {changes} changes")


if __name__ == "__main__":
    main()
