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
  if (!response.ok) throw new Error(answer?.detail ?? answer?.title ?? response.statusText);
  return answer;
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
  csrf = (await call("GET", "/csrf")).token;
  const me = csrf ? await call("GET", "/me").catch(() => null) : null;
  show(me, me ? await call("GET", "/notes") : []);
}

/** Runs what a control does, and says why it failed. */
function on(selector, event, run) {
  $(selector).addEventListener(event, async (happened) => {
    happened.preventDefault();
    $("#status").textContent = "";
    try {
      await run(happened.target);
    } catch (error) {
      $("#status").textContent = error.message;
    }
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
start();
