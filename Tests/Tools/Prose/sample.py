#!/usr/bin/env python3
"""Prints a sample of sentences. A reader then judges which of them a newcomer has to read twice.

    sample.py --seed 7 --count 60
    sample.py --seed 7 --count 60 --kind comment --path Sources/WebSocketClient
    sample.py --counts

The same seed and sources give the same sentences. They come from doc comments, comments, pages (README, Docs, articles),
messages (strings in Sources) and names of tests. Sentences with fewer than four words are left out.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import random
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
KINDS = ["doc", "comment", "page", "message", "test"]
MINIMUM_WORDS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--kind", choices=KINDS, action="append", help="only sentences of this kind; can be repeated")
    parser.add_argument("--path", action="append", default=[], help="only below this path; can be repeated")
    parser.add_argument("--without", action="append", default=[], help="nothing below this path; can be repeated")
    parser.add_argument("--counts", action="store_true", help="print how many sentences there are of each kind")
    options = parser.parse_args()
    found = [
        sentence
        for path in sorted(paths())
        if included(path, options)
        for sentence in sentences(path)
        if options.kind is None or sentence[0] in options.kind
    ]
    if options.counts:
        for kind, count in sorted(collections.Counter(kind for kind, *_ in found).items()):
            print(f"{count:6}  {kind}")
        return
    random.Random(options.seed).shuffle(found)
    for kind, path, line, text in found[: options.count]:
        print(f"{path}:{line} [{kind}]\n    {text}")


def included(path: str, options: argparse.Namespace) -> bool:
    below = lambda places: any(path.startswith(place) for place in places)
    return (not options.path or below(options.path)) and not below(options.without)


def paths():
    patterns = ["*.md", "Docs/**/*.md", "Sources/**/*.md", "Sources/**/*.swift", "Tests/**/*.swift", "Examples/Sources/**/*.swift"]
    for pattern in patterns:
        for path in ROOT.glob(pattern):
            yield str(path.relative_to(ROOT))


def sentences(path: str):
    lines = (ROOT / path).read_text(encoding="utf-8").split("\n")
    blocks = swift_blocks(path, lines) if path.endswith(".swift") else page_blocks(lines)
    for kind, line, text in blocks:
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`*\"“])", text):
            sentence = re.sub(r"^(- )?(Parameter \w+|Parameters|Returns|Throws|Note):\s*|^- |^> |\s+", lambda match: " " if match[0].isspace() else "", sentence).strip()
            if len(sentence.split()) >= MINIMUM_WORDS and re.search(r"[a-z]{2}", sentence):
                yield kind, path, line, sentence


def swift_blocks(path: str, lines: list[str]):
    """Comments that follow each other are one text; a list item, an empty line or a code block ends the text."""
    kind, start, text, is_code = "", 0, [], False
    for number, line in enumerate([*lines, ""], 1):
        match = re.match(r"\s*(///|//)(?!/)\s?(.*)", line)
        this = {"///": "doc", "//": "comment"}[match[1]] if match else ""
        words = match[2].strip() if match else ""
        if this == "doc" and words.startswith("```"):
            is_code = not is_code
            words = ""
        breaks = this != kind or not words or words.startswith(("- ", "MARK:", "swift-tools-version")) or is_code
        if breaks and text:
            yield kind, start, " ".join(text)
            text = []
        if this and words and not is_code and not words.startswith(("MARK:", "swift-tools-version", "swift-format")):
            if not text:
                start = number
            text.append(words)
        kind = this
        if not match:
            yield from literals(path, number, line)


def literals(path: str, number: int, line: str):
    for match in re.finditer(r'"((?:[^"\\]|\\.)*)"', line):
        text = re.sub(r"\\\([^()]*(\([^()]*\))?[^()]*\)", "X", match[1])
        if re.search(r"@(Test|Suite)\(", line) or (path.startswith("Tests/") and line.strip().startswith('"') and " " in text):
            kind = "test"
        elif path.startswith("Sources/"):
            kind = "message"
        else:
            continue
        if not re.search(r"[{}<>;=]|\\n|//", text):
            yield kind, number, text


def page_blocks(lines: list[str]):
    """Paragraphs, list items, and cells of tables."""
    start, text, is_code = 0, [], False
    for number, line in enumerate([*lines, ""], 1):
        words = line.strip()
        if words.startswith("```"):
            is_code = not is_code
            words = ""
        is_cell_row = words.startswith("|")
        if text and (not words or is_code or is_cell_row or re.match(r"- |#|<|\d+\. ", words)):
            yield "page", start, " ".join(text)
            text = []
        if is_code or not words or words.startswith(("<!--", "<")) or set(words) <= set("|-: "):
            continue
        if is_cell_row:
            for cell in words.strip("|").split("|"):
                yield "page", number, cell.strip()
            continue
        if not text:
            start = number
        text.append(re.sub(r"^(#+|\d+\.) ", "", words))


if __name__ == "__main__":
    main()
