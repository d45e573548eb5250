// A page of the shop. Any page of a granted origin can use the service in the same way.
"use strict";

const service = document.querySelector("meta[name=service]").content;
const byId = (id) => document.getElementById(id);

// The CSRF token of the session, required for unsafe requests.
let csrf = null;
// The tokens of this page, and a stolen copy of them.
let mine = null;
let copy = null;
let stream = null;

// Calls the service, with the session cookie or a bearer token.
async function call(method, path, { body, bearer, cookies = true } = {}) {
  const headers = {};
  if (body) headers["content-type"] = "application/json";
  if (bearer) headers.authorization = `Bearer ${bearer}`;
  const proves = cookies && method !== "GET" && csrf;
  if (proves) headers["x-csrf-token"] = csrf;
  const response = await fetch(service + path, {
    method, headers, body: body && JSON.stringify(body), credentials: cookies ? "include" : "omit",
  });
  const text = await response.text();
  const result = { ok: response.ok, status: response.status, ...(text && { body: JSON.parse(text) }) };
  const credentials = bearer ? "a token" : proves ? "cookie, x-csrf-token" : cookies ? "cookie" : "nothing";
  note(`${method} ${path}`, credentials, result);
  return result;
}

// An unsafe call with the session. The CSRF token changes at a login, also at one in another tab.
async function change(method, path, body) {
  const response = await call(method, path, { body });
  if (response.body?.code !== "csrf.token") return response;
  await renewCsrf();
  return call(method, path, { body });
}

async function renewCsrf() {
  const response = await call("GET", "/csrf");
  if (!response.ok) throw new Error(words(response));
  csrf = response.body.token;
}

// Finds out who is logged in, and shows it.
async function load() {
  await renewCsrf();
  const response = csrf ? await call("GET", "/profile") : null;
  // Only a 401 says that nobody is logged in.
  if (response && !response.ok && response.status !== 401) throw new Error(words(response));
  const user = response?.ok ? response.body.name : null;
  byId("signed-out").hidden = user !== null;
  byId("signed-in").hidden = user === null;
  byId("user").textContent = user ?? "";
  for (const field of document.querySelectorAll(".username")) field.value = user ?? "";
  // The form in use has disappeared, so the focus moves here for keyboard users.
  const before = document.body.dataset.user;
  document.body.dataset.user = user ?? "";
  if (before !== undefined && before !== document.body.dataset.user) byId(user ? "signed-in-title" : "name").focus();
  if (user === null) {
    listen(false);
  } else {
    await showSessions();
    listen(true);
  }
}

async function showSessions() {
  const { ok, body } = await call("GET", "/sessions");
  if (!ok) return;
  byId("sessions").replaceChildren(...body.map(({ handle, device, address, begun, last_seen, is_this, is_new }) => {
    const row = document.createElement("tr");
    row.dataset.handle = handle;
    row.dataset.this = is_this;
    row.dataset.new = is_new;
    const words = element("span", from(device, address));
    if (is_new) words.prepend(element("strong", "New since you were last here: ", "bad"));
    const end = element("button", is_this ? "End (this one)" : "End");
    end.addEventListener("click", () => act(async () => {
      const response = await change("DELETE", `/sessions/${handle}`);
      say(response, "The session ended.");
      await load();
    }));
    row.append(cell(words), cell(moment(begun), "Logged in"), cell(moment(last_seen), "Last used"), cell(end));
    return row;
  }));
  await showEvents();
}

// What happened to the account, newest first; also what ended before anybody looked.
async function showEvents() {
  const { ok, body } = await call("GET", "/events");
  if (!ok) return;
  byId("events").replaceChildren(...body.map(({ at, what, device, address }) => {
    const row = document.createElement("tr");
    row.append(cell(moment(at)), cell(what), cell(from(device, address), "Device"));
    return row;
  }));
}

function moment(time) {
  const form = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  return element("time", new Date(time).toLocaleString([], form));
}

const from = (device, address) => `${named(device)}, ${address}`;

// Events of the account. `EventSource` sends the cookie only with `withCredentials`.
function listen(on) {
  if (on && stream && stream.readyState !== EventSource.CLOSED) return showStream();
  stream?.close();
  stream = on ? new EventSource(`${service}/news`, { withCredentials: true }) : null;
  showStream();
  if (!on) return;
  stream.onopen = showStream;
  stream.onmessage = ({ data }) => {
    const { what, device, address } = JSON.parse(data);
    byId("news").append(element("li", `${what}: ${from(device, address)}`));
    act(showSessions);
  };
  // The browser reconnects automatically unless the service refuses, but the session may have ended, here
  // or elsewhere.
  stream.onerror = ({ target }) => {
    if (target.readyState === EventSource.CLOSED) setTimeout(() => act(load), 5000);
    else act(load);
    showStream();
  };
}

function showStream() {
  byId("stream").textContent = ["connecting", "open", "closed"][stream?.readyState ?? EventSource.CLOSED];
}

function showTokens() {
  const words = (tokens) => (tokens ? `…${tokens.access_token.slice(-8)}` : "no token");
  // A token outlives the login that gave it out.
  byId("tokens").hidden = !document.body.dataset.user && !mine && !copy;
  byId("token-mine").textContent = words(mine);
  byId("token-copied").textContent = words(copy);
  for (const id of ["token-use", "token-refresh", "token-drop", "token-logout"]) byId(id).disabled = !mine;
  for (const id of ["copy-use", "copy-refresh"]) byId(id).disabled = !copy;
}

