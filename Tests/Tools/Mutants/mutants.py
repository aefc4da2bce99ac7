#!/usr/bin/env python3
"""Takes one defence of the client out after the other, and has the simulation, or the tests, look for it.

Each is put back at once. One whose removal nothing finds is told, and the script fails.
Usage: mutants.py simulation|tests [NAME...], in the package's folder; mutants.py check sees only whether every text still
stands where it is looked for. It changes Sources while it runs, and wants nothing changed there.
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

# Seconds that a search may take, by what is searched: some times as many as the client as it is takes. One that loops or
# hangs for ever is found as well.
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
        sys.exit(f"No defence has one of these in its name: {', '.join(wanted)}")
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "Sources"]).returncode:
        sys.exit("There are changes in Sources: they would be in the way.")
    target = ["--product", "simulate"] if kind == "simulation" else ["--build-tests"]
    search = simulate if kind == "simulation" else run_tests
    tests = sorted({mutant[4:] for mutant in chosen})
    if subprocess.run([SWIFT, "build", *FLAGS, *target]).returncode:
        sys.exit("The client does not compile as it is.")
    for names in tests:
        start = time.monotonic()
        unchanged = search(*names)
        limits[names] = 60 + 6 * (time.monotonic() - start)
        if unchanged != "NOT FOUND":
            sys.exit(f"The client as it is does not pass {' '.join(names)}: {unchanged}")
    missed = []
    for mutant in chosen:
        result = try_mutant(mutant, target, search)
        print(f"{mutant[0]}: {result}", flush=True)
        if not result.startswith("found"):
            missed.append(mutant[0])
    sys.exit(1 if missed else 0)


def source(name):
    """The file of that name, in whatever folder of Sources. A name can begin with a folder."""
    files = list(pathlib.Path("Sources").rglob(name))
    if len(files) != 1:
        sys.exit(f"There are {len(files)} files named {name} in Sources.")
    return files[0]


def misfits(mutants):
    for name, file, old, *_ in mutants:
        count = source(file).read_text().count(old)
        if count != 1:
            yield f"{name}: its text stands {count} times in {file}"


def try_mutant(mutant, target, search):
    _, name, old, new, *tests = mutant
    if list(misfits([mutant])):
        return "does not fit any more"
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
    """Says which seed finds something."""
    path = subprocess.run([SWIFT, "build", *FLAGS, "--show-bin-path"], capture_output=True, text=True, check=True)
    status, output = run([path.stdout.strip() + "/simulate", "--seeds", SEEDS, "--no-shrinking"], ())
    seeds = [int(seed) for seed in re.findall(r"^Seed (\d+) fails", output, re.MULTILINE)]
    return result(status, f"found by seed {min(seeds)}" if seeds else None)


def run_tests(names):
    """Says which tests fail."""
    command = [SWIFT, "test", "--skip-build", "--quiet", *FLAGS, "--filter", names]
    status, output = run(command, (names,), finding=" recorded an issue")
    failed = sorted(set(re.findall(r'^\S+ +Test ("[^"\n]*"|\S+\(.*?\)).* recorded an issue', output, re.MULTILINE)))
    crash = re.search(r"unexpected signal code (\d+)", output)
    return result(-int(crash[1]) if crash else status, f"found by {', '.join(failed)}" if failed else None)


def run(command, names, finding=None):
    """The status, None where it did not end by itself, and what was printed.

    Once the finding was printed the rest has ten seconds: what was taken out may have other tests wait for minutes.
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
    """The package manager starts tests in a process group of their own, but not in a session."""
    subprocess.run(["pkill", "-KILL", "-s", str(process.pid)])


def result(status, finding):
    if finding:
        return finding
    if status is None:
        return "found by hanging"
    if status == 0:
        return "NOT FOUND"
    # A trap is a finding; that something else has ended it is none.
    traps = (signal.SIGTRAP, signal.SIGILL, signal.SIGABRT, signal.SIGSEGV)
    return f"found by {signal.Signals(-status).name}" if -status in traps else f"ended with {status}"


# Put back what is changed also where the run is ended from outside.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
if __name__ == "__main__":
    main()
