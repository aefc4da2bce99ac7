#!/usr/bin/env bash
# Builds and runs the package Consumer, which uses PusherClient as an app does, with both build systems of SwiftPM. The
# second build uses a copy of Consumer outside of the repository.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
swift=${SWIFT:-swift}

# CI sets these variables for this repository only, so apps do not have them.
unset PUSHER_WARNINGS_AS_ERRORS PUSHER_FUZZING

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$root"/Tests/Consumer/{Package.swift,Sources} "$copy"

run() { # BUILD-SYSTEM FOLDER
    echo "=== $1"
    local options
    read -ra options <<<"--build-system $1 ${FLAGS:-}"
    options+=(--package-path "$2" --scratch-path "${SCRATCH:-$root/.build-consumer}")
    "$swift" build "${options[@]}"
    "$("$swift" build "${options[@]}" --show-bin-path)/Consumer"
}

run native "$root/Tests/Consumer"
PUSHER_CLIENT=$root run swiftbuild "$copy"

# Without the trait that links libsodium, and without its header.
mkdir "$copy/none"
export WITHOUT_SODIUM=1 PKG_CONFIG_LIBDIR=$copy/none PKG_CONFIG_PATH=
FLAGS="${FLAGS:-} -Xcc -DPUSHER_WITHOUT_SODIUM" SCRATCH=$root/.build-consumer-without-sodium run native "$root/Tests/Consumer"
