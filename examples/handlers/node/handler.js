// A handler for Bartleby: checks the signature, answers done, retry or reject. Standard library only.
//
//   HOOK=whsec_… node handler.js [port]
const crypto = require("node:crypto"), http = require("node:http");

const secret = Buffer.from(process.env.HOOK.replace(/^whsec_/, ""), "base64");

function genuine(headers, body) {
  const sent = headers["webhook-timestamp"];
  const hmac = crypto.createHmac("sha256", secret).update(`${headers["webhook-id"]}.${sent}.`).update(body);
  const ours = Buffer.from("v1," + hmac.digest("base64"));
  const theirs = Buffer.from(headers["webhook-signature"] ?? "");
  return ours.length === theirs.length && crypto.timingSafeEqual(ours, theirs) && Math.abs(Date.now() / 1000 - sent) < 300;
}

function handle(headers, body) {
  if (!genuine(headers, body)) return [401, "not signed by us"];
  let order;
  try { order = JSON.parse(body); } catch { /* checked below */ }
  if (order?.amount === undefined) return [422, "an order needs an amount"]; // reject: straight to the dead letters
  if (order.bank === "down") return [503, "the bank does not answer"];        // tried again later
  // The same key on every attempt: what was paid under it is not paid twice.
  console.error("paid", order.amount, headers["idempotency-key"]);
  return [200, "done"];
}

const server = http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const [status, text] = handle(request.headers, Buffer.concat(parts));
    response.writeHead(status, { "Content-Length": Buffer.byteLength(text) }).end(text);
  });
});
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => console.log(server.address().port));
