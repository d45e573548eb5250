// The playground: sends the app of the editor to be decided about, and shows what comes back. All of it
// is text: nothing of an app or an answer becomes markup.

const part = (id) => document.getElementById(id);
const [source, paint, origin, attacker, sameSite, route] =
  ["source", "paint", "origin", "attacker", "same-site", "route"].map(part);
const [scene, sides, story, reports, cast, empty, status, share] =
  ["scene", "sides", "story", "reports", "cast", "empty", "status", "share"].map(part);

/** Makes an element with attributes and children, which are elements or texts. */
function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const OWN = `// What the shop's page may read, with the session of its user.
#[get("/orders/{id}")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session)]
async fn order(order: Allowed<Order>) -> Json<Order> {}

// What the same page may do: a form of another page may not.
#[post("/orders")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session)]
#[limit(body = "16 KiB")]
async fn add(user: Principal, order: Json<Order>) {}

// What everybody may read, and caches keep.
#[get("/prices")]
#[cors(origins = ["*"])]
#[auth(public)]
#[cache(public, max_age = 60)]
async fn prices() -> Json<Vec<Price>> {}
`;

/** What the page is about; everything else follows from it. */
const start = { source: OWN, origin: "https://api.shop.example", same_site: "lax", attacker: "https://evil.test", route: 0 };
let scenes = [];
let latest = null;
/** The caller whose details are opened by themselves; none once that is done. */
let featured = "attacker";

// The state, and its links.

function question() {
  return {
    source: source.value, origin: origin.value.trim(), attacker: attacker.value.trim(),
    same_site: sameSite.value, route: Number(route.value) || 0,
  };
}

function set(state) {
  source.value = state.source;
  origin.value = state.origin;
  attacker.value = state.attacker;
  sameSite.value = state.same_site;
  route.replaceChildren(make("option", { value: state.route }, ""));
  route.value = String(state.route);
}

