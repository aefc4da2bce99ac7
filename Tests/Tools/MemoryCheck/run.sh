#!/usr/bin/env bash
# Runs all tests, which were built with AddressSanitizer, and has LeakSanitizer look for what they leave behind.
set -euo pipefail
cd "$(dirname "$0")/../../.."
tests=$1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Frames of functions that have returned are kept by the one option, and addresses in them would hide leaks.
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=0:malloc_context_size=20
export LSAN_OPTIONS=suppressions=Tests/Tools/MemoryCheck/leaks.txt:print_suppressions=0

run() { "$tests" --testing-library swift-testing "$@"; }

echo "A leak that is planted has to be found."
if PLANT_LEAK=1 run --filter PlantedLeakTests >"$log" 2>&1 || ! grep -q "PlantedLeak.*Knot" "$log"; then
    cat "$log"
    echo "It was not found: LeakSanitizer does not work here." >&2
    exit 1
fi

# One test after the other: all at once they would be so slow that bounded waits come to their end.
run --no-parallel --quiet
echo "No leak was found."