const useToken = async (tokens) =>
  say(await call("GET", "/profile", { bearer: tokens.access_token, cookies: false }), "The token is good.");

async function refreshToken(tokens) {
  const body = { refresh_token: tokens.refresh_token };
  const response = await call("POST", "/token/refresh", { body, cookies: false });
  say(response, "A new pair of tokens; the previous refresh token is used.");
  return response.ok ? response.body : tokens;
}

// Every button and form, by its id.
const actions = {
  "login-form": async (event) => {
    const path = event.submitter?.value === "signup" ? "/signup" : "/login";
    const response = await change("POST", path, { name: byId("name").value, password: byId("password").value });
    say(response, "Welcome.");
    if (!response.ok) return;
    byId("token-name").value = byId("name").value;
    byId("login-form").reset();
    await load();
  },
  "logout": async () => {
    say(await change("POST", "/logout"), "Logged out.");
    await load();
  },
  "logout-everywhere": async () => {
    say(await change("POST", "/logout/everywhere"), "Logged out everywhere; all tokens are revoked.");
    await load();
  },
  "reload-sessions": showSessions,
  "password-form": async () => {
    const body = { current: byId("current-password").value, password: byId("new-password").value };
    const response = await change("POST", "/password", body);
    byId("confirm-form").hidden = response.body?.code !== "auth.login-too-old";
    say(response, "The password was changed; all other sessions ended.");
    if (!response.ok) return;
    byId("password-form").reset();
    await load();
  },
  "confirm-form": async () => {
    const response = await change("POST", "/confirm", { password: byId("confirm-password").value });
    say(response, "Thank you. Now change the password.");
    byId("confirm-form").reset();
    byId("confirm-form").hidden = response.ok;
  },
  "token-form": async () => {
    const body = { name: byId("token-name").value, password: byId("token-password").value };
    const response = await call("POST", "/token", { body, cookies: false });
    say(response, "Two tokens, and somebody made a copy of them.");
    if (!response.ok) return;
    byId("token-form").reset();
    mine = copy = response.body;
  },
  "token-use": () => useToken(mine),
  "copy-use": () => useToken(copy),
  "token-refresh": async () => { mine = await refreshToken(mine); },
  "copy-refresh": async () => { copy = await refreshToken(copy); },
  "token-drop": async () => {
    mine = null;
    say({ ok: true }, "Dropped. The service knows nothing of it.");
  },
  "token-logout": async () => {
    const body = { refresh_token: mine.refresh_token };
    const response = await call("POST", "/token/logout", { body, cookies: false });
    say(response, "The service refuses these tokens from now on.");
    if (response.ok) mine = null;
  },
};

// One action at a time; tests wait for `aria-busy`.
let last = Promise.resolve();
function act(action) {
  document.body.setAttribute("aria-busy", "true");
  const done = last.then(action).catch((error) => say({ ok: false, body: { detail: error.message } }));
  last = done.then(() => {
    showTokens();
    if (last === settled) document.body.setAttribute("aria-busy", "false");
  });
  const settled = last;
}

function say(response, done) {
  byId("status").className = response.ok ? "good" : "bad";
  byId("status").textContent = response.ok ? done : words(response);
}

// What a problem says to people.
function words({ status, body }) {
  return `${body?.detail ?? body?.title ?? `The service responded ${status}.`}${body?.code ? ` (${body.code})` : ""}`;
}

function note(request, credentials, { ok, status, body }) {
  const row = document.createElement("tr");
  const response = element("span", body?.code ? `${status} ${body.code}` : String(status), ok ? "mono good" : "mono bad");
  row.append(cell(element("span", request, "mono")), cell(credentials, "With"), cell(response, "Answer"));
  // The attributes of the handler, from its source; paths with parameters are left out.
  const declared = document.querySelector(`template[data-route="${request}"]`);
  if (declared) row.cells[0].append(declared.content.cloneNode(true));
  byId("calls").prepend(row);
}

// A browser and its system, from its `User-Agent`; other programs as they call themselves.
function named(agent) {
  const first = (marks) => marks.find(([mark]) => agent.includes(mark))?.[1];
  const browser = first([
    ["Edg/", "Edge"], ["OPR/", "Opera"], ["Firefox/", "Firefox"], ["Chrome/", "Chrome"], ["Safari/", "Safari"],
  ]);
  const system = first([
    ["Android", "Android"], ["iPhone", "iPhone"], ["iPad", "iPad"], ["Windows", "Windows"], ["Mac OS", "macOS"], ["Linux", "Linux"],
  ]);
  return browser && system ? `${browser} on ${system}` : agent;
}

function element(name, text, className = "") {
  return Object.assign(document.createElement(name), { textContent: text, className });
}

// The label stands before the text where the table is a list of cards.
function cell(child, label) {
  const cell = document.createElement("td");
  if (label) cell.dataset.label = label;
  cell.append(child);
  return cell;
}

for (const [id, action] of Object.entries(actions)) {
  const event = byId(id) instanceof HTMLFormElement ? "submit" : "click";
  byId(id).addEventListener(event, (event) => {
    event.preventDefault();
    act(() => action(event));
  });
}
byId("origin").textContent = location.origin;
act(load);
