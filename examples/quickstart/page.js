// Calls the API as any page would, and shows what the browser lets this page read.
"use strict";

const api = document.querySelector("meta[name=api]").content;
const json = { "content-type": "application/json" };
const body = JSON.stringify({ text: "feed the cat" });

// `read`: why the page could read the response. `kept`: why it could not, on the page that the API
// grants. `foreign`: why it could not, on the other. `watched`: response headers that the page reads.
// Calls with the same `url` share one URL.
const calls = [
  {
    name: "simple", handler: "note", what: "A simple request", method: "GET", path: "/notes/1", watched: ["etag", "x-served-by"],
    read: "A plain GET is sent without a preflight. The response names this origin, so the page may read it: `etag`, " +
      "which the route exposes, but not `x-served-by`, which it does not.",
    foreign: "A plain GET is sent without a preflight, so it arrived and was handled. The response does not name this " +
      "origin: the browser hides all of it, even the status.",
  },
  {
    name: "preflighted", handler: "write", what: "A preflighted request", method: "PUT", path: "/notes/1", url: "put",
    init: { headers: { ...json, "x-editor": "ada" }, body },
    read: "PUT, JSON and `x-editor` need a preflight. The browser sent OPTIONS first; the response lists this origin, " +
      "the method and the headers, so it sent the PUT.",
    foreign: "PUT, JSON and `x-editor` need a preflight. The browser sent OPTIONS first, and was refused: the PUT " +
      "was never sent.",
  },
  {
    name: "again", handler: "write", what: "The same once more", method: "PUT", path: "/notes/1", url: "put",
    init: { headers: { ...json, "x-editor": "ada" }, body },
    read: "The route has `max_age = 600`: for ten minutes the browser caches the preflight for this URL and sends no other.",
    foreign: "A refusal is not cached: the browser sent another preflight.",
  },
  {
    name: "header", handler: "write", what: "A header nobody granted", method: "PUT", path: "/notes/1",
    init: { headers: { ...json, "x-forged": "1" }, body },
    kept: "The response to the preflight lists `x-editor` and not `x-forged`, so the browser did not send the PUT.",
    foreign: "The preflight is refused for its origin, whatever the headers.",
  },
  {
    name: "other", handler: "report", what: "A route for another origin", method: "GET", path: "/report",
    kept: "The route grants `https://app.shop.example` alone. An attribute on a route replaces the app's default; it does not add to it.",
    foreign: "The route grants `https://app.shop.example` alone.",
  },
  {
    name: "unknown", handler: "DEFAULT", what: "A path that does not exist", method: "GET", path: "/nowhere",
    read: "Responses without a route carry the app's default policy, so the page can tell a wrong path from a " +
      "broken network.",
    foreign: "Without a grant a wrong path looks like a broken network.",
  },
];

async function call({ method, path, init, watched = [] }, query) {
  try {
    const response = await fetch(`${api}${path}?${query}`, { method, ...init });
    const headers = {};
    for (const name of watched) headers[name] = response.headers.get(name);
    return { outcome: "read", status: response.status, body: await response.text(), headers };
  } catch (error) {
    return { outcome: "refused", error: error.name };
  }
}

async function received(query) {
  const response = await fetch(`/arrivals?${new URLSearchParams({ query })}`);
  return response.json();
}

async function run() {
  window.__results = undefined;
  document.getElementById("rows").replaceChildren();
  const id = crypto.getRandomValues(new Uint32Array(1))[0].toString(36);
  const seen = {};
  const rows = [];
  for (const one of calls) {
    const query = `call=${id}-${one.url ?? one.name}`;
    const result = await call(one, query);
    const all = await received(query);
    const arrived = all.slice(seen[query] ?? 0);
    seen[query] = all.length;
    rows.push({ name: one.name, ...result, arrived });
    const granted = rows[0].outcome === "read";
    const why = result.outcome === "read" ? one.read : granted ? one.kept : one.foreign;
    show(one, result, arrived, why ?? "This is not what the attributes say.");
  }
  window.__results = { origin: location.origin, api, rows };
}

function show({ what, method, path, init, handler }, result, arrived, why) {
  const row = document.createElement("tr");
  row.className = result.outcome;
  const headers = Object.entries(init?.headers ?? {});
  row.append(
    cell("", [element("strong", what), code(`${method} ${path}`), ...headers.map(([name, value]) => code(`${name}: ${value}`))]),
    cell("The API received", arrived.map(({ method, preflight }) => code(preflight ? `${method} (preflight)` : method))),
    cell("The page was shown", result.outcome === "read" ? shown(result) : nothing(result)),
    cell("Why", [words(why), ...attributes(handler)]),
  );
  document.getElementById("rows").append(row);
}

function shown({ status, body, headers }) {
  const values = Object.entries(headers).map(([name, value]) => code(`${name}: ${value}`));
  return [element("div", `status ${status}`, "verdict"), code(body), ...values];
}

function nothing({ error }) {
  return [element("div", "nothing", "verdict"), code(`${error}: no status, no body, no headers`)];
}

function element(name, text, className = "") {
  return Object.assign(document.createElement(name), { textContent: text, className });
}

const code = (text) => element("div", text, "mono");

// The label stands above the cell where the table is a list of cards.
function cell(label, children) {
  const cell = document.createElement("td");
  if (label) cell.dataset.label = label;
  cell.append(...children);
  return cell;
}

// The attributes of the handler that decided, from its source.
function attributes(handler) {
  const template = document.querySelector(`template[data-handler="${handler}"]`);
  return template ? [template.content.cloneNode(true)] : [];
}

// Text in which `this` is code.
function words(text) {
  const line = document.createElement("div");
  line.append(...text.split("`").map((part, n) => (n % 2 ? element("code", part) : part)));
  return line;
}

document.getElementById("origin").textContent = location.origin;
document.getElementById("run").addEventListener("click", run);
run();
