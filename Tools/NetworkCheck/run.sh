#!/usr/bin/env bash
# Interrupts the network of two clients and restores it. The clients have to detect the loss, and to recover.
#
# The clients are in one network namespace, the server in another, and a bridge between them in a third. The script
# needs Linux, root and iproute2. Without these, or without permission for namespaces, it prints that nothing was
# tested, and ends with the status 77. BIN is the folder of the programs; by default, the script builds them.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

skip() {
    echo "network tests: SKIPPED, nothing was tested: $1" >&2
    exit 77
}
[ "$(uname -s)" = Linux ] || skip "the tests need Linux"
command -v ip >/dev/null || skip "the tests need iproute2"
[ "$(id -u)" = 0 ] || skip "the tests need root"

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
    # The script ends the server on purpose, so the shell must not report it.
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

# Reads lines until all patterns have matched, in any order, for half a minute at most.
expect() { # WHAT PATTERN...
    local what=$1 line pattern deadline=$((SECONDS + 30)) left=("${@:2}") missing
    while [ ${#left[@]} -gt 0 ]; do
        if [ "$SECONDS" -ge "$deadline" ] || ! IFS= read -r -t 30 line <&3; then
            fail "$what: no line matched ${left[*]}"
        fi
        echo "$line" >>"$directory/log"
        missing=()
        for pattern in "${left[@]}"; do
            if [[ $line =~ $pattern ]]; then seen=$line; else missing+=("$pattern"); fi
        done
        left=("${missing[@]}")
    done
}

# Each client has to detect the loss. A message on a connection that was never lost is not a recovery.
lost() { # WHAT [PATTERN]
    expect "$1: a client did not detect the loss" "^first waits.*${2:-}" "^second waits.*${2:-}"
}

# Both clients have to receive new messages. Earlier messages do not count.
recovered() { # WHAT
    local who deadline=$((SECONDS + 30))
    # The lines in the file at this time are earlier messages.
    declare -A before
    for who in first second; do
        before[$who]=$(sed -n "s/^$who heard //p" "$directory/clients" | tail -n 1)
    done
    while [ ${#before[@]} -gt 0 ]; do
        who=$(IFS='|'; echo "${!before[*]}")
        # Lines of a client that has already recovered must not extend the deadline.
        [ "$SECONDS" -lt "$deadline" ] || fail "$1: no new message reached $who"
        expect "$1: no new message reached $who" "^($who) heard [0-9]+$"
        who=${seen%% *}
        if [ "${seen##* }" -gt "${before[$who]:-0}" ]; then unset "before[$who]"; fi
    done
    echo "network tests: passed: $1"
}

recovered "the clients receive each other's messages"

ip -n "$clients" link set uplink down
lost "clients' interface down"
expect "clients' interface down: no attempt failed" 'connectionFailed|connectionTimedOut'
ip -n "$clients" link set uplink up
recovered "clients' interface down, then up"

# Both interfaces keep their carrier, so the hosts get no sign that packets are lost.
ip -n "$middle" link set server nomaster
lost "lost packets" pongTimedOut
ip -n "$middle" link set server master bridge
recovered "lost packets, then a working network"

ip -n "$server" link set uplink down
lost "server's interface down" pongTimedOut
ip -n "$server" link set uplink up
recovered "server's interface down, then up"

ip -n "$clients" address delete 10.77.0.2/24 dev uplink
ip -n "$clients" address add 10.77.0.3/24 dev uplink
lost "changed address of the clients"
recovered "changed address of the clients"

kill -KILL "$server_pid"
lost "killed server"
start_server
recovered "killed server, then restarted"
echo "network tests: all passed"
