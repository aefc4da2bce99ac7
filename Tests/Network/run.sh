#!/usr/bin/env bash
# Takes the network away from two clients, and gives it back: they have to notice, and to recover.
#
# The clients are in one network namespace, the server in another, and a bridge in a third lies between. Needs Linux,
# root and iproute2; where namespaces are not allowed nothing is tested, which is said. BIN is where the programs are; by
# default they are built.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

skip() {
    echo "network tests: skipped: $1"
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
    read -ra flags <<<"${FLAGS:-}"
    for product in pusher network-check; do
        "${SWIFT:-swift}" build --package-path "$root" "${flags[@]}" --product "$product"
    done
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

# Reads on until a line has the pattern, for half a minute at most.
expect() { # PATTERN WHAT
    local line deadline=$((SECONDS + 30))
    while [ "$SECONDS" -lt "$deadline" ] && IFS= read -r -t 30 line <&3; do
        echo "$line" >>"$directory/log"
        if [[ $line =~ $1 ]]; then
            seen=$line
            return
        fi
    done
    echo "network tests: FAILED: $2" >&2
    exit 1
}

# Whatever was heard before is not counted: what is said from now on has to be heard.
recovered() { # WHAT
    local number before
    # Those lines that are there already are of the time before.
    before=$(sed -n 's/^heard //p' "$directory/clients" | tail -n 1)
    while true; do
        expect '^heard ' "$1: nothing was heard again"
        number=${seen#heard }
        if [ "$number" -gt "${before:-0}" ]; then break; fi
    done
    echo "network tests: passed: $1"
}

recovered "the clients hear each other"

ip -n "$clients" link set uplink down
expect '^talker waits' "interface down: the loss was not noticed"
expect 'connectionFailed|connectionTimedOut' "interface down: no attempt failed"
ip -n "$clients" link set uplink up
recovered "interface down, and up again"

# Both ends keep their carrier, and nothing tells them that what they send goes nowhere.
ip -n "$middle" link set server nomaster
expect '^talker waits.*pongTimedOut' "packets that vanish: the silence was not noticed"
ip -n "$middle" link set server master bridge
recovered "packets that vanish without a word, and come again"

ip -n "$server" link set uplink down
expect '^listener waits.*pongTimedOut' "the server's interface down: the silence was not noticed"
ip -n "$server" link set uplink up
recovered "the server's interface down, and up again"

ip -n "$clients" address delete 10.77.0.2/24 dev uplink
ip -n "$clients" address add 10.77.0.3/24 dev uplink
expect '^talker waits' "another address: the loss was not noticed"
recovered "the clients' host has another address"

kill -KILL "$server_pid"
expect '^talker waits' "the server was killed: the loss was not noticed"
start_server
recovered "the server was killed, and started again"
echo "network tests: all passed"
