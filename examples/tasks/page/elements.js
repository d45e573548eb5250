// Elements, and the words at the bottom of the page.

export const byId = (id) => document.getElementById(id);

/** An element with properties and children. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** Makes the items of a list those of `values`. Those that stay keep their elements, and the focus. */
export function keyed(list, values, make) {
  const there = new Map([...list.children].map((item) => [item.dataset.id, item]));
  values.forEach((value, at) => {
    const item = there.get(value.id) ?? element("li");
    there.delete(value.id);
    item.dataset.id = value.id;
    make(item, value);
    if (list.children[at] !== item) list.insertBefore(item, list.children[at] ?? null);
  });
  for (const item of there.values()) item.remove();
}

/** The initials of a member, in a colour of their own. */
export function face({ id, name }) {
  const initials = name.split(/\s+/).map((word) => [...word][0]).slice(0, 2).join("").toUpperCase();
  const made = element("span", { className: "face", ariaHidden: "true", title: name }, initials);
  const hue = [...id].reduce((sum, sign) => (sum * 31 + sign.codePointAt(0)) % 360, 7);
  made.style.setProperty("--hue", hue);
  return made;
}

/** Says something to everybody: it is shown, and read aloud. */
export function say(text, isBad = false) {
  byId("status").className = isBad ? "bad" : "";
  byId("status").textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { byId("status").textContent = ""; }, 8000);
}

// One action after another; tests wait for `aria-busy`.
let last = Promise.resolve();
export function act(action) {
  document.body.setAttribute("aria-busy", "true");
  const mine = last = last.then(action).catch((error) => say(error.message, true)).then(() => {
    if (last === mine) document.body.setAttribute("aria-busy", "false");
  });
}

/** Runs an action when something happens to an element, in place of what browsers do. */
export function on(id, event, action) {
  byId(id).addEventListener(event, (happened) => {
    happened.preventDefault();
    act(() => action(happened));
  });
}
