"""Where the functions of an ELF program are, by what does not depend on profld: its unwind table, its disassembly.

And where profld says they are: the map of copies in the program that it wrote (libprof/format/map.h), and its report.
"""

import bisect
import collections
import json
import pathlib
import re
import struct
import subprocess
from collections.abc import Iterator

SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS = 2, 4, 8
ET_EXEC = 2


class Sections:
    """The sections of an ELF file of 64 bits, by name."""

    def __init__(self, path: pathlib.Path):
        data = path.read_bytes()
        self.kind, self.entry = struct.unpack_from("<H6xQ", data, 16)
        (offset,) = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        headers = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
        strings = headers[names][4] if headers else 0
        self.flags: dict[str, int] = {}
        self._contents: dict[str, bytes] = {}
        for name, kind, flags, _, start, length in headers:
            word = data[strings + name : data.index(0, strings + name)].decode()
            self.flags[word] = flags
            self._contents[word] = b"" if kind == SHT_NOBITS else data[start : start + length]

    def contents(self, name: str) -> bytes:
        return self._contents.get(name, b"")

    def words(self, name: str, step: int = 8, first: int = 0) -> Iterator[int]:
        """Words of 8 bytes, each so many bytes after the one before it."""
        data = self.contents(name)
        for at in range(first, len(data) - 7, step):
            yield from struct.unpack_from("<Q", data, at)


_RECORD = re.compile(r" FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)")


class Ranges:
    """The ranges of code that a program's unwind table has records of."""

    def __init__(self, program: pathlib.Path):
        self.ends: dict[int, int] = {}
        self.in_frame: set[int] = set()  # starts of ranges at which the stack is not as at a function's entry
        start = None  # of the record that is being read, before its first row ends
        for line in lines("readelf", "--debug-dump=frames", "-W", program):
            if match := _RECORD.search(line):
                start, end = int(match[1], 16), int(match[2], 16)
                if start != end:
                    self.ends[start] = end
            elif "DW_CFA_advance_loc" in line or not line.strip():
                start = None
            elif start is not None and "DW_CFA_def_cfa" in line and not line.endswith(": 8\n"):
                self.in_frame.add(start)
        self.starts = sorted(self.ends)

    def start_of(self, address: int) -> int | None:
        """The start of the range that an address is in."""
        i = bisect.bisect_right(self.starts, address) - 1
        return self.starts[i] if i >= 0 and address < self.ends[self.starts[i]] else None


class Found:
    """The functions that profld found in a program, and which of them have hooks. Without arguments: none."""

    def __init__(self, copy: pathlib.Path | None = None, report: pathlib.Path | None = None):
        self.hooked: set[int] = set()
        self.parts: set[int] = set()  # where ranges of them begin that are no entries
        self.stay: dict[int, str] = {}  # address, reason
        if copy and report:
            sections = Sections(copy)
            imports = {function for function, _, _ in records(sections.contents(".prof.imports"), "<QII")}
            for _, original, function, _, _ in records(sections.contents(".prof.map"), "<QQQII"):
                if function not in imports:
                    self.hooked.add(function)
                    if original != function:
                        self.parts.add(original)
            self.stay = {int(f["address"], 16): f["reason"] for f in json.loads(report.read_text())["skipped"]}
            self.hooked -= self.stay.keys()

    def starts(self) -> set[int]:
        return self.hooked | self.stay.keys()


def records(data: bytes, layout: str) -> Iterator[tuple[int, ...]]:
    """The records of a section of profld's. Its header tells the size of one, and how many there are."""
    if data:
        size, count = struct.unpack_from("<8xI4xQ", data)
        for i in range(count):
            yield struct.unpack_from(layout, data, 24 + i * size)


# A branch, the address of code relative to the instruction, a number.
_BRANCH = re.compile(r"^ *([0-9a-f]+):\s.*\b(?:call|j[a-z]+|xbegin|loop[a-z]*) +(?:\*?0x)?([0-9a-f]+)(?: <|$)")
_ADDRESS = re.compile(r"^ *([0-9a-f]+):\slea .*# ([0-9a-f]+)")
_NUMBER = re.compile(r"^ *([0-9a-f]+):\s.*\$0x([0-9a-f]+)")


def referred_to(program: pathlib.Path, starts: set[int], ranges: Ranges) -> tuple[set[int], set[int]]:
    """Those of the starts that something outside the function itself refers to: code, a pointer, a symbol, the header.

    And of these the ones that code which runs may come to: they are not only referred to by functions that nothing refers to.
    """
    sections = Sections(program)
    absolute = sections.kind == ET_EXEC
    reached = {sections.entry}
    reached.update(sections.words(".dynsym", 24, 8))
    reached.update(sections.words(".rela.dyn", 24, 16))
    if absolute or ".relr.dyn" in sections.flags:
        for name, flags in sections.flags.items():
            if flags & SHF_ALLOC and not flags & SHF_EXECINSTR:
                reached.update(sections.words(name))
    reached &= starts
    references: dict[int | None, set[int]] = collections.defaultdict(set)  # by the start of the range that refers
    patterns = [_BRANCH, _ADDRESS] + ([_NUMBER] if absolute else [])
    for line in lines("objdump", "-d", "-w", "--no-show-raw-insn", program):
        for pattern in patterns:
            if match := pattern.match(line):
                target = int(match[2], 16)
                if target in starts:
                    source = ranges.start_of(int(match[1], 16))
                    if source != target:
                        references[source].add(target)
    referred = reached.union(*references.values())
    # A part of a function that is no start is taken to run; so is code that no table describes.
    pending = [source for source in references if source not in starts or source in reached]
    while pending:
        for target in references.get(pending.pop(), set()) - reached:
            reached.add(target)
            pending.append(target)
    return referred, reached


def lines(*command: str | pathlib.Path) -> Iterator[str]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield from process.stdout
