// Calls the catalogue as any page would, and shows where each response came from.
"use strict";

const byId = (id) => document.getElementById(id);

const routes = [
  {
    name: "list", handler: "list", what: "All products", path: "/products",
    network: "There was nothing in the cache, or the list has changed since.",
    cache: "At most 5 seconds old: the browser sent no request.",
    revalidated: "Older than 5 seconds. The browser sent the tag that it has, and nothing has changed: no body was sent.",
  },
  {
    name: "product", handler: "product", what: "One product", path: "/products/1",
    network: "There was nothing in the cache, or the product has changed since.",
    cache: "This is not what the attribute says.",
    revalidated: "It is cached and revalidated before each use. It is still the same version: no body was sent.",
  },
  {
    name: "file", handler: "price_list", what: "A file", path: "/price-list.csv",
    network: "There was nothing in the cache, or the file has changed since.",
    cache: "At most a minute old: the browser sent no request.",
    revalidated: "Older than a minute, and still the same file: no body was sent.",
  },
  {
    name: "static", handler: "FILES", what: "A static file", path: "/static/lamp.svg",
    network: "There was nothing in the cache. It came compressed, and the cache knows from Vary that it did.",
    cache: "At most an hour old: the browser sent no request.",
    revalidated: "A reload of the page made the browser revalidate it.",
  },
  {
    name: "search", handler: "search", what: "A search", path: "/search?q=lamp",
    network: "It is never cached.", cache: "This is not what the attribute says.", revalidated: "This is not what the attribute says.",
  },
];

// Calls, and waits for what the browser tells of it.
async function timed(path, init) {
  const { promise, resolve } = Promise.withResolvers();
  const address = new URL(path, location).href;
  const observer = new PerformanceObserver((list) => {
    const entry = list.getEntries().find(({ name }) => name === address);
    if (entry) resolve(entry);
  });
  observer.observe({ type: "resource" });
  const response = await fetch(path, init);
  const text = await response.text();
  const entry = await Promise.race([promise, new Promise((late) => setTimeout(late, 20000))]);
  observer.disconnect();
  return { response, text, entry };
}

// Resource Timing, 4.5: what came from the cache transferred nothing, and what was validated only
// a head, which counts as 300 bytes.
function verdictOf({ transferSize, encodedBodySize }) {
  if (transferSize === 0) return "cache";
  return transferSize === 300 && encodedBodySize > 0 ? "revalidated" : "network";
}

async function arrivals(target) {
  return (await fetch(`/arrivals?${new URLSearchParams({ target })}`)).json();
}

window.__asked = [];

async function ask(route) {
  const before = (await arrivals(route.path)).length;
  const { response, entry } = await timed(route.path);
  const seen = (await arrivals(route.path)).slice(before);
  const row = byId(`row-${route.name}`);
  if (!entry) {
    row.cells[2].textContent = "The browser does not tell.";
    return;
  }
  const verdict = verdictOf(entry);
  row.className = verdict;
  row.cells[2].replaceChildren(
    element("div", verdict, "verdict"),
    element("div", `status ${entry.responseStatus || response.status}, ${Math.round(entry.duration)} ms`, "soft"),
    element("div", sizes(entry), "soft"),
  );
  const saw = seen.map(({ status }) => status);
  const agrees = { cache: saw.length === 0, revalidated: saw.join() === "304", network: saw.length === 1 && saw[0] !== 304 };
  row.cells[3].replaceChildren(
    element("div", saw.length ? `GET, answered ${saw.join(", ")}` : "nothing"),
    agrees[verdict] ? "" : element("div", "It does not agree.", "bad"),
  );
  row.cells[4].textContent = response.ok ? route[verdict] : limited(response);
  const tile = document.querySelector(`#tally .${verdict} dd`);
  tile.textContent = Number(tile.textContent) + 1;
  window.__asked.push({ name: route.name, verdict, saw, status: response.status, agrees: agrees[verdict] });
}

function sizes({ transferSize, encodedBodySize }) {
  return `transferSize ${transferSize}, body ${encodedBodySize}`;
}

function limited(response) {
  const wait = response.headers.get("retry-after");
  return `Refused with ${response.status}${wait ? `: ask again in ${wait} s` : ""}.`;
}

// A change, or a request for more than is granted: its line in the log. The cache is left out, since it would
// cut a part out of the file that it has.
async function attempt(method, path, { body, ...headers } = {}) {
  if (body) headers["content-type"] = "application/json";
  const response = await fetch(path, { method, headers, cache: "no-store", body: body && JSON.stringify(body) });
  const text = await response.text();
  const problem = (response.headers.get("content-type") ?? "").startsWith("application/problem+json");
  return { response, text, problem: problem ? JSON.parse(text) : null };
}

