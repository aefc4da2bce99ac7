#!/usr/bin/env bash
# fuzz.sh build                  builds the fuzzer
# fuzz.sh run SECONDS [TARGET]   runs all targets in turn, or one target, for this time; prints a table
# fuzz.sh check                  runs a fixed number of inputs of each target; the same program gets the same inputs
# fuzz.sh table                  prints the totals of all runs
# fuzz.sh keep [TARGET]          stores the smallest inputs that together reach all reached code in the repository
#
# OUTPUT: the folder for inputs, findings, logs and counts. FUZZER: the program, if another build has made it.
# SCRATCH: the build folder. Another optimized build can share this folder, because the dependencies are the same.
set -euo pipefail
cd "$(dirname "$0")/../../.."

SWIFT=${SWIFT:-swift}
SCRATCH=${SCRATCH:-.build-fuzzer}
OUTPUT=${OUTPUT:-.build-fuzzer/output}
FUZZER=${FUZZER:-$SCRATCH/release/fuzzer}
here=Tests/Tools/Fuzzing

# For each target: the share of the time, the maximum length of an input, and the number of inputs of a check. The
# client gets the largest share, because it has the most states.
targets=(
    "utf8 1 256 100000" "upgrade 2 1024 5000" "frames 3 1024 60000" "httpresponse 2 1024 20000" "httpframes 2 512 50000" "envelope 4 1024 300000" "json 2 512 180000"
    "decoding 3 512 60000"
    "presence 3 2048 120000" "encryption 2 512 100000" "authorization 2 1024 6000" "redirect 1 256 80000"
    "eventstream 2 512 60000"
    "signalr 2 512 60000"
    "client 12 4096 2500"
)

export PUSHER_FUZZING=1
# The runtime's report of a crash takes long, and libFuzzer prints its own report. With deterministic hashing,
# dictionaries have the same order in each run.
export SWIFT_BACKTRACE=enable=no SWIFT_DETERMINISTIC_HASHING=1
export ASAN_OPTIONS=detect_leaks=${LEAKS:-1}:malloc_context_size=2:quarantine_size_mb=32:handle_abort=1

build() {
    # shellcheck disable=SC2086
    "$SWIFT" build ${FLAGS:-} -c release --product fuzzer --scratch-path "$SCRATCH"
}

unpack() { # TARGET
    rm -rf "$OUTPUT/corpus/$1"
    $here/corpus.py unpack "$here/Corpus/$1.base64" "$OUTPUT/corpus/$1"
}

# fuzz TARGET LENGTH LIMIT...: runs a target. Fails if the run has a finding.
fuzz() {
    local target=$1 length=$2 log status=0 cpu
    shift 2
    log=$OUTPUT/logs/$target.log
    mkdir -p "$OUTPUT/logs" "$OUTPUT/findings/$target" "$OUTPUT/inputs/$target"
    unpack "$target"
    local dictionary=()
    [ ! -f "$here/Dictionaries/$target.dict" ] || dictionary=("-dict=$here/Dictionaries/$target.dict")
    local TIMEFORMAT='%U %S'
    {
        time FUZZ_TARGET=$target "$FUZZER" "$OUTPUT/inputs/$target" "$OUTPUT/corpus/$target" "${dictionary[@]}" \
            "$@" -max_len="$length" -timeout=25 -rss_limit_mb=1500 -malloc_limit_mb=256 -print_final_stats=1 \
            -reload=0 -artifact_prefix="$OUTPUT/findings/$target/" >"$log" 2>&1
    } 2>"$OUTPUT/logs/$target.time" || status=$?
    cpu=$(awk '{ print $1 + $2 }' "$OUTPUT/logs/$target.time")
    count "$target" "$cpu" "$log" >>"$OUTPUT/runs.tsv"
    [ $status = 0 ] && return
    cp "$log" "$OUTPUT/findings/$target/$(date +%Y%m%dT%H%M%S).log"
    echo "FOUND by $target (see $OUTPUT/findings/$target):" >&2
    grep -m 4 -aE 'FINDING|Fatal error|ERROR: |SUMMARY' "$log" >&2 || tail -n 5 "$log" >&2
    return 1
}

