#!/usr/bin/env python3
"""Removes one protection of the client at a time, and checks that the simulation or the tests detect the removal.

Usage, in the package's folder: mutants.py simulation|tests [NAME...]. "mutants.py check" only checks that each text to
remove exists exactly once, in the body of one function. The script builds a copy of the package, in which an
environment variable selects the protection to remove. It prints the result of each removal, and fails if a removal was
not detected. Linux only.
"""

import collections
import concurrent.futures
import datetime
import os
import pathlib
import random
import re
import select
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import in_simulation
import in_tests
import switches

SWIFT = os.environ.get("SWIFT", "swift")
SEEDS = os.environ.get("SEEDS", "4000")
# The default is a job for each core. A mutant that makes the client hang only waits, so more jobs take less time.
JOBS = int(os.environ.get("JOBS", os.cpu_count()))
# How many of the protections to remove: others on each day. The default is all.
SAMPLE = int(os.environ.get("SAMPLE") or 0)
COPY = pathlib.Path(".build-mutants/package")
FLAGS = [*os.environ.get("FLAGS", "").split(), "--package-path", str(COPY), "--scratch-path", ".build-mutants/build"]
# The index of a mutant is its number.
MUTANTS = [None, *in_tests.MUTANTS, *in_simulation.MUTANTS]

HANGS = "found by hanging"
# The time limit of each search in seconds, by its test filter: several times the duration without a removal. A removal
# that makes the client hang exceeds the limit. It is detected too, unless another run of the unchanged client exceeds
# the limit as well.
limits = {}
# The folder of the programs.
products = None


def main():
    kind, *wanted = sys.argv[1:] or [""]
    kinds = {"simulation": (in_simulation.MUTANTS, simulate), "tests": (in_tests.MUTANTS, run_tests)}
    if kind not in [*kinds, "check"]:
        sys.exit(__doc__)
    changed, problems = changed_sources()
    if problems or kind == "check":
        sys.exit("\n".join(problems) or 0)
    mutants, search = kinds[kind]
    chosen = [mutant for mutant in mutants if not wanted or any(word in mutant[0] for word in wanted)]
    if not chosen:
        sys.exit(f"No protection has one of these words in its name: {', '.join(wanted)}")
    if SAMPLE and SAMPLE < len(chosen):
        chosen = random.Random(datetime.date.today().toordinal()).sample(chosen, SAMPLE)
    copy_package(changed)
    build(kind)
    filters = sorted({mutant[4:] for mutant in chosen})

    def run_unchanged(names):
        start = time.monotonic()
        result = search(0, *names)
        limits[names] = 60 + 6 * (time.monotonic() - start)
        return result

    def run_mutant(mutant):
        names = mutant[4:]
        result = search(MUTANTS.index(mutant), *names)
        # On a busy machine, every search may exceed its limit.
        if result == HANGS and search(0, *names) != "NOT FOUND":
            return "undecided: the unchanged client exceeds the time limit too"
        return result

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for names, result in zip(filters, pool.map(run_unchanged, filters)):
            if result != "NOT FOUND":
                pool.shutdown(cancel_futures=True)
                sys.exit(f"The unchanged client does not pass {' '.join(names)}: {result}")
        missed = 0
        for mutant, result in zip(chosen, pool.map(run_mutant, chosen)):
            print(f"{mutant[0]}: {result}", flush=True)
            missed += not result.startswith("found")
    sys.exit(1 if missed else 0)


def build(kind):
    global products
    # The simulation is several times faster in a release build.
    options = [*FLAGS, *(["-c", "release", "--product", "simulate"] if kind == "simulation" else ["--build-tests"])]
    if subprocess.run([SWIFT, "build", *options]).returncode:
        sys.exit("The copy with the mutants does not compile.")
    path = subprocess.run([SWIFT, "build", *options, "--show-bin-path"], capture_output=True, text=True, check=True)
    products = pathlib.Path(path.stdout.strip())


