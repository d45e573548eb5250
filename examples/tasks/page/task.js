// One task, in a dialog.

import { byId, element, on, say } from "/elements.js";
import { show } from "/live.js";
import { call, service, words } from "/service.js";
import { etag, refresh } from "/tasks.js";
import { people } from "/team.js";

const dialog = byId("task");
const fields = byId("edit").elements;
/** The version that the fields show. */
let seen = null;

const written = () => ({
  title: fields.title.value, note: fields.note.value, done: fields.done.checked, assignee: fields.assignee.value || null,
});
const isTouched = () => !says(written(), seen);
/** Whether two versions have the same words; a file makes another one, too. */
const says = (one, other) => Object.keys(written()).every((name) => one[name] === other[name]);

export async function open(id) {
  const found = await call("GET", `/tasks/${id}`);
  if (!found.ok) return say(words(found), true);
  fill(found.body);
  await files();
  // Everything outside of an open dialog is silent.
  dialog.append(byId("status"));
  dialog.showModal();
  show(id);
}

/** A task changed elsewhere, or is gone. */
export async function changed(id, task) {
  if (!dialog.open || seen.id !== id) return;
  if (!task) {
    dialog.close();
    return say("The task is gone.", true);
  }
  if (task.version !== seen.version) {
    if (says(task, seen)) seen = task;
    else if (isTouched()) byId("conflict").hidden = false;
    else fill(task);
  }
  await files();
}

export function others(here) {
  const names = dialog.open ? here.filter((it) => it.task === seen.id).map((it) => it.name) : [];
  byId("looking").textContent = names.length ? `Also looking: ${names.join(", ")}` : "";
}

function fill(task) {
  seen = task;
  byId("conflict").hidden = true;
  byId("task-name").textContent = `Task by ${task.author}`;
  fields.assignee.replaceChildren(
    element("option", { value: "" }, "nobody"),
    ...people.map(({ id, name }) => element("option", { value: id }, name)),
  );
  fields.title.value = task.title;
  fields.note.value = task.note;
  fields.done.checked = task.done;
  fields.assignee.value = task.assignee ?? "";
}

async function files() {
  const found = await call("GET", `/tasks/${seen.id}/attachments`);
  if (!found.ok) return;
  byId("files").replaceChildren(...found.body.map(({ id, name, size }) => element("li", {},
    element("a", { href: `${service}/attachments/${id}` }, name), " ",
    element("span", { className: "soft" }, `${Math.ceil(size / 1024)} KiB`))));
}

async function save() {
  const saved = await call("PUT", `/tasks/${seen.id}`, { json: written(), match: etag(seen) });
  if (saved.status === 412) {
    const { task } = await refresh(seen.id);
    if (task && says(task, seen)) {
      seen = task;
      return save();
    }
    byId("conflict").hidden = false;
    return byId("theirs").focus();
  }
  if (!saved.ok) return say(words(saved), true);
  dialog.close();
  say("Saved.");
  await refresh(seen.id);
}

on("edit", "submit", save);

on("theirs", "click", async () => {
  const { task } = await refresh(seen.id);
  if (task) fill(task);
  fields.title.focus();
});

// The fields stay, and replace the version that is there now.
on("mine", "click", async () => {
  const { task } = await refresh(seen.id);
  if (task) seen = { ...seen, version: task.version };
  byId("conflict").hidden = true;
  fields.title.focus();
});

on("delete", "click", async () => {
  const gone = await call("DELETE", `/tasks/${seen.id}`, { match: etag(seen) });
  if (!gone.ok) return say(gone.status === 412 ? "Somebody changed this task meanwhile." : words(gone), true);
  dialog.close();
  say("Deleted.");
  await refresh(seen.id);
  if (!document.activeElement?.closest("li")) byId("add").title.focus();
});

on("file", "change", async ({ target }) => {
  const [file] = target.files;
  if (!file) return;
  const sent = await call("POST", `/tasks/${seen.id}/attachments?name=${encodeURIComponent(file.name)}`, { file });
  target.value = "";
  say(sent.ok ? `“${file.name}” was added.` : words(sent), !sent.ok);
  await changed(seen.id, (await refresh(seen.id)).task);
});

byId("close").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => {
  document.body.append(byId("status"));
  show("");
});