# count TARGET CPU LOG: prints a line for the table, from the last status line of the library.
count() {
    awk -v target="$1" -v cpu="$2" '
        /^#[0-9]+/ && / cov: / {
            executions = substr($1, 2)
            for (field = 2; field < NF; field++) {
                if ($field == "cov:") edges = $(field + 1)
                if ($field == "ft:") features = $(field + 1)
            }
        }
        /^stat::number_of_executed_units/ { executions = $2 }
        END { printf "%s\t%s\t%d\t%d\t%d\n", target, cpu, executions, edges, features }
    ' "$3"
}

table() {
    echo "| target | CPU hours | executions | edges | features | findings |"
    echo "|---|---|---|---|---|---|"
    local line target
    for line in "${targets[@]}"; do
        target=${line%% *}
        awk -F '\t' -v target="$target" -v findings="$(findings "$target")" '
            $1 == target {
                cpu += $2; executions += $3
                if ($4 > edges) edges = $4
                if ($5 > features) features = $5
            }
            END {
                printf "| %s | %.2f | %d | %d | %d | %d |\n", target, cpu / 3600, executions, edges, features, findings
            }
        ' "$OUTPUT/runs.tsv"
    done
    awk -F '\t' '{ cpu += $2; executions += $3 } END { printf "| all | %.2f | %d | | | |\n", cpu / 3600, executions }' \
        "$OUTPUT/runs.tsv"
}

findings() { find "$OUTPUT/findings/$1" -type f ! -name '*.log' 2>/dev/null | wc -l; }

# each COMMAND [TARGET]: runs the command with the name, share, length and number of each target, or of one target.
each() {
    local command=$1 only=${2:-} line name share length number known=""
    for line in "${targets[@]}"; do
        read -r name share length number <<<"$line"
        [ -z "$only" ] || [ "$only" = "$name" ] || continue
        known=yes
        "$command" "$name" "$share" "$length" "$number"
    done
    [ -n "$known" ] || { echo "Invalid target \"$only\": use one of ${targets[*]%% *}." >&2; exit 2; }
}

run() {
    local only=${2:-} status=0
    end=$(($(date +%s) + $1))
    mkdir -p "$OUTPUT"
    touch "$OUTPUT/runs.tsv"
    turn() {
        local seconds=$(($2 * 60)) left=$((end - $(date +%s)))
        [ -z "$only" ] || seconds=$((seconds < 900 ? 900 : seconds))
        [ $left -gt 0 ] || return 0
        fuzz "$1" "$3" -max_total_time=$((seconds < left ? seconds : left)) || status=1
    }
    while [ "$(date +%s)" -lt $end ]; do each turn "$only"; done
    table
    return $status
}

check() {
    local status=0
    OUTPUT=.build-fuzzer/check
    rm -rf "$OUTPUT"
    mkdir -p "$OUTPUT"
    # A fixed seed gives the same inputs each time, so a failure comes from a change of the code. "run" finds new inputs.
    turn() { fuzz "$1" "$3" -seed=1 -runs="$4" || status=1; }
    each turn
    table
    return $status
}

keep() {
    turn() {
        rm -rf "$OUTPUT/kept"
        mkdir -p "$OUTPUT/kept" "$OUTPUT/inputs/$1"
        unpack "$1"
        # Without counters, the merge ignores how often an input reaches code. With counters, it would keep
        # thousands of inputs.
        FUZZ_TARGET=$1 "$FUZZER" -set_cover_merge=1 -use_counters=0 -max_len="$3" -timeout=25 \
            "$OUTPUT/kept" "$OUTPUT/corpus/$1" "$OUTPUT/inputs/$1" >"$OUTPUT/logs/$1-merge.log" 2>&1
        echo "$1: $(find "$OUTPUT/kept" -type f | wc -l) inputs"
        $here/corpus.py pack "$OUTPUT/kept" "$here/Corpus/$1.base64"
    }
    each turn "${1:-}"
}

case ${1:-} in
build) build ;;
run) run "${2:-60}" "${3:-}" ;;
check) check ;;
table) table ;;
keep) keep "${2:-}" ;;
*) sed -n '2,10s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
