// node pusher-js.js PUSHER_JS flood size=… events=… port=…
//
// Receives events with pusher-js, which gives its users parsed JSON, as the Subject does with the client. Prints the CPU
// time and the wall time of one event, in microseconds.
"use strict";
const loaded = require(process.argv[2]);
const Pusher = loaded.Pusher || loaded.default || loaded;
const settings = Object.fromEntries(process.argv.slice(4).map((argument) => argument.split("=")));
const number = (name, fallback) => Number(settings[name] ?? fallback);
const digits = (value) => String(value).padStart(5, "0");

const events = number("events", 100000);
const size = number("size", 100);
const window = Math.min(32768, Math.max(64, Math.trunc((16 * 1024 * 1024) / Math.max(size, 1)) & ~1));
const warmUp = Math.trunc(events / 10);
const path =
    `/kind/public/channels/1/events/${events}/size/${size}/window/${window}/interval/0/members/0/storm/0/drop/0` +
    "/client-events/0";

const pusher = new Pusher("app-key", {
    cluster: "mt1",
    wsHost: "127.0.0.1",
    wsPort: number("port"),
    wsPath: path,
    forceTLS: false,
    enabledTransports: ["ws"],
    disableStats: true,
});

const usage = () => {
    const { user, system } = process.cpuUsage();
    return { cpu: user + system, wall: Number(process.hrtime.bigint()) / 1000 };
};

let seen = 0;
let start;
pusher.subscribe("channel-00000").bind("order-changed", (data) => {
    if (!Array.isArray(data.orders)) throw new Error("The data is not parsed.");
    seen += 1;
    if (seen === warmUp) start = usage();
    if (seen % (window / 2) === 0) pusher.subscribe("go-" + digits(seen / (window / 2)));
    if (seen === events) {
        const end = usage();
        const measured = events - warmUp;
        const result = { cpu: (end.cpu - start.cpu) / measured, wall: (end.wall - start.wall) / measured };
        console.log(JSON.stringify({ ...result, events: measured, bytes: size }));
        process.exit(0);
    }
});
