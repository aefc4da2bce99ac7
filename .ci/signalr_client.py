"""Tests a hub of SignalRTestServer with an independent client, aiosignalr. PeerTests starts the hub, and this script with its URL."""
import asyncio
import sys

from aiosignalr.client import HubConnection
from aiosignalr.errors import HubException
from aiosignalr.protocol import messagepack_protocol

# aiosignalr 0.1.1 writes the number 128 instead of an empty map, so the script replaces this value.
messagepack_protocol._EMPTY_HEADERS = {}

ROUTES = [
    ("WebSockets", "json"), ("WebSockets", "messagepack"), ("ServerSentEvents", "json"), ("LongPolling", "json"),
    ("LongPolling", "messagepack"),
]


def expect(value, expected, what):
    assert value == expected, f"{what}: {value!r} instead of {expected!r}"


async def use(url, transport, protocol):
    connection = HubConnection(protocol=protocol)
    received = asyncio.Queue()
    connection.on("receive", lambda *values: received.put_nowait(values))
    connection.on("double", lambda number: number * 2)
    await connection.start(url, transports={transport})
    expect(await connection.invoke("add", 40, 2), 42, "add")
    expect(await connection.invoke("echo", "ü😀\u001e"), "ü😀\u001e", "echo")
    expect(await connection.invoke("nothing"), None, "nothing")
    await connection.send("call_me", "receive", "Ann", 3)
    expect(await received.get(), ("Ann", 3), "receive")
    expect(await connection.invoke("ask_me", "double", 21), 42, "ask_me")
    try:
        await connection.invoke("fail", "too bad")
        raise AssertionError("fail returned")
    except HubException as error:
        assert "too bad" in str(error), error
    expect([item async for item in await connection.stream("counter", 5)], [0, 1, 2, 3, 4], "counter")
    async with connection.client_stream("add_stream") as upload:
        for number in (1, 2, 3):
            await upload.send_item(number)
    expect(upload.result, 6, "add_stream")
    await connection.stop()
    print(f"{transport}, {protocol}: agreed")


async def main():
    for transport, protocol in ROUTES:
        await asyncio.wait_for(use(sys.argv[1], transport, protocol), 60)


asyncio.run(main())
