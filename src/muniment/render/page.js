"use strict";
/* Conveniences of a reader. The page holds everything without them. */
const root = document.documentElement;
const bar = document.querySelector(".bar");
const all = (selector) => [...document.querySelectorAll(selector)];
const remember = (name, value) => { try { localStorage.setItem(name, value); } catch { /* a page from a file may have no memory */ } };
const recall = (name) => { try { return localStorage.getItem(name); } catch { return null; } };

bar.hidden = false;
const narrow = matchMedia("(max-width: 69.99rem)");
const nav = document.querySelector("nav details");
if (nav && narrow.matches) nav.open = false;

/* theme: the system's, until the reader chooses */
const dark = matchMedia("(prefers-color-scheme: dark)");
if (recall("muniment-theme")) root.dataset.theme = recall("muniment-theme");
function theme() {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  root.dataset.theme = isDark ? "light" : "dark";
  remember("muniment-theme", root.dataset.theme);
}

/* folding and filters */
const fold = (open) => all("main details").forEach((one) => { one.open = open; });
all(".filter").forEach((button) => button.addEventListener("click", () => {
  const off = root.classList.toggle(`no-${button.dataset.filter}`);
  button.setAttribute("aria-pressed", String(!off));
}));

/* search: items that hold the words, one after the other; the words are marked where the browser can */
const field = document.querySelector(".find input");
const told = document.querySelector(".find output");
let hits = [];
let at = -1;
let texts = null;

function search() {
  const words = field.value.trim().toLowerCase();
  texts ??= all(".item").map((item) => [item, item.textContent.toLowerCase()]);
  hits = words.length > 1 ? texts.filter(([, text]) => text.includes(words)).map(([item]) => item) : [];
  at = -1;
  if (hits.length) go(1);
  else { clear(); told.textContent = words.length > 1 ? "no hits" : ""; }
}

function clear() {
  document.querySelector(".here")?.classList.remove("here");
  if (CSS.highlights) CSS.highlights.delete("hits");
}

function go(step) {
  if (!hits.length) return;
  clear();
  at = (at + step + hits.length) % hits.length;
  const item = hits[at];
  for (let up = item; up; up = up.parentElement?.closest("details")) if (up.tagName === "DETAILS") up.open = true;
  item.querySelectorAll("details").forEach((one) => { one.open = true; });
  item.classList.add("here");
  told.textContent = `${at + 1} of ${hits.length}`;
  const first = mark(item, field.value.trim().toLowerCase());
  (first ?? item).scrollIntoView({ block: "center", behavior: "instant" });
}

function mark(item, words) {
  const ranges = [];
  const walker = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && ranges.length < 500) {
    const text = walker.currentNode.data.toLowerCase();
    for (let from = text.indexOf(words); from >= 0; from = text.indexOf(words, from + words.length)) {
      const range = new Range();
      range.setStart(walker.currentNode, from);
      range.setEnd(walker.currentNode, Math.min(from + words.length, walker.currentNode.length));
      ranges.push(range);
    }
  }
  if (CSS.highlights && ranges.length) CSS.highlights.set("hits", new Highlight(...ranges));
  return ranges[0]?.startContainer.parentElement;
}

let waiting;
field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(search, 150); });
field.addEventListener("keydown", (event) => {
  if (event.key === "Enter") { event.preventDefault(); go(event.shiftKey ? -1 : 1); }
  if (event.key === "Escape") { field.value = ""; search(); field.blur(); }
});

/* copy: one button that goes where the reader points */
const copy = document.createElement("button");
copy.type = "button";
copy.className = "copy";
copy.textContent = "Copy";
copy.addEventListener("click", async (event) => {
  event.preventDefault();
  event.stopPropagation();
  const item = copy.closest(".item");
  const parts = [...item.querySelectorAll(".md, .call, .result pre")];
  const text = parts.map((part) => part.innerText || part.textContent).join("\n\n");
  try { await navigator.clipboard.writeText(text); copy.textContent = "Copied"; } catch { copy.textContent = "Not allowed"; }
  setTimeout(() => { copy.textContent = "Copy"; }, 1200);
});
const offer = (event) => {
  const item = event.target.closest?.(".item:not(.session)");
  const head = item?.querySelector(".head");
  if (head && copy.parentElement !== head) head.insertBefore(copy, head.querySelector("time"));
};
document.addEventListener("pointerover", offer);
document.addEventListener("focusin", offer);

/* the rest of the bar, and the keyboard */
const acts = { theme, fold: () => fold(false), unfold: () => fold(true), next: () => go(1), before: () => go(-1) };
bar.addEventListener("click", (event) => acts[event.target.closest("[data-do]")?.dataset.do]?.());
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); field.select(); }
});

/* paper has no folds */
let folded = [];
addEventListener("beforeprint", () => { folded = all("main details:not([open])"); folded.forEach((one) => { one.open = true; }); });
addEventListener("afterprint", () => folded.forEach((one) => { one.open = false; }));
