#!/usr/bin/env bash
# Runs the Autobahn conformance suite against WebSocketClient.
#
#   URL=ws://HOST:PORT run.sh          uses a running fuzzing server; fails if a case has a bad result
#   AUTOBAHN=/path/to/autobahn.sh run.sh
#                                      starts the server on a free port, and prints its summary; fails if the
#                                      summary fails, or a case has a bad result
#
# Without a server, the script ends with the status 77.
#
# More settings: AGENT (WebSocketClient), CONFIGURATION (debug), CASES (the server's default),
# DIR (a directory that keeps the server and its reports; a temporary one by default).
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
agent=${AGENT:-WebSocketClient}
configuration=${CONFIGURATION:-debug}

if [ -z "${URL:-}" ] && [ ! -f "${AUTOBAHN:-}" ]; then
    sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
    exit 77
fi

swift=${SWIFT:-swift}
read -ra flags <<<"--configuration $configuration ${FLAGS:-}"
options=(--package-path "$root/Tools" --scratch-path "$root/.build" --disable-build-manifest-caching "${flags[@]}")
"$swift" build "${options[@]}" --product autobahn-client
client=$("$swift" build "${options[@]}" --show-bin-path)/autobahn-client

if [ -n "${URL:-}" ]; then
    exec "$client" "$URL" --agent "$agent"
fi

directory=${DIR:-$(mktemp -d)}
mkdir -p "$directory"
finish() {
    status=$?
    trap - EXIT
    bash "$AUTOBAHN" --stop "$directory" >/dev/null 2>&1 || true
    if [ -z "${DIR:-}" ]; then rm -rf "$directory"; fi
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
bash "$AUTOBAHN" --compression --background ${CASES:+--cases "$CASES"} "$directory" "$port"

client_status=0
expected=()
# The cases of RFC 6455, and those of RFC 7692 in the sections 12 and 13.
if [ -z "${CASES:-}" ]; then expected=(--expected 517); fi
"$client" "ws://127.0.0.1:$port" --agent "$agent" "${expected[@]}" || client_status=$?
summary_status=0
bash "$AUTOBAHN" --summary "$directory" "$agent" || summary_status=$?
if [ "$summary_status" -ne 0 ]; then exit "$summary_status"; fi
exit "$client_status"
