// The list of tasks.

import { act, byId, element, face, keyed, on, say } from "/elements.js";
import { call, words } from "/service.js";
import { open } from "/task.js";
import { people } from "/team.js";

/** What the page knows, newest first. */
let tasks = [];
let next = null;
/** Who else is here, by the task that they look at. */
let looking = [];

const wanted = () => byId("filter").querySelector(":checked").value;
const fits = ({ done }) => wanted() === "all" || done === (wanted() === "done");
export const etag = ({ version }) => `"${version}"`;

/** Loads the first page again, and as many more as were shown. */
export async function load() {
  const count = Math.min(100, Math.max(20, tasks.length));
  const page = await call("GET", `/tasks?limit=${count}${query()}`);
  if (!page.ok) return;
  ({ tasks, next = null } = page.body);
  show();
}

const query = () => (wanted() === "all" ? "" : `&done=${wanted() === "done"}`);

async function more() {
  const page = await call("GET", `/tasks?after=${encodeURIComponent(next)}${query()}`);
  if (!page.ok) return say(words(page), true);
  const first = page.body.tasks[0];
  tasks.push(...page.body.tasks);
  next = page.body.next ?? null;
  show();
  // The button may be gone.
  byId("list").querySelector(`[data-id="${first?.id}"] .title`)?.focus();
}

/** Fetches a task that changed, here or elsewhere, and returns it, or null if it is gone. */
export async function refresh(id) {
  const before = tasks.find((task) => task.id === id);
  const found = await call("GET", `/tasks/${id}`);
  const task = found.ok ? found.body : null;
  tasks = tasks.filter((it) => it.id !== id);
  if (task && fits(task)) {
    tasks.push(task);
    tasks.sort((a, b) => b.created - a.created || (a.id < b.id ? 1 : -1));
  }
  show();
  return { task, isNew: !before };
}

export function forget(id) {
  const task = tasks.find((it) => it.id === id);
  tasks = tasks.filter((it) => it.id !== id);
  show();
  return task;
}

export function others(here) {
  looking = here;
  show();
}

function show() {
  keyed(byId("list"), tasks, row);
  byId("empty").hidden = tasks.length > 0;
  byId("empty").textContent = wanted() === "done" ? "Nothing is done yet." : "Nothing to do. Add a task.";
  byId("more").hidden = next === null;
}

function row(item, task) {
  if (!item.firstChild) {
    const check = element("input", { type: "checkbox" });
    check.addEventListener("change", () => act(() => toggle(item.task, check)));
    const title = element("button", { type: "button", className: "title" });
    title.addEventListener("click", () => act(() => open(item.task.id)));
    const facts = element("span", { className: "facts" });
    item.append(element("label", {}, element("span", { className: "unseen" }), check), title, facts);
  }
  item.task = task;
  const [label, title, facts] = item.children;
  item.classList.toggle("done", task.done);
  label.firstChild.textContent = `“${task.title}” is done`;
  label.lastChild.checked = task.done;
  title.textContent = task.title;
  const parts = [];
  const here = looking.filter((it) => it.task === task.id);
  if (here.length) parts.push(element("span", { className: "looking" }, `${here.map((it) => it.name).join(", ")} ${here.length > 1 ? "are" : "is"} looking`));
  if (task.note) parts.push(element("span", { className: "soft" }, "note"));
  if (task.attachments) parts.push(element("span", { className: "soft" }, task.attachments === 1 ? "1 file" : `${task.attachments} files`));
  const assignee = people.find((person) => person.id === task.assignee);
  if (assignee) parts.push(element("span", { className: "unseen" }, `for ${assignee.name}`), face(assignee));
  // Replaced only if they differ, since what changes may be read aloud.
  if (facts.textContent !== parts.map((part) => part.textContent).join("")) facts.replaceChildren(...parts);
}

async function toggle(task, check) {
  const { title, note, assignee } = task;
  const changed = await call("PUT", `/tasks/${task.id}`, { json: { title, note, assignee, done: check.checked }, match: etag(task) });
  if (!changed.ok) say(changed.status === 412 ? "Somebody changed this task meanwhile: look again." : words(changed), true);
  else say(check.checked ? `“${title}” is done.` : `“${title}” is open again.`);
  // Where it leaves the list, the focus goes to the next one.
  const item = check.closest("li");
  const neighbour = item.nextElementSibling ?? item.previousElementSibling;
  const hadFocus = item.contains(document.activeElement);
  await refresh(task.id);
  if (hadFocus && !item.isConnected) (neighbour?.querySelector("input") ?? byId("add").title).focus();
}

on("add", "submit", async ({ target }) => {
  const added = await call("POST", "/tasks", { json: { title: target.elements.title.value } });
  if (!added.ok) return say(words(added), true);
  target.reset();
  say("Added.");
  await refresh(added.body.id);
});
on("more", "click", more);
byId("filter").addEventListener("change", () => act(() => { tasks = []; return load(); }));
