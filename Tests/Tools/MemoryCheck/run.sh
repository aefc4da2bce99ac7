#!/usr/bin/env bash
# Runs all tests with LeakSanitizer, which looks for leaks. The tests must be built with AddressSanitizer.
set -euo pipefail
cd "$(dirname "$0")/../../.."
tests=$1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# With detect_stack_use_after_return, AddressSanitizer keeps the frames of functions that have returned. Addresses in
# these frames would hide leaks.
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=0:malloc_context_size=20
export LSAN_OPTIONS=suppressions=Tests/Tools/MemoryCheck/leaks.txt:print_suppressions=0

run() { "$tests" --testing-library swift-testing "$@"; }

echo "Checking that LeakSanitizer finds a planted leak."
if PLANT_LEAK=1 run --filter PlantedLeakTests >"$log" 2>&1 || ! grep -q "PlantedLeak.*Knot" "$log"; then
    cat "$log"
    echo "LeakSanitizer does not work here: it did not find the planted leak." >&2
    exit 1
fi

# The tests run one at a time. In parallel, they would be so slow that their waits time out.
run --no-parallel --quiet
echo "No leak was found."
