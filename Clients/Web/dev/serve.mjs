// Serves the page, and passes /api and /socket.io/ on to a Parlor on loopback: `node dev/serve.mjs [port] [parlor's
// port]`. It is for development only: otherwise the gateway serves the page. dev/mock.html shows the page with made-up
// data.
import { createServer, request } from "node:http";
import { connect } from "node:net";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";

const port = Number(process.argv[2] ?? 8090), upstream = Number(process.argv[3] ?? 8080);
const root = new URL("..", import.meta.url).pathname;
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".json": "application/json" };
// The gateway's policy (WebFile.swift), so that what it forbids does not work here either.
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https: http: data: blob:; connect-src 'self' ws: wss:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const isPassedOn = (url) => url.startsWith("/api/") || url.startsWith("/socket.io/");

createServer(async (incoming, outgoing) => {
  if (isPassedOn(incoming.url)) {
    const passed = request({ host: "127.0.0.1", port: upstream, path: incoming.url, method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.writeHead(502).end());
    outgoing.on("close", () => passed.destroy());
    return incoming.pipe(passed);
  }
  const path = normalize(decodeURIComponent(incoming.url.split("?")[0]));
  try {
    const file = path.endsWith("/") ? `${path}index.html` : path;
    const body = await readFile(join(root, file));
    outgoing.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream", "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store" });
    outgoing.end(body);
  } catch {
    outgoing.writeHead(404).end();
  }
}).on("upgrade", (incoming, socket, head) => {
  const passed = connect(upstream, "127.0.0.1", () => {
    const headers = Object.entries(incoming.headers).map(([name, value]) => `${name}: ${value}\r\n`).join("");
    passed.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n${headers}\r\n`);
    passed.write(head);
    passed.pipe(socket).pipe(passed);
  });
  passed.on("error", () => socket.destroy());
  passed.on("close", () => socket.destroy());
  socket.on("error", () => passed.destroy());
  socket.on("close", () => passed.destroy());
}).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/`));
