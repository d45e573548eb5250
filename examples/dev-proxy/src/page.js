// Sends the same requests to the API directly and through the proxy, and shows the results.
"use strict";

const api = document.querySelector("meta[name=api]").content;
const json = { "content-type": "application/json" };

const calls = [
  {
    name: "list", what: "A list", path: "/orders",
    why: "A plain GET. It arrives either way, but a page can read only a response of its own origin, or one that grants its origin.",
  },
  {
    name: "create", what: "Something new", path: "/orders",
    init: { method: "POST", headers: json, body: JSON.stringify({ item: "table" }) },
    why: "JSON needs a preflight, which the API does not grant. Below /api no preflight is needed. The API answers with " +
      "“Location: /orders/3”, and the browser goes where that is behind the proxy.",
  },
  {
    name: "seen", what: "What the API knows", path: "/seen",
    why: "The list above came with “Set-Cookie: visited=orders; Path=/”. It is a cookie of this origin now, for paths below " +
      "/api. “Forwarded” says who asked the proxy.",
  },
];

const ask = async (base, { path, init }) => {
  try {
    const response = await fetch(base + path, init);
    const body = await response.text();
    return { status: response.status, url: response.url.replace(location.origin, ""), body };
  } catch (error) {
    return { error: error.name };
  }
};

const listen = (address) => new Promise((resolve) => {
  const messages = [];
  const socket = new WebSocket(address);
  socket.onmessage = ({ data }) => messages.push(data);
  socket.onclose = () => resolve(messages.length > 0 ? { status: 101, url: "", body: messages.join(", ") } : { error: "closed" });
});

const cell = (row, label, { error, status, url, body }) => {
  const place = row.insertCell();
  // Above the cell where the table is a list of cards.
  place.dataset.label = label;
  place.className = error ? "refused" : "read";
  const verdict = document.createElement("div");
  verdict.className = "verdict";
  verdict.textContent = error ? `nothing (${error})` : status === 101 ? "messages" : `status ${status}`;
  place.append(verdict);
  for (const text of error ? [] : [url, body]) {
    const line = document.createElement("div");
    line.className = "mono";
    line.textContent = text;
    place.append(line);
  }
};

const show = ({ name, what, why, method, path }, direct, proxied) => {
  const row = document.getElementById("rows").insertRow();
  row.id = name;
  const place = row.insertCell();
  const title = document.createElement("strong");
  title.textContent = what;
  const target = document.createElement("div");
  target.className = "mono";
  target.textContent = `${method} ${path}`;
  const reason = document.createElement("div");
  reason.className = "soft";
  reason.textContent = why;
  place.append(title, target, reason);
  cell(row, "At the API's own address", direct);
  cell(row, "Below /api", proxied);
};

const run = async () => {
  document.getElementById("rows").replaceChildren();
  const results = {};
  for (const call of calls) {
    const [direct, proxied] = [await ask(api, call), await ask("/api", call)];
    results[call.name] = { direct, proxied };
    show({ method: call.init?.method ?? "GET", ...call }, direct, proxied);
  }
  const sockets = {
    name: "live", what: "A WebSocket", method: "GET", path: "/live",
    why: "Browsers let every page open a WebSocket, so the API itself would have to check Origin. The proxy does: below /api " +
      "only pages of this origin get through.",
  };
  const direct = await listen(api.replace("http", "ws") + "/live");
  const proxied = await listen(location.origin.replace("http", "ws") + "/api/live");
  results.live = { direct, proxied };
  show(sockets, direct, proxied);
  return results;
};

document.getElementById("origin").textContent = location.origin;
const decides = document.querySelector("template[data-handler=front_end]");
document.getElementById("decides").append(decides.content.cloneNode(true));
document.getElementById("run").addEventListener("click", () => { window.results = run(); });
window.results = run();
