// The state of the page: what the archive holds, what is looked at, and how the two meet. Components read it and call it;
// none keeps a copy.

import { api, ApiError } from "./api";
import { fits, isOpen, join, type Choice, type Entry, type Everything } from "./entries";
import { listen } from "./live";
import { HOUR } from "./time";
import type { Overview } from "./types";
import { format, parse, parseWindow, roundOf, type BlockKind, type Facet, type Part, type View, type Window } from "./view";

const NOTHING: Everything = { engagements: [], sessions: [] };
const RELOAD_AT_MOST_EVERY = 1500;

export interface Notice {
  text: string;
  undo?: () => void;
}

class App {
  overview = $state.raw<Overview | null>(null);
  everything = $state.raw<Everything>(NOTHING);
  failure = $state<{ text: string; hint: string } | null>(null);
  view = $state.raw<View>(parse(new URL(location.href)));
  window = $state.raw<Window>(parseWindow(new URL(location.href)));
  settled = $state.raw<Window>(this.window);
  round = $state.raw<{ number: number } | null>(asked());
  selected = $state<string | null>(null);
  notice = $state.raw<Notice | null>(null);
  help = $state(false);
  online = $state(true);
  grown = $state.raw<{ session: string } | null>(null);

  // Parts of the view by themselves: a key in the search must not filter ten thousand entries anew.
  of = $derived(this.view.of);
  group = $derived(this.view.group);
  #filters = $derived(this.view.filters);
  #open = $derived(this.view.open);
  #ghosts = $derived(this.view.ghosts);
  choice = $derived<Choice>({ filters: this.#filters, open: this.#open, ghosts: this.#ghosts });

  entries = $derived(this.of === "sessions" ? this.everything.sessions : this.everything.engagements);
  filtered = $derived(this.entries.filter((entry) => fits(entry, this.choice)));
  bounds = $derived(boundsOf(this.filtered.length ? this.filtered : this.entries));
  shown = $derived({ from: this.window.from ?? this.bounds.from, to: this.window.to ?? this.bounds.to });
  listed = $derived(within(this.filtered, this.settled).reverse());
  left = $derived(this.listed.filter(isOpen));
  /** What the list has, and the keys walk through. */
  walked = $derived(this.view.side === "open" ? this.left : this.listed);
  current = $derived(this.walked.find((entry) => entry.key === this.selected) ?? null);

  #settling = 0;
  #writing = 0;
  #reloading = 0;
  #loads = 0;
  #news = "";
  #leaving = false;

  async load(): Promise<void> {
    const turn = ++this.#loads;
    try {
      const [overview, work, held] = await Promise.all([api.overview(), api.engagements(), api.sessions()]);
      if (turn !== this.#loads) return;
      this.overview = overview;
      this.everything = join(work, held);
      this.failure = null;
    } catch (error) {
      this.failure = spoken(error);
    }
  }

  start(): () => void {
    // A session that was asked for comes first; the timeline behind it can wait.
    if (this.view.session) window.setTimeout(() => void this.load(), 700);
    else void this.load();
    const back = () => {
      this.#leaving = false;
      this.#follow(new URL(location.href));
    };
    addEventListener("popstate", back);
    const hush = listen(
      (state) => this.#reloadSoon(state),
      (session) => (this.grown = { session }),
    );
    return () => {
      removeEventListener("popstate", back);
      hush();
    };
  }

  go(change: Partial<View>, how: "push" | "replace" = "push"): void {
    this.view = { ...this.view, ...change };
    this.#write(how);
  }

  toggle(facet: Facet, value: string): void {
    const now = this.view.filters[facet];
    const next = now.includes(value) ? now.filter((one) => one !== value) : [...now, value];
    this.go({ filters: { ...this.view.filters, [facet]: next } });
  }

  clear(): void {
    const filters = { method: [], project: [], agent: [], source: [], model: [], phase: [] };
    this.go({ filters, open: false });
  }

  toggleBlock(kind: BlockKind): void {
    const now = this.view.hidden;
    this.go({ hidden: now.includes(kind) ? now.filter((one) => one !== kind) : [...now, kind] }, "replace");
  }

  open(session: string, round = 1): void {
    this.view = { ...this.view, session, part: "transcript" };
    this.round = { number: Math.max(1, round) };
    history.pushState({ within: true }, "", format(this.view, this.window) + `#r${Math.max(1, round)}`);
  }

  /** Another look at the same session; the round that was read stays in the address. */
  show(part: Part): void {
    if (part === this.view.part) return;
    this.view = { ...this.view, part };
    this.round = asked();
    history.pushState({ within: true }, "", format(this.view, this.window) + location.hash);
  }

  openEntry(entry: Entry): void {
    this.selected = entry.key;
    this.open(entry.session, entry.round);
  }

  close(): void {
    const within = (history.state as { within?: boolean } | null)?.within;
    if (!within) this.go({ session: null });
    // The browser takes its time to go back; who asks twice must not leave the page.
    else if (!this.#leaving) history.back();
    this.#leaving = Boolean(within);
  }

  /** Where a reader is in a transcript, without a step in the history. */
  at(round: number): void {
    history.replaceState(history.state, "", format(this.view, this.window) + `#r${round}`);
  }

  look(from: number | null, to: number | null): void {
    this.window = from === null || to === null ? { from: null, to: null } : kept(from, to);
    clearTimeout(this.#settling);
    this.#settling = window.setTimeout(() => (this.settled = this.window), 90);
    clearTimeout(this.#writing);
    this.#writing = window.setTimeout(() => !this.view.session && this.#write("replace"), 300);
  }

  zoom(factor: number, around?: number): void {
    const { from, to } = this.shown;
    const middle = around ?? (from + to) / 2;
    this.look(middle - (middle - from) * factor, middle + (to - middle) * factor);
  }

  pan(share: number): void {
    const { from, to } = this.shown;
    this.look(from + (to - from) * share, to + (to - from) * share);
  }

  move(by: number): Entry | undefined {
    const at = this.walked.findIndex((entry) => entry.key === this.selected);
    const next = this.walked[Math.min(Math.max(at + by, 0), this.walked.length - 1)];
    if (next) this.selected = next.key;
    return next;
  }

  say(text: string, undo?: () => void): void {
    const notice: Notice = undo ? { text, undo } : { text };
    this.notice = notice;
    window.setTimeout(() => this.notice === notice && (this.notice = null), undo ? 8000 : 3500);
  }

  #reloadSoon(state: string): void {
    this.#news = state;
    if (this.#reloading || state === this.overview?.state) return;
    this.#reloading = window.setTimeout(() => {
      this.#reloading = 0;
      // The first news comes while the page is still loading what it tells of.
      if (this.#news !== this.overview?.state) void this.load();
    }, RELOAD_AT_MOST_EVERY);
  }

  #follow(url: URL): void {
    const next = parse(url);
    this.round = asked();
    if (next.session) this.view = { ...this.view, session: next.session, part: next.part, hidden: next.hidden };
    else {
      this.view = { ...next, hidden: this.view.hidden };
      this.settled = this.window = parseWindow(url);
    }
  }

  #write(how: "push" | "replace"): void {
    const url = format(this.view, this.window) + (this.view.session ? location.hash : "");
    if (how === "push") history.pushState(null, "", url);
    else history.replaceState(history.state, "", url);
  }
}

function asked(): { number: number } | null {
  const number = roundOf(location.hash);
  return number ? { number } : null;
}

function boundsOf(entries: Entry[]): { from: number; to: number } {
  let from = Infinity;
  let to = -Infinity;
  for (const entry of entries) {
    if (entry.start < from) from = entry.start;
    if (entry.end > to) to = entry.end;
  }
  if (from > to) return { from: Date.now() - 24 * HOUR, to: Date.now() };
  const room = Math.max((to - from) * 0.02, HOUR / 2);
  return { from: from - room, to: to + room };
}

function kept(from: number, to: number): Window {
  const length = Math.min(Math.max(to - from, HOUR / 2), 20 * 365 * 24 * HOUR);
  const middle = (from + to) / 2;
  return { from: middle - length / 2, to: middle + length / 2 };
}

function within(entries: Entry[], window: Window): Entry[] {
  if (window.from === null || window.to === null) return [...entries];
  const { from, to } = window as { from: number; to: number };
  return entries.filter((entry) => entry.start <= to && entry.end >= from);
}

export function spoken(error: unknown): { text: string; hint: string } {
  if (error instanceof ApiError) return { text: error.message, hint: error.hint };
  return { text: "The server does not answer.", hint: "Is `muniment view` still running?" };
}

export const app = new App();
