// node signalr-js.mjs NODE_MODULES MEASUREMENT via=… kind=… size=… events=… callers=… port=…
//
// Makes the measurements of a SignalR client with Microsoft's JavaScript client, as the Subject does with this package's
// client. Prints the CPU time and the wall time of one call or item, in microseconds.
import { createRequire } from "node:module";

const require = createRequire(process.argv[2] + "/");
const signalR = require("@microsoft/signalr");
const { MessagePackHubProtocol } = require("@microsoft/signalr-protocol-msgpack");

const measurement = process.argv[3];
const settings = Object.fromEntries(process.argv.slice(4).map((argument) => argument.split("=")));
const number = (name, fallback) => Number(settings[name] ?? fallback);
const kind = number("kind", 0);
const size = number("size", 0);
const events = number("events", 10000);
const callers = number("callers", 1);

const usage = () => {
    const { user, system } = process.cpuUsage();
    return { cpu: user + system, wall: Number(process.hrtime.bigint()) / 1000 };
};

const finish = (start, count) => {
    const end = usage();
    console.log(JSON.stringify({ cpu: (end.cpu - start.cpu) / count, wall: (end.wall - start.wall) / count }));
    process.exit(0);
};

const connect = (load) => {
    const url = `http://127.0.0.1:${number("port")}/hub/${kind}/${load.size}/${load.events}`;
    const builder = new signalR.HubConnectionBuilder()
        .withUrl(url, { skipNegotiation: true, transport: signalR.HttpTransportType.WebSockets })
        .configureLogging(signalR.LogLevel.None);
    return (kind === 1 ? builder.withHubProtocol(new MessagePackHubProtocol()) : builder).build();
};

// The number of messages that the hub sends before the client requests more.
const window = Math.min(32768, Math.max(64, Math.trunc((16 * 1024 * 1024) / Math.max(size, 1)) & ~1));

const received = async () => {
    const connection = connect({ size, events });
    const warmUp = Math.trunc(events / 10);
    let seen = 0;
    let start;
    const receive = (value) => {
        if (kind === 3 ? !Array.isArray(value.orders) : typeof value !== "string") throw new Error("Not decoded.");
        seen += 1;
        if (seen === warmUp) start = usage();
        if (seen % (window / 2) === 0) connection.send("Go");
        if (seen === events) finish(start, events - warmUp);
    };
    connection.on("OrderChanged", receive);
    await connection.start();
    if (kind === 2) connection.stream("Orders").subscribe({ next: receive, error: () => process.exit(1), complete() {} });
};

// Does a tenth of the work, then all of it, which counts.
const measured = async (work) => {
    const connection = connect({ size: 0, events: 0 });
    await connection.start();
    await work(connection, events / 10);
    const start = usage();
    await work(connection, events);
    finish(start, events);
};

const invoke = async (connection, calls) => {
    const caller = async () => {
        for (let call = 0; call < Math.trunc(calls / callers); call++) await connection.invoke("Add", 1);
    };
    await Promise.all(Array.from({ length: callers }, caller));
};

const upload = async (connection, count) => {
    const item = "x".repeat(size);
    const items = new signalR.Subject();
    const result = connection.invoke("Sum", items);
    for (let sent = 0; sent < count; sent++) {
        items.next(item);
        // The client has no limit for what waits to be written, so the loop lets it write now and then.
        if (sent % 64 === 63) await new Promise(setImmediate);
    }
    items.complete();
    await result;
};

switch (measurement) {
    case "hub-received": await received(); break;
    case "hub-invoked": await measured(invoke); break;
    case "hub-uploaded": await measured(upload); break;
    default: throw new Error(`Unknown measurement: ${measurement}`);
}
