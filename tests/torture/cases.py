"""Which of GCC's tests there are, and what each is compiled from and with.

GCC's test suite describes itself in comments such as { dg-options "-fwrapv" }, which DejaGnu interprets. Only what
decides how a program is made matters here: its sources and its options. What a test demands of its target, what it
expects the compiler to say and where it is expected to fail need not be known: a test that cannot be compiled, or that
fails before profld has touched it, is not applicable.
"""

import dataclasses
import os
import pathlib
import re
import subprocess
import tempfile

TARBALL = pathlib.Path("/usr/src/gcc-12/gcc-12.2.0-dfsg.tar.xz")  # Debian's package gcc-12-source
FOLDERS = ["gcc.c-torture/execute", "g++.dg/eh", "g++.dg/torture"]
# Files elsewhere in the test suite that tests in these folders include.
INCLUDED = ["gcc.dg/tg-tests.h", "gcc.dg/tree-ssa/pr91680.c"]


@dataclasses.dataclass(frozen=True)
class Case:
    name: str  # the first source, relative to the test suite
    language: str  # "c" or "c++"
    sources: tuple[pathlib.Path, ...]
    options: tuple[str, ...]
    replaces_library: bool = False  # defines memcpy and the like, which a static library then calls


def unpack(into: pathlib.Path) -> pathlib.Path:
    """Unpacks the folders above out of TARBALL into a folder, unless they are there, and returns that of the suite."""
    suite = into / "testsuite"
    if suite.exists():
        return suite
    if not TARBALL.exists():
        raise SystemExit(f"torture: there is no {TARBALL}: install Debian's package gcc-12-source")
    into.mkdir(parents=True, exist_ok=True)
    # All at once: what was interrupted, or goes on elsewhere at the same time, is not taken for the whole.
    with tempfile.TemporaryDirectory(dir=into) as folder:
        wanted = [f"gcc-12.2.0/gcc/testsuite/{path}" for path in FOLDERS + INCLUDED]
        subprocess.run(["tar", "-xJf", TARBALL, "-C", folder, "--strip-components=2", *wanted], check=True)
        try:
            os.rename(f"{folder}/testsuite", suite)
        except OSError:
            if not suite.exists():
                raise
    return suite


def find(suite: pathlib.Path) -> list[Case]:
    """All tests of these folders that are programs to be run, in a fixed order."""
    c = suite / "gcc.c-torture" / "execute"
    cases = [_case(suite, "c", source, []) for source in c.glob("*.c")]
    cases += [_case(suite, "c", source, ["-fno-inline"]) for source in (c / "ieee").glob("*.c")]
    # These replace functions of the library by others, in LIB, and check which calls are left.
    for source in (c / "builtins").glob("*.c"):
        library = source.with_name(source.stem + "-lib.c")
        if library.exists():
            case = _case(suite, "c", source, _BUILTINS, library, c / "builtins" / "lib" / "main.c")
            cases.append(dataclasses.replace(case, replaces_library=True))
    for folder in FOLDERS[1:]:
        for source in (suite / folder).rglob("*.C"):
            if _RUN.search(_text(source)):
                forced = ["-mstackrealign"] if source.parent.name == "stackalign" else []
                cases.append(_case(suite, "c++", source, forced))
    return sorted(cases, key=lambda case: case.name)


# As builtins.exp has it, less what is there for other targets.
_BUILTINS = ["-fno-tree-dse", "-fno-tree-loop-distribute-patterns", "-fno-tracer", "-fno-ipa-ra", "-fno-inline-functions"]
_RUN = re.compile(r"\{\s*dg-do\s+run\b")
_OPTIONS = re.compile(r'\{\s*dg-(?:additional-)?options\s+("[^"]*"|\{[^{}]*\}|\S+)\s*(\{.*\})?\s*\}')
_SOURCES = re.compile(r'\{\s*dg-additional-sources\s+"([^"]*)"')


def _text(path: pathlib.Path) -> str:
    return path.read_text(encoding="latin-1")


def _case(suite: pathlib.Path, language: str, source: pathlib.Path, forced: list[str], *others: pathlib.Path) -> Case:
    text = _text(source)
    # As the suite has it; later standards have no throw(int), of which the tests of exceptions are full.
    options = ["-std=gnu++14"] if language == "c++" else []
    options += forced
    for words, selector in _OPTIONS.findall(text):
        if _selected(selector):
            options += words.strip('{}" ').replace('"', "").split()
    for names in _SOURCES.findall(text):
        others += tuple(source.with_name(name) for name in names.split())
    return Case(str(source.relative_to(suite)), language, (source, *others), tuple(options))


def _selected(selector: str) -> bool:
    """Whether options for some targets are for x86-64."""
    if not selector:
        return True
    return bool(re.search(r"x86_64|\bfpic\b|lp64", selector)) and not re.search(r"ia32|ilp32|!", selector)
