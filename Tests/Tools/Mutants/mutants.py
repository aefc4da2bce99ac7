#!/usr/bin/env python3
"""Removes one protection of the client at a time, and checks that the simulation or the tests detect the removal.

The script restores each protection after its tests. It prints the result of each removal, and fails if a removal was
not detected. Usage, in the package's folder: mutants.py simulation|tests [NAME...]. "mutants.py check" only checks that
each text to remove exists exactly once. The script changes Sources while it runs, so Sources must have no uncommitted
changes.
"""

import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import in_simulation
import in_tests

SWIFT = os.environ.get("SWIFT", "swift")
FLAGS = os.environ.get("FLAGS", "").split()
SEEDS = os.environ.get("SEEDS", "2000")

# The time limit of each search in seconds, by its test filter: several times the duration without a removal. A removal
# that makes the client hang exceeds the limit, and is detected too.
limits = {}


def main():
    kind, *wanted = sys.argv[1:] or [""]
    mutants = {"simulation": in_simulation.MUTANTS, "tests": in_tests.MUTANTS}
    if kind == "check":
        sys.exit("\n".join(misfits(in_simulation.MUTANTS + in_tests.MUTANTS)) or 0)
    if kind not in mutants:
        sys.exit(__doc__)
    chosen = [mutant for mutant in mutants[kind] if not wanted or any(word in mutant[0] for word in wanted)]
    if not chosen:
        sys.exit(f"No protection has one of these words in its name: {', '.join(wanted)}")
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "Sources"]).returncode:
        sys.exit("Sources has uncommitted changes. Commit or stash them first.")
    target = ["--product", "simulate"] if kind == "simulation" else ["--build-tests"]
    search = simulate if kind == "simulation" else run_tests
    tests = sorted({mutant[4:] for mutant in chosen})
    if subprocess.run([SWIFT, "build", *FLAGS, *target]).returncode:
        sys.exit("The unchanged client does not compile.")
    for names in tests:
        start = time.monotonic()
        unchanged = search(*names)
        limits[names] = 60 + 6 * (time.monotonic() - start)
        if unchanged != "NOT FOUND":
            sys.exit(f"The unchanged client does not pass {' '.join(names)}: {unchanged}")
    missed = []
    for mutant in chosen:
        result = try_mutant(mutant, target, search)
        print(f"{mutant[0]}: {result}", flush=True)
        if not result.startswith("found"):
            missed.append(mutant[0])
    sys.exit(1 if missed else 0)


def source(name):
    """Returns the path of the file with this name in Sources. A name can begin with a folder."""
    files = list(pathlib.Path("Sources").rglob(name))
    if len(files) != 1:
        sys.exit(f"Sources has {len(files)} files named {name}, expected one.")
    return files[0]


def misfits(mutants):
    for name, file, old, *_ in mutants:
        count = source(file).read_text().count(old)
        if count != 1:
            yield f"{name}: {file} contains the text {count} times, expected once"


def try_mutant(mutant, target, search):
    _, name, old, new, *tests = mutant
    if list(misfits([mutant])):
        return "the text to remove was not found"
    file = source(name)
    text = file.read_text()
    try:
        file.write_text(text.replace(old, new))
        build = subprocess.run([SWIFT, "build", *FLAGS, *target], capture_output=True, text=True)
        if build.returncode:
            print(build.stdout[-2000:], build.stderr[-2000:])
            return "does not compile"
        return search(*tests)
    finally:
        file.write_text(text)


def simulate():
    """Runs the simulation. Returns the result, with the first seed that fails."""
    path = subprocess.run([SWIFT, "build", *FLAGS, "--show-bin-path"], capture_output=True, text=True, check=True)
    status, output = run([path.stdout.strip() + "/simulate", "--seeds", SEEDS, "--no-shrinking"], ())
    seeds = [int(seed) for seed in re.findall(r"^Seed (\d+) fails", output, re.MULTILINE)]
    return result(status, f"found by seed {min(seeds)}" if seeds else None)


def run_tests(names):
    """Runs the tests. Returns the result, with the names of the tests that fail."""
    command = [SWIFT, "test", "--skip-build", "--quiet", *FLAGS, "--filter", names]
    status, output = run(command, (names,), finding=" recorded an issue")
    failed = sorted(set(re.findall(r'^\S+ +Test ("[^"\n]*"|\S+\(.*?\)).* recorded an issue', output, re.MULTILINE)))
    crash = re.search(r"unexpected signal code (\d+)", output)
    return result(-int(crash[1]) if crash else status, f"found by {', '.join(failed)}" if failed else None)


def run(command, names, finding=None):
    """Runs a command, and returns its exit status and its output. The status is None if the command exceeded its limit.

    After the output contains the finding, the command gets ten more seconds, because other tests may wait for minutes.
    """
    environment = {**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, start_new_session=True)
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
            if finding and finding in output:
                end = min(end, time.monotonic() + 10)
    finally:
        end_session(process)
        process.stdout.close()
        process.wait()


def end_session(process):
    """Ends all processes of the session. The package manager starts the tests in another process group of this session."""
    subprocess.run(["pkill", "-KILL", "-s", str(process.pid)])


def result(status, finding):
    if finding:
        return finding
    if status is None:
        return "found by hanging"
    if status == 0:
        return "NOT FOUND"
    # A crash of the program is a finding. Other signals come from outside.
    traps = (signal.SIGTRAP, signal.SIGILL, signal.SIGABRT, signal.SIGSEGV)
    return f"found by {signal.Signals(-status).name}" if -status in traps else f"ended with {status}"


# On SIGTERM, exit in the normal way, so that the current removal is undone.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
if __name__ == "__main__":
    main()
