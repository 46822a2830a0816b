// Speaks with a WebSocket behind the proxy: websocket.cjs URL PROXY. The server
// echoes, and closes by itself when it is told "bye".
const WebSocket = require("ws");
const { HttpProxyAgent } = require("http-proxy-agent");
const { HttpsProxyAgent } = require("https-proxy-agent");

const [url, proxy] = process.argv.slice(2);
// An absolute-form request in the open, a tunnel for the rest.
const agent = url.startsWith("ws:") ? new HttpProxyAgent(proxy) : new HttpsProxyAgent(proxy);

function talk(last) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { agent });
    const sent = ["hello", "x".repeat(70000), last];
    const got = [];
    socket.on("open", () => socket.send(sent[0]));
    socket.on("message", (data) => {
      got.push(data.toString());
      if (got.length < sent.length) {
        socket.send(sent[got.length]);
      } else {
        socket.close(1000);
      }
    });
    socket.on("close", (code) => resolve(got.map((s) => s.length).join() + " " + code));
    socket.on("unexpected-response", (req, res) => {
      resolve("status " + res.statusCode);
      req.destroy();
    });
    socket.on("error", reject);
  });
}

(async () => {
  console.log(await talk("end")); // the client closes
  console.log(await talk("bye")); // the server closes
})().catch((err) => {
  console.error(err);
  process.exit(1);
});
