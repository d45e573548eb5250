const $ = (selector) => document.querySelector(selector);
let csrf = null;

/** Asks the service. A request that changes something carries the CSRF token of the session. */
async function call(method, path, body) {
  const headers = {};
  if (body !== undefined) headers["content-type"] = "application/json";
  if (method !== "GET" && csrf) headers["x-csrf-token"] = csrf;
  const response = await fetch(`/api${path}`, { method, headers, body: JSON.stringify(body) });
  const isJson = (response.headers.get("content-type") ?? "").includes("json");
  const answer = isJson ? await response.json() : null;
  if (response.ok) return answer;
  // The token changes with the session: at a login, also in another tab.
  if (answer?.code === "csrf.token" && (await renew())) return call(method, path, body);
  const words = answer?.detail ?? answer?.title ?? response.statusText;
  throw Object.assign(new Error(words), { status: response.status });
}

/** Fetches the CSRF token, and returns whether it is another one. */
async function renew() {
  const before = csrf;
  csrf = (await call("GET", "/csrf")).token;
  return csrf !== null && csrf !== before;
}

function show(me, notes = []) {
  $("#login").hidden = Boolean(me);
  $("#notes").hidden = $("#who").hidden = !me;
  $("#who span").textContent = me?.name ?? "";
  $("#notes ul").replaceChildren(...notes.map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  }));
}

async function start() {
  await renew();
  const me = csrf ? await call("GET", "/me") : null;
  show(me, me ? await call("GET", "/notes") : []);
}

/** Runs an action, and says why it failed. Only a 401 says that nobody is logged in. */
async function act(run) {
  $("#status").textContent = "";
  try {
    await run();
  } catch (error) {
    $("#status").textContent = error.message;
    if (error.status === 401) show(null);
  }
}

/** Runs what a control does. */
function on(selector, event, run) {
  $(selector).addEventListener(event, (happened) => {
    happened.preventDefault();
    act(() => run(happened.target));
  });
}

on("#login", "submit", async (form) => {
  await call("POST", "/login", Object.fromEntries(new FormData(form)));
  form.reset();
  await start();
});
on("#add", "submit", async (form) => {
  const notes = await call("POST", "/notes", Object.fromEntries(new FormData(form)));
  form.reset();
  show({ name: $("#who span").textContent }, notes);
});
on("#logout", "click", async () => {
  await call("POST", "/logout");
  await start();
});
act(start);
