#!/usr/bin/env bash
# Takes the network away from two clients, and gives it back: they have to notice, and to recover.
#
# The clients are in one network namespace, the server in another, and a bridge in a third lies between. Needs Linux,
# root and iproute2; where it has not got them, or namespaces are not allowed, nothing is tested, which is said, and is a
# failure where REQUIRED is set. BIN is where the programs are; by default they are built.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

skip() {
    echo "network tests: SKIPPED, nothing was tested: $1" >&2
    [ -z "${REQUIRED:-}" ] || exit 1
    exit 0
}
[ "$(uname -s)" = Linux ] || skip "they need Linux"
command -v ip >/dev/null || skip "they need iproute2"
[ "$(id -u)" = 0 ] || skip "they need root"

clients=pusher-clients-$$ server=pusher-server-$$ middle=pusher-middle-$$
directory=$(mktemp -d)
server_pid="" clients_pid=""
finish() {
    status=$?
    trap - EXIT
    for pid in $server_pid $clients_pid; do kill -KILL "$pid" 2>/dev/null || true; done
    for namespace in "$clients" "$server" "$middle"; do ip netns delete "$namespace" 2>/dev/null || true; done
    if [ "$status" -ne 0 ] && [ -f "$directory/log" ]; then tail -n 40 "$directory/log"; fi
    rm -rf "$directory"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

for namespace in "$clients" "$server" "$middle"; do
    ip netns add "$namespace" 2>/dev/null || skip "this machine does not allow network namespaces"
done
ip -n "$middle" link add bridge type bridge 2>/dev/null || skip "this machine has no network bridges"
for side in clients server; do
    ip -n "$middle" link add "$side" type veth peer name uplink netns "${!side}" 2>/dev/null ||
        skip "this machine has no pairs of virtual interfaces"
    ip -n "$middle" link set "$side" master bridge up
    ip -n "${!side}" link set lo up
done
ip -n "$middle" link set bridge up
ip -n "$server" address add 10.77.0.1/24 dev uplink
ip -n "$clients" address add 10.77.0.2/24 dev uplink
ip -n "$server" link set uplink up
ip -n "$clients" link set uplink up

if [ -z "${BIN:-}" ]; then
    read -ra flags <<<"${FLAGS:-} --scratch-path $root/.build --disable-build-manifest-caching"
    "${SWIFT:-swift}" build --package-path "$root" "${flags[@]}" --product pusher
    "${SWIFT:-swift}" build --package-path "$root/Tools" "${flags[@]}" --product network-check
    BIN=$("${SWIFT:-swift}" build --package-path "$root" "${flags[@]}" --show-bin-path)
fi

start_server() {
    ip netns exec "$server" "$BIN/pusher" serve --host 10.77.0.1 --port 6001 >"$directory/server" &
    server_pid=$!
    # Its end is wanted, and no news.
    disown
}
start_server
: >"$directory/clients"
ip netns exec "$clients" "$BIN/network-check" --host 10.77.0.1 --port 6001 >>"$directory/clients" 2>&1 &
clients_pid=$!
disown
mkfifo "$directory/lines"
tail -f -n +1 --pid=$clients_pid "$directory/clients" >"$directory/lines" &
exec 3<"$directory/lines"

fail() {
    echo "network tests: FAILED: $1" >&2
    exit 1
}

# Reads on until lines have had all patterns, in any order, for half a minute at most.
expect() { # WHAT PATTERN...
    local what=$1 line pattern deadline=$((SECONDS + 30)) left=("${@:2}") missing
    while [ ${#left[@]} -gt 0 ]; do
        if [ "$SECONDS" -ge "$deadline" ] || ! IFS= read -r -t 30 line <&3; then
            fail "$what: no line had ${left[*]}"
        fi
        echo "$line" >>"$directory/log"
        missing=()
        for pattern in "${left[@]}"; do
            if [[ $line =~ $pattern ]]; then seen=$line; else missing+=("$pattern"); fi
        done
        left=("${missing[@]}")
    done
}

# Each has to notice: what is heard on a connection that was never lost is no recovery.
lost() { # WHAT [PATTERN]
    expect "$1: the loss was not noticed" "^first waits.*${2:-}" "^second waits.*${2:-}"
}

# Whatever was heard before is not counted: what is said from now on has to be heard, by both.
recovered() { # WHAT
    local who deadline=$((SECONDS + 30))
    # Those lines that are there already are of the time before.
    declare -A before
    for who in first second; do
        before[$who]=$(sed -n "s/^$who heard //p" "$directory/clients" | tail -n 1)
    done
    while [ ${#before[@]} -gt 0 ]; do
        who=$(IFS='|'; echo "${!before[*]}")
        # Those who are heard already are not to keep it waiting for ever.
        [ "$SECONDS" -lt "$deadline" ] || fail "$1: nothing was heard again by $who"
        expect "$1: nothing was heard again by $who" "^($who) heard [0-9]+$"
        who=${seen%% *}
        if [ "${seen##* }" -gt "${before[$who]:-0}" ]; then unset "before[$who]"; fi
    done
    echo "network tests: passed: $1"
}

recovered "the clients hear each other"

ip -n "$clients" link set uplink down
lost "interface down"
expect "interface down: no attempt failed" 'connectionFailed|connectionTimedOut'
ip -n "$clients" link set uplink up
recovered "interface down, and up again"

# Both ends keep their carrier, and nothing tells them that what they send goes nowhere.
ip -n "$middle" link set server nomaster
lost "packets that vanish" pongTimedOut
ip -n "$middle" link set server master bridge
recovered "packets that vanish without a word, and come again"

ip -n "$server" link set uplink down
lost "the server's interface down" pongTimedOut
ip -n "$server" link set uplink up
recovered "the server's interface down, and up again"

ip -n "$clients" address delete 10.77.0.2/24 dev uplink
ip -n "$clients" address add 10.77.0.3/24 dev uplink
lost "another address"
recovered "the clients' host has another address"

kill -KILL "$server_pid"
lost "the server was killed"
start_server
recovered "the server was killed, and started again"
echo "network tests: all passed"
