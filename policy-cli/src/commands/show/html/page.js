"use strict";
const byId = (id) => document.getElementById(id);
const body = document.querySelector("tbody");
const rows = Array.from(body.rows, (row, index) => ({
  row,
  index,
  text: row.textContent.toLowerCase(),
  marks: row.dataset.marks.split(" "),
  methods: Array.from(row.querySelectorAll(".method"), (method) => method.textContent),
  service: row.querySelector(".service")?.textContent,
}));
const heads = Array.from(document.querySelectorAll("thead th"));

function filter() {
  const words = byId("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [method, who, what] = ["method", "who", "what"].map((id) => byId(id).value);
  // A page of one app has no services.
  const only = byId("service")?.value;
  let count = 0;
  for (const { row, text, marks, methods, service } of rows) {
    const isShown =
      words.every((word) => text.includes(word)) &&
      (!only || service === only) &&
      (!method || methods.includes(method)) &&
      (!who || marks.includes("open") === (who === "open")) &&
      (!what || marks.includes(what));
    row.hidden = !isShown;
    count += isShown;
  }
  byId("count").textContent =
    count === rows.length ? `${count} routes` : `${count} of ${rows.length} routes`;
  byId("nothing").hidden = count > 0 || rows.length === 0;
}

function sort(column, isDescending) {
  const collator = new Intl.Collator("en", { numeric: true });
  const key = ({ row }) => row.cells[column].textContent;
  const isNone = ({ row }) => row.cells[column].classList.contains("none");
  const sorted = rows.toSorted((a, b) => {
    // What a route does not have comes last in both directions.
    const order = isNone(a) - isNone(b);
    const text = collator.compare(key(a), key(b));
    return order || (isDescending ? -text : text) || a.index - b.index;
  });
  body.append(...sorted.map(({ row }) => row));
  heads.forEach((head, index) => {
    if (index === column) {
      head.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
    } else {
      head.removeAttribute("aria-sort");
    }
  });
  byId("sort").selectedIndex = column;
}

heads.forEach((head, index) => {
  head.querySelector("button").addEventListener("click", () => {
    sort(index, head.getAttribute("aria-sort") === "ascending");
  });
});
byId("sort").addEventListener("change", (event) => sort(event.target.selectedIndex, false));
byId("sort").selectedIndex = heads.findIndex((head) =>
  ["Service", "Path"].includes(head.textContent),
);
byId("filters").addEventListener("input", filter);
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("filters").addEventListener("reset", () => setTimeout(filter));
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, select");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    byId("find").focus();
  }
});
byId("filters").hidden = false;
filter();
