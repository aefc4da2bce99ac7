#!/usr/bin/env bash
# Builds this package with both build systems of SwiftPM, as dependents of PusherClient build theirs, and runs it. The
# second time it is a copy outside of the repository.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
swift=${SWIFT:-swift}

# Dependents do not have what CI sets for the builds of this repository.
unset PUSHER_WARNINGS_AS_ERRORS PUSHER_FUZZING

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$root"/Tests/Consumer/{Package.swift,Sources} "$copy"

run() { # BUILD-SYSTEM FOLDER
    echo "=== $1"
    local options
    read -ra options <<<"--build-system $1 ${FLAGS:-}"
    options+=(--package-path "$2" --scratch-path "$root/.build-consumer")
    "$swift" build "${options[@]}"
    "$("$swift" build "${options[@]}" --show-bin-path)/Consumer"
}

run native "$root/Tests/Consumer"
PUSHER_CLIENT=$root run swiftbuild "$copy"
