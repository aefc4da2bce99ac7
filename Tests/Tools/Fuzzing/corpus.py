#!/usr/bin/env python3
"""The committed inputs of a target are one file, with an input a line, in base64. libFuzzer wants a folder of files.

corpus.py unpack FILE FOLDER    writes each input to a file named after its digest
corpus.py pack FOLDER FILE      writes the inputs of a folder, and those that the file has already
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
        # Sorted, so that an input more is a line more. Every run of libFuzzer begins with the empty input.
        target.write_text("".join(base64.b64encode(data).decode() + "\n" for data in sorted(inputs) if data))


if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
    sys.exit(__doc__)
main(*sys.argv[1:])