function note(what, outcome, status) {
  const line = document.createElement("li");
  line.dataset.status = status;
  line.append(element("strong", what), element("span", outcome, "soft"));
  byId("log").prepend(line);
}

async function noted(method, path, init, words = {}) {
  const { response, text, problem } = await attempt(method, path, init);
  const { "if-match": tag, range } = init ?? {};
  const fields = [tag && `If-Match: ${tag}`, range && `Range: ${range}`].filter(Boolean).join(", ");
  const said = problem ? [problem.title, ...(problem.errors ?? []).map((error) => `${error.pointer} ${error.detail}`)].join(": ")
    : words[response.status] ?? text;
  note(`${method} ${path}${fields && `, ${fields}`}`, `${response.status}${said && `: ${said}`}`, response.status);
}

const lamp = (price) => ({ name: "Desk lamp", price });

const actions = {
  async raise() {
    const { response, text } = await timed("/products/1");
    const tag = response.headers.get("etag");
    await noted("PUT", "/products/1", { body: lamp(JSON.parse(text).price + 100), "if-match": tag });
  },
  old: () => noted("PUT", "/products/1", { body: lamp(1000), "if-match": "\"0\"" }),
  blind: () => noted("PUT", "/products/1", { body: lamp(1000) }),
  wrong: () => noted("PUT", "/products/1", { body: lamp(0), "if-match": "*" }),
  remove: () => noted("DELETE", "/products/6", {}, { 204: "it is gone; delete it once more" }),
  part: () => noted("GET", "/price-list.csv", { range: "bytes=-20" }),
  beyond: () => noted("GET", "/price-list.csv", { range: "bytes=100000-" }),
  async often() {
    const attempts = [];
    for (let count = 0; count < 25; count++) attempts.push(await attempt("GET", "/search?q=often"));
    tallied("25 searches, one after the other", attempts);
  },
  async crowd() {
    const searches = Array.from({ length: 5 }, (_, n) => attempt("GET", `/search?q=${n}`));
    tallied("5 searches at once", await Promise.all(searches));
  },
};

// How often each status came, and how long to wait.
function tallied(what, attempts) {
  const counts = {};
  let wait = "";
  for (const { response } of attempts) {
    counts[response.status] = (counts[response.status] ?? 0) + 1;
    if (response.status === 429) wait = `; ask again in ${response.headers.get("retry-after")} s`;
  }
  const said = Object.entries(counts).map(([status, count]) => `${count} × ${status}`).join(", ");
  note(what, said + wait, Object.keys(counts).join(" "));
}

// Buttons wait for each other, so that what is counted belongs to one of them.
async function alone(work) {
  const buttons = document.querySelectorAll("button");
  for (const each of buttons) each.disabled = true;
  try {
    await work();
  } catch (error) {
    byId("status").textContent = `It failed: ${error.message}`;
  }
  for (const each of buttons) each.disabled = false;
}

function onClick(button, work) {
  button.addEventListener("click", async () => {
    await alone(work);
    button.focus();
  });
}

async function askAll() {
  for (const route of routes) await ask(route);
  byId("status").textContent = "Asked for all.";
}

async function waitAndAsk() {
  for (let left = 6; left > 0; left--) {
    byId("status").textContent = `${left} s`;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  await askAll();
}

function element(name, text, className = "") {
  return Object.assign(document.createElement(name), { textContent: text, className });
}

for (const route of routes) {
  const row = byId("rows").insertRow();
  row.id = `row-${route.name}`;
  const head = document.createElement("th");
  head.scope = "row";
  head.append(route.what, element("code", `GET ${route.path}`));
  const declared = document.querySelector(`template[data-handler="${route.handler}"]`);
  if (declared) head.append(declared.content.cloneNode(true));
  row.append(head);
  const button = element("button", "Ask");
  button.setAttribute("aria-label", `Ask for: ${route.what}`);
  onClick(button, () => ask(route));
  row.insertCell().append(button);
  for (const [label, text] of [["The browser says", ""], ["The server saw", ""], ["Why", "not asked yet"]]) {
    const cell = row.insertCell();
    // Above the cell where the table is a list of cards.
    cell.dataset.label = label;
    cell.append(text);
  }
  row.cells[4].className = "soft";
}
onClick(byId("ask-all"), askAll);
onClick(byId("ask-stale"), waitAndAsk);
for (const button of document.querySelectorAll("[data-do]")) onClick(button, actions[button.dataset.do]);
alone(askAll);
