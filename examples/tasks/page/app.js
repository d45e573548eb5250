// The page: who is logged in, which view is shown, and what others do meanwhile.

import { act, byId, element, face, on, say } from "/elements.js";
import * as live from "/live.js";
import { call, renew, words } from "/service.js";
import * as dialog from "/task.js";
import * as tasks from "/tasks.js";
import * as team from "/team.js";

let me = null;
/** The code of an invitation, of the address by which the page was opened. */
let invitation = null;
/** Until the page loads again, in milliseconds. */
let pause = 1000;
let timer = null;

/** Finds out who is logged in, and shows it. If that fails, the page stays as it is, and tries again. */
const load = () => find().catch((error) => {
  again();
  throw error;
});

/** Loads after a pause, which grows until changes of others arrive. */
function again() {
  clearTimeout(timer);
  timer = setTimeout(() => act(load), pause);
  pause = Math.min(2 * pause, 60_000);
}

async function find() {
  const found = (await renew()) ? await call("GET", "/me") : null;
  // Only a 401 says that nobody is logged in.
  if (found && !found.ok && found.status !== 401) throw new Error(words(found));
  const before = document.body.dataset.me;
  me = found?.ok ? found.body : null;
  document.body.dataset.me = me?.name ?? "";
  byId("outside").hidden = me !== null;
  byId("inside").hidden = me === null;
  if (me) {
    byId("team").textContent = document.title = me.team_name;
    byId("me").textContent = me.name;
    await team.load(me);
    await tasks.load();
    live.start({ change, here, connected, end: again });
  } else {
    live.stop();
    byId("task").close();
    document.title = "Tasks";
    for (const id of ["invitation", "issued"]) byId(id).hidden = true;
    // The next person at this page reads no secrets.
    for (const id of ["link", "access", "refresh"]) byId(id).value = "";
  }
  view();
  // The form in use is gone, so the focus moves here for those who use a keyboard.
  if (before !== undefined && before !== document.body.dataset.me) (me ? byId("team") : byId("login").elements.login).focus();
}

function view() {
  invitation = location.hash.match(/^#invitation=(\w+)$/)?.[1] ?? invitation;
  byId("invited").hidden = !invitation;
  byId("uninvited").hidden = byId("new-team").hidden = Boolean(invitation);
  byId("signup").elements.team.disabled = Boolean(invitation);
  const shown = location.hash === "#/people" ? "people" : "tasks";
  for (const id of ["tasks", "people"]) byId(id).hidden = id !== shown;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#/${shown}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Something changed: what, and not how. */
function change(news) {
  act(async () => {
    if (!me) return;
    if (news === "missed") return tasks.load();
    if (news === "team") {
      // Perhaps in another role.
      const found = await call("GET", "/me");
      if (found.ok) me = found.body;
      await team.load(me);
      return tasks.load();
    }
    if (news.removed) {
      const gone = tasks.forget(news.removed);
      if (gone) say(`“${gone.title}” was deleted.`);
      return dialog.changed(news.removed, null);
    }
    const { task, isNew } = await tasks.refresh(news.task);
    if (isNew && task && task.author !== me.name) say(`${task.author} added “${task.title}”.`);
    await dialog.changed(news.task, task);
  });
}

/** Whether changes of others arrive. */
function connected(is) {
  if (is) pause = 1000;
  document.body.dataset.live = is;
  byId("live").textContent = is ? "live" : "connecting";
}

/** Who is here, once each: somebody may have several pages open. */
function here(pages) {
  const others = pages.filter(({ member }) => member !== me?.id);
  const once = [...new Map(pages.map((page) => [page.member, page])).values()];
  byId("here").replaceChildren(...once.map(({ member, name }) => element("li", {},
    face({ id: member, name }), element("span", { className: "unseen" }, name))));
  tasks.others(others);
  dialog.others(others);
}

async function enter(path, json, form) {
  const entered = await call("POST", path, { json });
  if (!entered.ok) return say(words(entered), true);
  form.reset();
  if (invitation) history.replaceState(null, "", "/");
  invitation = null;
  say(`Welcome, ${entered.body.name}.`);
  await load();
}

on("login", "submit", ({ target }) => enter("/login", Object.fromEntries(new FormData(target)), target));
on("signup", "submit", ({ target }) =>
  enter("/signup", { ...Object.fromEntries(new FormData(target)), ...(invitation && { invitation }) }, target));
on("logout", "click", async () => {
  const left = await call("POST", "/logout");
  say(left.ok ? "Logged out." : words(left), !left.ok);
  await load();
});
addEventListener("hashchange", view);
act(load);