def changed_sources():
    """Returns the sources that contain switches, by path, and the problems of mutants."""
    by_file = collections.defaultdict(list)
    for number, (name, file, old, new, *_) in enumerate(MUTANTS[1:], 1):
        by_file[file].append((number, name, old, new))
    sources, problems = {}, []
    for file, mutants in by_file.items():
        paths = list(pathlib.Path("Sources").rglob(file))
        if len(paths) != 1:
            problems.append(f"Sources has {len(paths)} files named {file}, expected one")
            continue
        text = paths[0].read_text()
        unfit = [f"{name}: {file} contains the text {text.count(old)} times, expected once"
                 for _, name, old, _ in mutants if text.count(old) != 1]
        if not unfit:
            faults = [(number, old, new) for number, _, old, new in mutants]
            sources[paths[0]], impossible = switches.switched(text, faults)
            unfit = [f"{MUTANTS[number][0]}: {file} does not contain the text in the body of one function"
                     for number in impossible]
        problems += unfit
    for folder in {path.parts[:2] for path in sources}:
        sources[pathlib.Path(*folder, "SwitchedFault.swift")] = switches.DECLARATION
    return sources, problems


def copy_package(changed):
    """Updates the copy. Files without a change keep their dates, so that the next build is short."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, check=True)
    files = {pathlib.Path(os.fsdecode(name)) for name in listing.stdout.split(b"\0") if name}
    contents = {path: path.read_bytes() for path in files if path.is_file()}
    contents |= {path: text.encode() for path, text in changed.items()}
    for path, content in contents.items():
        target = COPY / path
        if target.is_file() and target.read_bytes() == content:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(path.stat().st_mode if path.exists() else 0o644)
    for path in COPY.rglob("*"):
        if path.is_file() and path.relative_to(COPY) not in contents and path.name != "Package.resolved":
            path.unlink()


def simulate(number):
    """Runs the simulation. Returns the result, with the first seed that fails."""
    status, output = run(number, ["simulate", "--seeds", SEEDS, "--no-shrinking"], (), finding=" fails")
    seeds = [int(seed) for seed in re.findall(r"^Seed (\d+) fails", output, re.MULTILINE)]
    return result(status, output, f"found by seed {min(seeds)}" if seeds else None)


def run_tests(number, names):
    """Runs the tests. Returns the result, with the names of the tests that fail."""
    command = ["PusherClientPackageTests.xctest", "--testing-library", "swift-testing", "--filter", names]
    status, output = run(number, command, (names,), finding=" recorded an issue")
    failed = sorted(set(re.findall(r'^\S+ +Test ("[^"\n]*"|\S+\(.*?\)).* recorded an issue', output, re.MULTILINE)))
    return result(status, output, f"found by {', '.join(failed)}" if failed else None)


def run(number, command, names, finding):
    """Runs a command without a protection, and returns its exit status and its output.

    The status is None if the command exceeded its limit. After the output contains the finding, the command gets ten
    more seconds, because the rest may take minutes.
    """
    environment = {**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1", switches.VARIABLE: str(number)}
    process = subprocess.Popen(
        [products / command[0], *command[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
        cwd=COPY, start_new_session=True)
    end = time.monotonic() + limits.get(names, float("inf"))
    output = ""
    try:
        while True:
            rest = end - time.monotonic()
            if rest <= 0:
                return None, output
            if not select.select([process.stdout], [], [], min(rest, 60))[0]:
                continue
            part = os.read(process.stdout.fileno(), 65_536)
            if not part:
                return process.wait(), output
            output += part.decode(errors="replace")
            if finding in output:
                end = min(end, time.monotonic() + 10)
    finally:
        end_session(process)
        process.stdout.close()
        process.wait()


def end_session(process):
    """Ends all processes of the session. Some tests start programs."""
    subprocess.run(["pkill", "-KILL", "-s", str(process.pid)])


def result(status, output, finding):
    if finding:
        return finding
    if status is None:
        return HANGS
    if status == 0:
        return "NOT FOUND"
    # A crash of the program is a finding. Other signals come from outside.
    traps = (signal.SIGTRAP, signal.SIGILL, signal.SIGABRT, signal.SIGSEGV)
    return f"found by {signal.Signals(-status).name}" if -status in traps else f"ended with {status}: {output[-1000:]}"


if __name__ == "__main__":
    main()
