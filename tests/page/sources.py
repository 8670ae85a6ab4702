"""sources.py PAGE ANNOTATION DISASSEMBLY: the source in what prof --html --with-source wrote is what prof --annotate printed, and the
instructions are those of prof --disassemble. Says what is not so, and then ends with status 1; else prints how much it compared.

The reader is that of contents.py, by what prof/page/sources.h says."""

import re
import sys

from contents import Packed, Profile, check, check_safe, signed


def cells_of(titles, line):
    """Cells are flushed right, each below its title."""
    ends = [match.end() for match in re.finditer(r"\S+", titles)]
    return [line[begin:end].strip() for begin, end in zip([0, *ends], ends)]


def sections(path):
    """What is printed of each file or function: the heading, the titles, and the rows, as cells and a text."""
    output = open(path, encoding="utf-8", errors="surrogateescape").read()
    for section in output.split("\n\n"):
        heading, titles, *lines = section.rstrip("\n").split("\n")
        rows = [(cells_of(titles, cells), text) for cells, _, text in (line.partition("\t") for line in lines)]
        yield heading, titles.split(), rows


class Sources(Packed):
    """Files: path, about, titles; lines, by number: cells, text, heat, instructions."""

    def __init__(self, text, names):
        super().__init__(text)
        content, columns = self.content, self.columns
        self.titles, self.remarks, self.files = content["titles"], content["remarks"], []
        lines = zip(columns["lines.number"], columns["lines.heat"], columns["lines.instructions"])
        made = zip(content["instructions"]["cells"], content["instructions"]["text"], columns["instructions.function"],
                   map(signed, columns["instructions.distance"]))
        blank = [""] * len(self.titles)
        for file, count in zip(content["files"], columns["files.lines"], strict=True):
            texts = (file["text"] or "").split("\n")[:-1]
            known = {number: [blank, text, 0, []] for number, text in enumerate(texts, 1)}
            number = 0
            check(len(file["cells"]) == count, f"{file['path']}: cells of {len(file['cells'])} lines, not {count}")
            for cells in file["cells"]:
                step, heat, instructions = next(lines)
                number += step
                text = texts[number - 1] if number <= len(texts) else ""
                known[number] = [cells, text, heat, [next(made) for _ in range(instructions)]]
            self.files.append({**file, "lines": known, "heat": sum(heat for _, _, heat, _ in known.values())})
        check(next(lines, None) is None and next(made, None) is None, "lines or instructions of no file")
        self.places = list(zip(columns["functions.file"], columns["functions.line"]))
        self.names = names


def check_annotation(sources, path):
    printed = list(sections(path))
    check({f["path"] for f in sources.files} == {heading.split(": ")[0] for heading, _, _ in printed}, "other files")
    compared = 0
    for heading, titles, rows in printed:
        file = next(f for f in sources.files if f["path"] == heading.split(": ")[0])
        check(heading == file["path"] + (": " + file["ran"] if file["ran"] else ""), f"{heading}: {file['ran']}")
        check([*sources.titles, "Line"] == titles, f"titles {sources.titles}, not {titles}")
        wanted = {int(cells[-1]): (cells[:-1], text) for cells, text in rows}
        for number, (cells, text) in wanted.items():
            of_page = file["lines"].get(number)
            check(of_page and tuple(of_page[:2]) == (cells, text), f"line {number}: {of_page}, not {cells} {text}")
            compared += 1
        more = [n for n, (cells, _, _, _) in file["lines"].items() if n not in wanted and any(cells)]
        check(not more, f"{heading}: more lines: {more[:3]}")
    # Each line is rounded.
    for one, next_ in zip(sources.files, sources.files[1:]):
        check(one["heat"] + len(one["cells"]) + len(next_["cells"]) >= next_["heat"], f"{one['path']} is before {next_['path']}")
    return compared


def check_instructions(sources, path):
    printed = {}
    for heading, titles, rows in sections(path):
        function, line = heading.rsplit(", ", 1 + heading.endswith(("call", "calls")))[0], ""
        for cells, text in rows:
            cells = dict(zip(titles, cells))
            if not cells["Address"]:
                line = re.match(r".*?:\d+", text)[0]
                continue
            printed.setdefault((function, cells["Distance"]), []).append([line, cells.get("Executions", ""), cells.get("Self", ""), text.strip()])
    compared = 0
    for file in sources.files:
        for number, (_, _, _, instructions) in file["lines"].items():
            for cells, text, function, distance in instructions:
                cells = dict(zip(sources.titles, cells))
                key = sources.names[function], ("-" if distance < 0 else "+") + hex(abs(distance))
                of_page = [f"{file['path'].split('/')[-1]}:{number}", cells.get("Executions", ""), cells.get("Self", ""), text]
                check(of_page in printed.get(key, []), f"{key}: {of_page}, not {printed.get(key)}")  # several functions may have a name
                compared += 1
    return compared


def main():
    profiles, _, *source = check_safe(sys.argv[1])
    check(len(source) == 1, "no source")
    content = Profile(profiles[0]).content
    sources = Sources(source[0], content["functions"]["name"])
    check(len(sources.places) >= len(sources.names), "functions without places")
    lines, instructions = check_annotation(sources, sys.argv[2]), check_instructions(sources, sys.argv[3])
    for (file, line), name in zip(sources.places, sources.names):
        check(not file or line in sources.files[file - 1]["lines"], f"{name} begins nowhere: {file}, {line}")
    check(lines and instructions, f"{lines} lines and {instructions} instructions")
    print(f"{lines} lines, {instructions} instructions, {sum(1 for file, _ in sources.places if file)} functions")


if __name__ == "__main__":
    main()
