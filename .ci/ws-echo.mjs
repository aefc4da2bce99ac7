// An echo of ws on any port of 127.0.0.1, which it prints. The query selects the compression, as with ASP.NET's /echo.
import { createServer } from "node:http";
import { WebSocketServer } from "ws";

const makeEcho = (perMessageDeflate) => {
    const echo = new WebSocketServer({
        noServer: true, perMessageDeflate, maxPayload: 16 << 20, handleProtocols: (offered) => [...offered].at(-1),
    });
    echo.on("connection", (socket) => {
        socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
    });
    return echo;
};

const compressing = { threshold: 0 };
const echoes = {
    "": makeEcho(compressing),
    "?deflate=false": makeEcho(false),
    "?noContextTakeover=true": makeEcho({ ...compressing, serverNoContextTakeover: true, clientNoContextTakeover: true }),
};

const server = createServer();
server.on("upgrade", (request, socket, head) => {
    const echo = echoes[new URL(request.url, "http://localhost").search];
    echo.handleUpgrade(request, socket, head, (opened) => echo.emit("connection", opened, request));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
