#!/usr/bin/env python3
"""Checks that the links of the documents lead somewhere, and that the tests that they name exist.

    links.py          exits with 1 if a link or a name is wrong

A link counts if its target is a file of the repository, with or without an anchor. `make docs` checks the links that
only DocC resolves (<doc:Name> and symbols).
"""

from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
DOCUMENTS = ("*.md", "Docs/**/*.md", "Tests/*.md", "Benchmarks/*.md", "Sources/*/*.docc/*.md")
LINK = re.compile(r"(?:\]\(|\bsrc(?:set)?=\")([^)\"\s]+)")
# A suite is a type or an extension at the start of a line. In `#if`, its name shows that it is a suite.
SUITE = re.compile(r"(?=[\w@]|.*Tests\b)[^/]*\b(?:struct|class|enum|actor|extension) (\w+)")
NAME = re.compile(r"`(\w+Tests)(?:\.(\w+))?`")


def main() -> int:
    suites = tests()
    problems, links, names = [], 0, 0
    for path in sorted({path for pattern in DOCUMENTS for path in ROOT.glob(pattern)}):
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(without_code(text).split("\n"), 1):
            place = f"{path.relative_to(ROOT)}:{number}: "
            for target in LINK.findall(line):
                if not re.match(r"\w+:", target):
                    links += 1
                    problems += [place + problem for problem in problems_of_link(path, target)]
            for suite, test in NAME.findall(line):
                names += 1
                if suite not in suites:
                    problems.append(f"{place}there is no suite and no folder {suite}")
                elif test and test not in suites[suite]:
                    problems.append(f"{place}there is no test {suite}.{test}")
    print("".join(f"{problem}\n" for problem in problems), end="")
    print(f"{links} links and {names} names of tests.")
    if not links or not names:
        print("No link or no name was found.")
    return 1 if problems or not links or not names else 0


def problems_of_link(path: pathlib.Path, target: str) -> list[str]:
    name, _, anchor = target.partition("#")
    file = (path.parent / name).resolve() if name else path
    if not file.exists():
        return [f"there is no file {target}"]
    if anchor and file.suffix == ".md" and anchor.lower() not in anchors(file):
        return [f"there is no heading for {target}"]
    return []


def anchors(file: pathlib.Path) -> set[str]:
    """Returns the anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", without_code(file.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def without_code(text: str) -> str:
    """Empties the blocks of code, and keeps the numbers of the lines."""
    return re.sub(r"^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)


def tests() -> dict[str, set[str]]:
    """Returns the tests of each suite, and the folders of tests. A disabled test doesn't count."""
    found: dict[str, set[str]] = {path.name: set() for path in ROOT.glob("Tests/*Tests")}
    for path in ROOT.glob("Tests/*/**/*.swift"):
        suite, attribute = "", None
        for line in path.read_text(encoding="utf-8").split("\n"):
            code = re.sub(r'"[^"]*"', "", line)
            if match := SUITE.match(code):
                suite = match[1]
            if code.lstrip().startswith("@Test"):
                attribute = ""
            if attribute is None:
                continue
            attribute += code
            if match := re.search(r"\bfunc (\w+)", code):
                if ".disabled(" not in attribute:
                    found.setdefault(suite, set()).add(match[1])
                attribute = None
    return found


if __name__ == "__main__":
    sys.exit(main())
