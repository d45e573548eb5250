// What the theme needs and no style can do.
"use strict";

// The themes of mdBook look alike here (policy.css), so one of each kind can be chosen.
for (const name of ["rust", "coal", "ayu"]) document.getElementById(`mdbook-theme-${name}`).parentElement.remove();
document.getElementById("mdbook-theme-navy").textContent = "Dark";

// The head of the page. Its first control is a label, which keys do not reach.
document.getElementById("mdbook-menu-bar").setAttribute("role", "banner");
const label = document.getElementById("mdbook-sidebar-toggle");
const contents = document.getElementById("mdbook-sidebar-toggle-anchor");
const button = document.createElement("button");
for (const { name, value } of label.attributes) if (name !== "for") button.setAttribute(name, value);
button.append(...label.childNodes);
label.replaceWith(button);
button.addEventListener("click", () => contents.click());
contents.addEventListener("change", () => button.setAttribute("aria-expanded", contents.checked));

// The column of a cell, which stands above it where the table is a list of cards. A column without a name has
// no heading.
for (const table of document.querySelectorAll(".content table")) {
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    if (!head.textContent) head.replaceWith(document.createElement("td"));
    else if (column > 0) for (const row of table.tBodies[0]?.rows ?? []) row.cells[column].dataset.label = head.textContent;
  }
}

// A heading that is a link gets another from mdBook, without words.
for (const link of document.querySelectorAll(".content a.header:empty")) link.remove();

// Code that is wider than a phone can be scrolled by keys, too.
for (const code of document.querySelectorAll("pre > code")) code.tabIndex = 0;

// The grammar of mdBook's highlighter ends an attribute at its first `]`, also at that of a list in it.
const rust = hljs.getLanguage("rust").rawDefinition();
const attribute = rust.contains.find(({ className }) => className === "meta");
attribute.contains.push({ begin: /\[/, end: /\]/, contains: [...attribute.contains] });
hljs.registerLanguage("rust", () => rust);
for (const code of document.querySelectorAll("code.language-rust")) {
  for (const token of code.querySelectorAll("[class^=hljs-]")) token.replaceWith(...token.childNodes);
  code.normalize();
  hljs.highlightBlock(code);
}
