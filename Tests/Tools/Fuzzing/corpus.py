#!/usr/bin/env python3
"""Converts the committed inputs of a target. They are in one file, with one base64 input on each line. libFuzzer needs a folder.

corpus.py unpack FILE FOLDER    writes each input to a file that is named after the digest of the input
corpus.py pack FOLDER FILE      adds the inputs of a folder to the file
"""
import base64
import hashlib
import pathlib
import sys


def read(file):
    return {base64.b64decode(line) for line in file.read_text().split()} if file.exists() else set()


def main(command, source, target):
    source, target = pathlib.Path(source), pathlib.Path(target)
    if command == "unpack":
        target.mkdir(parents=True, exist_ok=True)
        for data in read(source):
            (target / hashlib.sha1(data).hexdigest()).write_bytes(data)
    elif command == "pack":
        inputs = read(target) | {file.read_bytes() for file in source.iterdir()}
        # The lines are sorted, so each new input adds one line. The file does not contain the empty input, because every
        # run of libFuzzer begins with it.
        target.write_text("".join(base64.b64encode(data).decode() + "\n" for data in sorted(inputs) if data))


if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
    sys.exit(__doc__)
main(*sys.argv[1:])