/** A link has a scene, or the whole state in base64url; the fragment is never sent to a server. */
function fragment() {
  if (scene.value) return `#scene=${scene.value}&side=${side()}`;
  const bytes = new TextEncoder().encode(JSON.stringify(question()));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `#app=${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

function restore() {
  const stated = new URLSearchParams(location.hash.slice(1));
  const found = scenes.find(({ name }) => name === stated.get("scene"));
  if (found) {
    show(found, stated.get("side") === "after" ? "after" : "before");
    return;
  }
  show(null);
  set(start);
  try {
    const text = atob((stated.get("app") ?? "").replaceAll("-", "+").replaceAll("_", "/"));
    const state = JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (char) => char.charCodeAt(0))));
    const fits = Object.entries(start).every(([key, value]) => typeof state[key] === typeof value);
    if (fits) set(state);
  } catch {
    // No link, or a broken one: the page starts as usual.
  }
  decide();
}

function side() {
  return sides.querySelector("input:checked").value;
}

/** Shows a scene, or none. */
function show(chosen, version = "before") {
  scene.value = chosen?.name ?? "";
  sides.hidden = story.hidden = !chosen;
  if (!chosen) return;
  featured = chosen.shows;
  sides.querySelector(`[value=${version}]`).checked = true;
  story.textContent = chosen.story;
  set({ ...start, ...chosen, source: chosen[version], route: 0 });
  decide();
}

// The editor.

const PIECES = /(\/\/[^\n]*)|("(?:[^"\\]|\\.)*"?)|(#\[\s*[a-z_]+)|\b(async|fn|use|pub|struct|true|false)\b/gu;

/** Paints a text: kinds of words, what the compiler underlines, and a line that decided. */
function repaint(line = 0) {
  const text = source.value;
  const kinds = new Array(text.length).fill("");
  for (const found of text.matchAll(PIECES)) {
    const kind = ["comment", "text", "attribute", "word"][found.slice(1).findIndex((it) => it !== undefined)];
    kinds.fill(kind, found.index, found.index + found[0].length);
  }
  const lines = text.split("\n");
  const starts = lines.reduce((all, it) => [...all, all.at(-1) + it.length + 1], [0]);
  const offset = ([row, column]) =>
    (starts[row - 1] ?? text.length) + Array.from(lines[row - 1] ?? "").slice(0, column).join("").length;
  for (const { kind, start, end } of latest?.reports ?? []) {
    const [from, to] = [offset(start), offset(end)];
    for (let at = from; at < Math.max(to, from + 1) && at < text.length; at += 1) {
      kinds[at] += ` ${kind}`;
    }
  }
  for (let at = starts[line - 1] ?? 0; line > 0 && at < starts[line] - 1; at += 1) kinds[at] += " deciding";
  paint.replaceChildren();
  for (let at = 0; at < text.length;) {
    let to = at + 1;
    while (to < text.length && kinds[to] === kinds[at]) to += 1;
    paint.append(make("span", { class: kinds[at].trim() || null }, text.slice(at, to)));
    at = to;
  }
  // A last line without text has no height otherwise.
  paint.append("\n ");
  source.rows = Math.min(26, Math.max(9, lines.length + 1));
  follow();
}

function follow() {
  paint.scrollTop = source.scrollTop;
  paint.scrollLeft = source.scrollLeft;
}

// The answer.

let asked = 0;
let waiting = 0;

async function decide() {
  clearTimeout(waiting);
  const number = (asked += 1);
  repaint();
  let answer;
  try {
    const response = await fetch("/decide", {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(question()),
    });
    if (!response.ok) throw new Error(`the command says ${response.status}`);
    answer = await response.json();
  } catch (error) {
    const text = `No answer: ${error.message}. Does cargo policy play still run?`;
    answer = { problems: [{ field: "", text }], reports: [], routes: [], route: 0, cast: [] };
  }
  // Another question is on its way.
  if (number !== asked) return;
  latest = answer;
  repaint();
  showProblems(answer.problems);
  showReports(answer.reports);
  showRoutes(answer);
  showCast(answer);
  document.documentElement.dataset.answered = number;
}

function later() {
  clearTimeout(waiting);
  if (scene.value) show(null);
  latest = null;
  repaint();
  waiting = setTimeout(decide, 200);
}

function showProblems(problems) {
  document.querySelectorAll("p.problem[id]").forEach((old) => old.remove());
  for (const field of [origin, attacker, source]) field.removeAttribute("aria-invalid");
  for (const { field, text } of problems) {
    const about = { origin, attacker, source }[field];
    const place = about === source || !about ? part("source-help") : about;
    const problem = make("p", { class: "problem", id: `${field || "page"}-problem`, role: "alert" }, text);
    place.after(problem);
    about?.setAttribute("aria-invalid", "true");
  }
}

function showReports(all) {
  reports.replaceChildren(...all.map(({ kind, text, start }) =>
    make("li", { class: kind }, make("b", {}, kind), `: line ${start[0]}: ${text}`)));
}

function showRoutes({ routes, route: chosen }) {
  route.replaceChildren(...routes.map(({ method, path }, index) =>
    make("option", { value: index }, `${method} ${path}`)));
  route.value = String(chosen);
  route.closest(".route").hidden = routes.length === 0;
}

const BADGES = {
  friend: { served: "works", nothing: "nothing" },
  stranger: { nothing: "nothing", served: "public", users: "every user", open: "open", harm: "harm" },
};

function showCast({ cast: actors, problems, reports: found, routes }) {
  const open = new Set([...cast.querySelectorAll("details.actor[open]")].map((it) => it.dataset.who));
  if (featured && actors.length > 0) {
    open.clear();
    open.add(featured);
    featured = null;
  }
  const refused = found.filter(({ kind }) => kind === "error").length;
  empty.hidden = actors.length > 0;
  part("legend").hidden = actors.length === 0;
  if (refused > 0) {
    empty.textContent = "It does not compile or start, so nobody gets anything.";
  } else if (problems.length > 0) {
    empty.textContent = "Nobody can ask yet: see the message on the form.";
  } else if (routes.length === 0) {
    empty.textContent = "There is no route: write a function with an attribute such as #[get(\"/\")].";
  }
  cast.replaceChildren(...actors.map((actor) => make("li", {}, actorOf(actor, open.has(actor.who)))));
  status.textContent = actors.length > 0
    ? actors.map((actor) => `${actor.name}: ${badgeOf(actor)}.`).join(" ")
    : empty.textContent;
}

function badgeOf({ who, gets }) {
  return BADGES[who === "own" || who === "granted" ? "friend" : "stranger"][gets];
}

function actorOf(actor, isOpen) {
  const { who, name, origin: from, gets, says, asks } = actor;
  const tone = badgeOf(actor) === "nothing" && who !== "own" && who !== "granted" ? "safe" : gets;
  return make("details", { class: `actor ${tone}`, "data-who": who, open: isOpen ? "" : null },
    make("summary", {}, picture(who),
      make("div", {}, make("h3", {}, name), from ? make("code", {}, from) : null,
        make("p", { class: "says" }, says)),
      make("span", { class: "badge" }, badgeOf(actor))),
    make("div", { class: "details" }, ...asks.map(askOf)));
}

function askOf({ how, says, console: message, exchanges }) {
  return make("section", { class: "ask", "aria-label": how },
    make("h4", {}, how), make("p", { class: "soft" }, says),
    ...exchanges.map(exchangeOf),
    message === null ? null : make("p", { class: "soft small" }, "The console of the browser:"),
    message === null ? null : make("pre", { class: "console" }, message));
}

const VERDICTS = { passed: "passed", not_asked: "asks nothing", ended: "answered here", refused: "refused", not_reached: "not reached" };

function exchangeOf({ is_preflight: isPreflight, request, sent, withheld, gates, status: code, written }) {
  const refusal = gates.find(({ verdict }) => verdict === "refused");
  return make("div", { class: "exchange" },
    make("div", { class: "line" },
      make("strong", {}, request), make("span", {}, `→ ${code}`),
      isPreflight ? make("span", { class: "soft" }, "the browser asks first: a preflight") : null),
    make("ul", { class: "gates", "aria-label": "Gates" }, ...gates.map(({ gate, verdict }) =>
      make("li", { class: verdict, title: VERDICTS[verdict] }, gate.replaceAll("_", " "),
        make("span", { class: "unseen" }, `: ${VERDICTS[verdict]}`)))),
    refusal ? whyOf(refusal) : null,
    ...withheld.map((text) => make("p", { class: "why soft" }, text)),
    make("details", { class: "fields" },
      make("summary", {}, `headers: ${sent.length} sent, ${written.length} received`),
      tableOf("Request", sent), tableOf("Response", written)));
}

/** Says why a gate refused, and shows the line that it enforces. */
function whyOf({ code, title, line }) {
  const why = make("p", { class: "why" }, make("code", {}, code), `: ${title} `);
  if (line !== null) {
    const button = make("button", { type: "button" }, `line ${line}`);
    button.addEventListener("click", () => {
      repaint(line);
      source.scrollTop = Math.max(0, (line - 4) * 20);
      source.scrollIntoView({ block: "nearest" });
    });
    why.append(button);
  }
  return why;
}

function tableOf(caption, fields) {
  return make("table", {}, make("caption", {}, caption),
    make("tbody", {}, ...fields.map(([name, value]) =>
      make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)))));
}

const PATHS = {
  own: "M3 11l9-7 9 7M6 9.5V20h12V9.5M10 20v-6h4v6",
  granted: "M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-5.7-5.6l-1.5 1.5M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 5.7 5.6l1.5-1.5",
  attacker: "M12 3l9 17H3zM12 10v4M12 17v.5",
  program: "M3 5h18v14H3zM7 10l3 2.5L7 15M12 15h5",
  cache: "M7 18a4 4 0 0 1 0-8 5 5 0 0 1 9.6-1.5A4.5 4.5 0 0 1 17 18z",
};

function picture(who) {
  const space = "http://www.w3.org/2000/svg";
  const [image, path] = ["svg", "path"].map((name) => document.createElementNS(space, name));
  const set = (to, values) => Object.entries(values).forEach(([key, value]) => to.setAttribute(key, value));
  set(image, { viewBox: "0 0 24 24", "aria-hidden": "true", fill: "none", stroke: "currentColor", "stroke-width": 1.6, "stroke-linejoin": "round", "stroke-linecap": "round" });
  set(path, { d: PATHS[who] });
  image.append(path);
  return image;
}

// What a user does.

source.addEventListener("input", later);
source.addEventListener("scroll", follow);
for (const field of [origin, attacker]) field.addEventListener("input", later);
sameSite.addEventListener("change", later);
route.addEventListener("change", decide);
scene.addEventListener("change", () => {
  const chosen = scenes.find(({ name }) => name === scene.value);
  show(chosen ?? null);
  if (!chosen) {
    set(start);
    decide();
  }
  history.replaceState(null, "", chosen ? fragment() : "#");
});
sides.addEventListener("change", () => {
  show(scenes.find(({ name }) => name === scene.value), side());
  history.replaceState(null, "", fragment());
});
addEventListener("hashchange", restore);
share.addEventListener("click", async () => {
  history.replaceState(null, "", fragment());
  const said = share.textContent;
  try {
    await navigator.clipboard.writeText(location.href);
    share.textContent = "Copied";
  } catch {
    share.textContent = "It is in the address bar";
  }
  setTimeout(() => { share.textContent = said; }, 2000);
});

const given = await (await fetch("/scenes")).json();
scenes = given.scenes;
start.origin = given.origin;
scene.append(...scenes.map(({ name, title }) => make("option", { value: name }, title)));
restore();
