// The page of the cluster: who is logged in, which instance responded, and the state of the parts.
"use strict";

const byId = (id) => document.getElementById(id);
const operator = document.querySelector("meta[name=operator]").content;
// How many requests the page shows.
const SHOWN = 8;

// The CSRF token of the session, required for unsafe requests.
let csrf = null;
// Responses by instance.
const responses = new Map();

async function call(method, path, body) {
  const headers = {};
  if (body !== undefined) headers["content-type"] = "application/json";
  if (csrf !== null && method !== "GET") headers["x-csrf-token"] = csrf;
  let result;
  try {
    const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
    const text = await response.text();
    const isJson = (response.headers.get("content-type") ?? "").includes("json");
    result = {
      status: response.status,
      instance: response.headers.get("x-instance") ?? "",
      body: isJson && text ? JSON.parse(text) : null,
    };
  } catch {
    // The process that was to respond is gone.
    result = { status: 0, instance: "", body: null };
  }
  note(`${method} ${path}`, result);
  return result;
}

function note(request, { status, instance, body }) {
  if (instance) responses.set(instance, (responses.get(instance) ?? 0) + 1);
  const row = document.createElement("tr");
  const words = status === 0 ? "no response" : `${status} ${body?.code ?? ""}`;
  row.append(cell(request, "mono"), cell(instance, "", "Instance"), cell(words, status >= 200 && status < 300 ? "good" : "bad", "Response"));
  // The attributes of the handler, from its source; `session::csrf` has none there.
  const declared = document.querySelector(`template[data-route="${request}"]`);
  if (declared) row.cells[0].append(declared.content.cloneNode(true));
  byId("calls").prepend(row);
  while (byId("calls").children.length > SHOWN) byId("calls").lastChild.remove();
}

function show({ status, body }) {
  if (status === 200) {
    byId("user").textContent = body.name;
    byId("count").textContent = body.count;
    signedIn(true);
    say("");
  } else if (status === 401) {
    signedIn(false);
    say("");
  } else if (status === 503) {
    say("The store is away. Nobody is logged out.", "bad");
  } else if (status === 0) {
    say("No response: the next request goes to another instance.", "bad");
  } else {
    say(body?.detail ?? `Response ${status}`, "bad");
  }
}

function signedIn(is) {
  byId("signed-in").hidden = !is;
  byId("signed-out").hidden = is;
}

function say(words, kind = "") {
  byId("status").className = kind;
  byId("status").textContent = words;
}

async function token() {
  const { status, body } = await call("GET", "/csrf");
  if (status === 200) csrf = body.token;
}

const actions = {
  "login-form": async () => {
    const response = await call("POST", "/login", { name: byId("name").value });
    if (response.status === 200) await token();
    show(response);
  },
  add: async () => show(await call("POST", "/count")),
  logout: async () => {
    const response = await call("POST", "/logout");
    if (response.status === 204) {
      csrf = null;
      signedIn(false);
      say("Logged out, at every instance.", "good");
    } else {
      show(response);
    }
  },
};

// What one can do to a part in each state.
const possible = {
  ready: ["kill", "restart", "pause"],
  running: ["kill", "restart", "pause"],
  "not ready": ["kill", "restart", "pause"],
  "no response": ["kill", "restart", "pause"],
  paused: ["resume", "kill"],
  gone: ["start"],
  elsewhere: [],
};

// Where there is no operator, the instances are those that responded.
async function parts() {
  if (operator === "") {
    byId("no-operator").hidden = false;
    return [...responses.keys()].sort().map((name) => ({ name, state: "" }));
  }
  try {
    const response = await fetch(`${operator}/parts`);
    return await response.json();
  } catch {
    return [];
  }
}

let drawn = "";
async function draw() {
  const list = await parts();
  const now = JSON.stringify([list, [...responses]]);
  if (now === drawn) return;
  drawn = now;
  // A user at a button with the keyboard stays there.
  const focused = document.activeElement?.dataset.key;
  byId("parts").replaceChildren(...list.map(({ name, state }) => {
    const item = document.createElement("li");
    const isWell = state === "ready" || state === "running" || state === "elsewhere";
    const title = name === "store" ? "Store" : `Instance ${name}`;
    const count = responses.get(name) ?? 0;
    const words = name === "store" ? state : [state, `${count} ${count === 1 ? "response" : "responses"}`].filter(Boolean).join(", ");
    item.append(element("span", title, "name"), element("span", words, isWell ? "good" : state ? "bad" : "soft"));
    const row = element("div", "", "row");
    for (const action of possible[state] ?? []) {
      const button = element("button", action);
      button.dataset.key = `${name} ${action}`;
      button.setAttribute("aria-label", `${action} ${title}`);
      button.addEventListener("click", () => act(button, name, action));
      row.append(button);
    }
    if (row.children.length > 0) item.append(row);
    return item;
  }));
  if (focused) document.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

async function act(button, name, action) {
  button.disabled = true;
  try {
    const response = await fetch(`${operator}/parts/${name}/${action}`, { method: "POST" });
    if (!response.ok) say((await response.json()).detail, "bad");
  } catch {
    say("The operator does not respond: is the example still running?", "bad");
  }
  drawn = "";
  await draw();
}

function element(name, text, className = "") {
  return Object.assign(document.createElement(name), { textContent: text, className });
}

// The label stands above the cell where the table is a list of cards.
function cell(text, className = "", label = "") {
  const cell = element("td", text, className);
  if (label) cell.dataset.label = label;
  return cell;
}

for (const [id, action] of Object.entries(actions)) {
  const event = byId(id) instanceof HTMLFormElement ? "submit" : "click";
  byId(id).addEventListener(event, (event) => {
    event.preventDefault();
    action();
  });
}

async function steadily() {
  if (!byId("signed-in").hidden && byId("steady").checked) show(await call("GET", "/me"));
  await draw();
  setTimeout(steadily, 500);
}

byId("origin").textContent = location.origin;
call("GET", "/me").then(async (response) => {
  show(response);
  if (response.status === 200) await token();
  await steadily();
});
