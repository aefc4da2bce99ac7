#!/usr/bin/env python3
"""Removes one defence of the client after the other, and has the simulation look for it.

Each is put back at once. A defence whose removal 2,000 seeds do not find is reported, and the script fails.
Usage: mutants.py [NAME...], in the package's folder. It changes Sources while it runs, and wants nothing changed there.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys

CORE = "Sources/PusherClient/Core/"

# What is defended against, the file, the text that does it, and the text in its place.
MUTANTS = [
    ("a late close of an old socket", CORE + "ConnectionStateMachine+Loss.swift",
     "guard currentAttempt == id else { return false }\n        if case .disconnecting",
     "guard currentAttempt != nil else { return false }\n        if case .disconnecting"),
    ("a server that does not answer pings", CORE + "LivenessStateMachine.swift",
     "state = .stopped\n            return .dead(after: timeout, wasSuspended: wasSuspended)",
     "listen(since: now, for: timeout, into: &effects)\n            _ = wasSuspended\n            return .alive"),
    ("members of yesterday", CORE + "PresenceRoster.swift",
     "        places = [:]\n        size = 0\n        self.leavesOut", "        size = 0\n        self.leavesOut"),
    ("members while the connection is lost", CORE + "PresenceRoster.swift",
     "mutating func connectionLost() { isCurrent = false }", "mutating func connectionLost() {}"),
    ("authorizations for a socket that is gone", CORE + "ClientStateMachine.swift",
     "            authorizations.cancelAll(into: &effects)\n", ""),
    ("an attempt that hangs", CORE + "ConnectionStateMachine+Loss.swift",
     "return abandon(attempt.id, error, configuration, now: now, into: &effects)", "_ = error; return false"),
    ("a server that sends clients away at once", CORE + "ConnectionStateMachine+Loss.swift",
     "lifetime >= .seconds(1)", "lifetime >= .zero"),
    ("a subscription that was given up while it was under way", CORE + "ClientStateMachine+SubscriptionAnswers.swift",
     "            effects.append(.send(attempt, .unsubscribe(channel: name)))\n", "            _ = attempt\n"),
    ("encrypted events that overtake each other", CORE + "DecryptionStateMachine.swift",
     "guard phase == .open else {\n            held", "guard phase != .awaitingKey else {\n            held"),
    ("a subscription that is never answered", CORE + "ClientStateMachine+Subscriptions.swift",
     "            failSubscription(name, error, now: now, into: &effects)\n            // Where", "            _ = error\n            // Where"),
    ("calls that wait for a channel that is unsubscribed", CORE + "ClientStateMachine+Subscriptions.swift",
     "        failWaiters(of: name, .subscriptionFailed(error), into: &effects)\n        drop", "        _ = error\n        drop"),
    ("callbacks after unsubscribe()", "Sources/PusherClient/Pusher+Channels.swift",
     "        channel?.finish()\n    }\n\n    /// Ends the subscriptions", "        _ = channel\n    }\n\n    /// Ends the subscriptions"),
    ("requests that nobody waits for", "Sources/PusherClient/Engine/ClientEngine+Authorizations.swift",
     "        loopState.value.authorizations.cancel(authorization)\n", "        loopState.value.authorizations.answered(authorization)\n"),
    ("events that overtake a change of state", "Sources/PusherClient/Engine/ClientEngine+Receiving.swift",
     "guard !isDraining, pending.isEmpty else {", "guard !isDraining else {"),
    ("a name that cannot be resolved just now", CORE + "ConnectionStateMachine+Loss.swift",
     "guard configuration.autoReconnect else {", "guard configuration.autoReconnect, error.code != .nameResolutionFailed else {"),
    ("the user after a loss", CORE + "ClientStateMachine.swift",
     "        beginSignIn(now: now, into: &effects)\n        for name", "        for name"),
    ("a channel that is subscribed already", CORE + "SubscriptionStateMachine.swift",
     "        case .idle, .failed: isWanted\n        case .authorizing, .awaitingSignIn, .subscribing, .subscribed, .invalid: false",
     "        case .idle, .failed, .subscribed: isWanted\n        case .authorizing, .awaitingSignIn, .subscribing, .invalid: false"),
    ("members who went while the connection was lost", CORE + "PresenceRoster.swift",
     "added: members.filter { before[$0.id] == nil },\n            removed: before.values",
     "added: members.filter { before[$0.id] == nil },\n            removed: before.values.filter { _ in false }"),
    ("the end of an old connection of the same user", CORE + "PresenceRoster.swift",
     "        guard id != myID else { return nil }\n", ""),
    ("the order of client events that were not written", CORE + "ClientEventQueue.swift",
     "insert(item, at: place)", "insert(item, at: place - place)"),
    ("a limit of client events that is over", CORE + "ClientStateMachine+ClientEvents.swift",
     "            effects.append(.schedule(timer, after: wait))\n", "            _ = wait\n"),
    ("calls that wait for the connection", CORE + "ClientStateMachine.swift",
     "        settleConnectionWaiters(into: &effects)\n        beginSignIn", "        beginSignIn"),
    ("a wait that goes on after disconnect()", CORE + "ConnectionStateMachine.swift",
     "        case .waiting(let timer, _, _):\n            effects.append(.cancel(timer))\n        case .connected",
     "        case .waiting:\n            break\n        case .connected"),
]

# A client that loops for ever is found as well.
TIMEOUT = 1200
SWIFT = os.environ.get("SWIFT", "swift")
FLAGS = os.environ.get("FLAGS", "").split()
SEEDS = os.environ.get("SEEDS", "2000")


def main():
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "Sources"]).returncode:
        sys.exit("There are changes in Sources: they would be in the way.")
    if subprocess.run([SWIFT, "build", *FLAGS, "--product", "simulate"]).returncode:
        sys.exit("The client does not compile as it is.")
    wanted = sys.argv[1:]
    chosen = [mutant for mutant in MUTANTS if not wanted or any(word in mutant[0] for word in wanted)]
    if not chosen:
        sys.exit(f"No defence has one of these in its name: {', '.join(wanted)}")
    unchanged = simulate()
    if unchanged != "NOT FOUND":
        sys.exit(f"The client as it is does not pass: {unchanged}")
    missed = []
    for name, path, old, new in chosen:
        result = try_mutant(pathlib.Path(path), old, new)
        print(f"{result:>24}  {name}", flush=True)
        if not result.startswith("found"):
            missed.append(name)
    sys.exit(1 if missed else 0)


def try_mutant(file, old, new):
    text = file.read_text()
    if text.count(old) != 1:
        return "does not fit any more"
    try:
        file.write_text(text.replace(old, new))
        build = subprocess.run([SWIFT, "build", *FLAGS, "--product", "simulate"], capture_output=True, text=True)
        if build.returncode:
            print(build.stdout[-2000:], build.stderr[-2000:])
            return "does not compile"
        return simulate()
    finally:
        file.write_text(text)


def simulate():
    """Says which seed finds something."""
    path = subprocess.run([SWIFT, "build", *FLAGS, "--show-bin-path"], capture_output=True, text=True, check=True)
    try:
        run = subprocess.run(
            [path.stdout.strip() + "/simulate", "--seeds", SEEDS, "--no-shrinking"],
            capture_output=True, text=True, timeout=TIMEOUT,
            env={**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1"},
        )
    except subprocess.TimeoutExpired:
        return "found by hanging"
    seeds = [int(seed) for seed in re.findall(r"^Seed (\d+) fails", run.stdout, re.MULTILINE)]
    if seeds:
        return f"found by seed {min(seeds)}"
    if run.returncode == 0:
        return "NOT FOUND"
    # A trap is a finding; that something else has ended it is none.
    traps = (signal.SIGTRAP, signal.SIGILL, signal.SIGABRT, signal.SIGSEGV)
    return f"found by {signal.Signals(-run.returncode).name}" if -run.returncode in traps else f"ended with {run.returncode}"


# Put back what is changed also where the run is ended from outside.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
main()
