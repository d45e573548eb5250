// The people of the team, invitations, and machines.

import { act, byId, element, face, keyed, on, say } from "/elements.js";
import { call, words } from "/service.js";

export let people = [];
let me = null;

export async function load(member) {
  me = member;
  for (const part of document.querySelectorAll(".leads")) part.hidden = !isLead();
  const found = await call("GET", "/members");
  if (!found.ok) return;
  people = found.body;
  keyed(byId("members"), people, person);
  if (isLead()) await machines();
}

const isLead = () => me.role === "lead";

function person(item, { id, name, role }) {
  const parts = [face({ id, name }), element("span", { className: "grow" }, name, id === me.id ? " (you)" : "")];
  if (isLead() && id !== me.id) {
    const select = element("select", { ariaLabel: `Role of ${name}` },
      ...["lead", "member"].map((value) => element("option", { value }, value)));
    select.value = role;
    select.addEventListener("change", () => act(() => change("PUT", `/members/${id}/role`, `${name} is a ${select.value} now.`, { role: select.value })));
    parts.push(select, button("Remove", `Remove ${name}`, () => change("DELETE", `/members/${id}`, `${name} was removed.`)));
  } else {
    parts.push(element("span", { className: "soft" }, role));
  }
  item.replaceChildren(...parts);
}

async function machines() {
  const found = await call("GET", "/machines");
  if (!found.ok) return;
  keyed(byId("machines"), found.body, (item, { id, name, scopes }) => item.replaceChildren(
    element("span", { className: "grow" }, name, " ", element("span", { className: "soft" }, scopes)),
    button("End", `End the tokens of ${name}`, () => change("DELETE", `/machines/${id}`, `The tokens of ${name} are refused from now on.`)),
  ));
}

function button(text, label, action) {
  const made = element("button", { type: "button", ariaLabel: label }, text);
  made.addEventListener("click", () => act(action));
  return made;
}

async function change(method, path, done, json) {
  const changed = await call(method, path, { json });
  say(changed.ok ? done : words(changed), !changed.ok);
  await load(me);
}

on("invite", "submit", async ({ target }) => {
  const made = await call("POST", "/invitations", { json: { role: target.elements.role.value } });
  if (!made.ok) return say(words(made), true);
  byId("link").value = `${location.origin}/#invitation=${made.body.code}`;
  byId("invitation").hidden = false;
  byId("link").select();
  say("The link is ready.");
});

on("copy", "click", async () => {
  await navigator.clipboard.writeText(byId("link").value);
  say("Copied.");
});

on("machine", "submit", async ({ target }) => {
  const form = new FormData(target);
  const made = await call("POST", "/machines", { json: { name: form.get("name"), scopes: form.getAll("scopes") } });
  if (!made.ok) return say(words(made), true);
  target.reset();
  byId("access").value = made.body.access_token;
  byId("refresh").value = made.body.refresh_token;
  byId("issued").hidden = false;
  byId("access").select();
  say("The tokens are ready.");
  await machines();
});
