"""Looks at a page from inside it: a thousand of them, each as soon as the page is ready, without a way there and back.

What is asked is JavaScript that has `given` and these words:

    await until(() => ...)     wait for something, and have it
    await go(path)             follow an address of the viewer
    await walk(box, look)      scroll through a list to its end, and look at every part of it once it is drawn
    plain(element)             its words, with single spaces between them
    strange()                  whatever no session may bring onto a page
"""

from __future__ import annotations

from typing import Any

from tests.browser import PATIENCE_SECONDS

_WORDS = """
const until = async (ask) => {
  const end = performance.now() + PATIENCE * 1000;
  for (;;) {
    const found = ask();
    if (found) return found;
    if (performance.now() > end) throw new Error(`in vain: ${ask}`);
    await new Promise((done) => setTimeout(done, 5));
  }
};
const go = async (path) => {
  history.pushState(null, "", path);
  dispatchEvent(new PopStateEvent("popstate"));
  await new Promise((done) => setTimeout(done));  // what was shown before is gone
};
const drawn = (box) => {
  const outer = box.getBoundingClientRect();
  const end = Math.min(outer.bottom, box.firstElementChild.getBoundingClientRect().bottom);
  const rows = [...box.firstElementChild.children];
  if (rows.some((one) => one.style.visibility === "hidden") || box.querySelector(".wait")) return false;
  const places = rows.map((one) => one.getBoundingClientRect());
  return [outer.top + 1, end - 1].every((y) => places.some((one) => one.top <= y && one.bottom >= y));
};
const walk = async (box, look) => {
  for (;;) {
    await until(() => drawn(box));
    look();
    if (box.scrollTop >= box.scrollHeight - box.clientHeight - 1) return;
    box.scrollTop += box.clientHeight * 0.8;
  }
};
const plain = (one) => one.textContent.trim().split(/\\s+/).join(" ");
const strange = () => {
  const found = [];
  if (typeof window.ran !== "undefined") found.push("something ran");
  const never = "iframe, object, embed, math, form, base, video, audio, frame";
  const inside = "body link, body style, body meta, body script";
  for (const one of document.querySelectorAll(`${never}, ${inside}`)) found.push(one.outerHTML.slice(0, 200));
  const shapes = ["path", "g", "rect", "circle", "line", "text", "title", "polyline"];
  for (const one of document.querySelectorAll("svg *"))
    if (!shapes.includes(one.localName)) found.push(one.outerHTML);
  for (const one of document.querySelectorAll("*"))
    for (const name of one.getAttributeNames()) if (/^on/i.test(name)) found.push(`${one.localName} ${name}`);
  for (const one of document.links)
    if (!["http:", "https:", "mailto:"].includes(one.protocol)) found.push(one.href);
  for (const one of document.images) if (!one.src.startsWith(location.origin)) found.push(one.src);
  return found;
};
""".replace("PATIENCE", str(PATIENCE_SECONDS))


def inside(page: Any, ask: str, given: Any = None) -> Any:
    """What the page answers."""
    return page.evaluate(f"async (given) => {{{_WORDS}{ask}}}", given)


def assert_inert(page: Any) -> None:
    assert inside(page, "return strange();") == []
