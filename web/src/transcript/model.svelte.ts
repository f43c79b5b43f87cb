// One session as the transcript shows it: what rows there are, which of their contents have been fetched, what is open.

import { SvelteMap, SvelteSet } from "svelte/reactivity";
import { api } from "../lib/api";
import { app, spoken } from "../lib/store.svelte";
import type { Engagement, Item, Light, RoundShown, SessionAnswer, Side } from "../lib/types";
import type { BlockKind } from "../lib/view";

export type Row =
  | { type: "head"; key: string; round: number }
  | { type: "round"; key: string; round: number; head: RoundShown; engagement: Engagement | null; fresh: boolean }
  | { type: "item"; key: string; round: number; n: number; side: string; kind: Item["kind"]; size: number; depth: number; engagement: Engagement | null }
  | { type: "side"; key: string; round: number; side: Side };

const CHUNK = 40;

export class Transcript {
  data = $state.raw<SessionAnswer | null>(null);
  failure = $state.raw<{ text: string; hint: string } | null>(null);
  items = new SvelteMap<string, Item>();
  lights = new SvelteMap<string, Light>();
  /** Which subagent is open below which item. */
  opened = new SvelteMap<string, string>();
  /** What a reader has unfolded where details are hidden. */
  unfolded = new SvelteSet<string>();
  engagements = $derived(new Map(this.data?.engagements.map((one) => [one.engagement_id, one])));
  sides = $derived(new Map(this.data?.sides.map((one) => [one.id, one])));
  /** Nothing but subagents is left of the session: it has neither rounds nor a document. */
  onlySides = $derived(this.data?.rounds.length === 0 && this.data.sides.length > 0);
  rows = $derived(this.#rows(app.view.hidden));
  #asked = new Set<string>();
  #edits = 0;
  #unsent = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(readonly id: string) {}

  async load(around: number | null): Promise<void> {
    try {
      const beginning = around === null || around <= 1 ? api.items(this.id, 0, CHUNK) : null;
      beginning?.catch(() => undefined);
      const data = await api.session(this.id);
      const first = data.rounds.find((one) => one.round === around)?.first_item ?? 0;
      for (const item of (await beginning?.catch(() => null))?.items ?? []) this.items.set(`:${item.n}`, item);
      if (data.items.kind.length) await this.#fetch(Math.floor(first / CHUNK) * CHUNK, "", data.items);
      this.data = data;
    } catch (error) {
      this.failure = spoken(error);
    }
  }

  /** After the session grew: what was last seen may have got its result, so it is asked for again, and replaced in place. */
  async refresh(): Promise<void> {
    const before = this.data;
    if (!before || this.#unsent) return;
    try {
      const edits = this.#edits;
      const data = await api.session(this.id);
      // Said before the edit was made: the page knows better.
      if (edits !== this.#edits) return this.#unsent ? undefined : await this.refresh();
      const last = before.items.round.at(-1) ?? 1;
      const from = Math.max(0, before.items.round.indexOf(last));
      for (let at = Math.floor(from / CHUNK) * CHUNK; at < before.items.kind.length; at += CHUNK) this.#asked.delete(`:${at}`);
      for (let at = Math.floor(from / CHUNK) * CHUNK; at < before.items.kind.length; at += CHUNK) void this.#fetch(at, "", data.items, true);
      this.data = data;
    } catch {
      // The next event tries again; what is on the screen stays.
    }
  }

  need(n: number, side: string): void {
    const light = side ? this.lights.get(side) : this.data?.items;
    if (light) void this.#fetch(Math.floor(n / CHUNK) * CHUNK, side, light);
  }

  async #fetch(first: number, side: string, light: Light, again = false): Promise<void> {
    const name = `${side}:${first}`;
    if (this.#asked.has(name)) return;
    this.#asked.add(name);
    const end = Math.min(first + CHUNK, light.kind.length);
    try {
      for (let at = first; at < end; ) {
        if (!again && this.items.has(`${side}:${at}`)) {
          at++;
          continue;
        }
        const { items } = await api.items(this.id, at, end - at, side || undefined);
        for (const item of items) this.items.set(`${side}:${item.n}`, item);
        if (!items.length) break;
        at = items[items.length - 1]!.n + 1;
      }
    } catch {
      window.setTimeout(() => this.#asked.delete(name), 2000);
    }
  }

  async whole(n: number, side: string): Promise<string> {
    const { item, markdown } = await api.item(this.id, n, side || undefined);
    this.items.set(`${side}:${n}`, item);
    return markdown;
  }

  unfold(key: string): void {
    if (!this.unfolded.delete(key)) this.unfolded.add(key);
  }

  async toggleSide(anchor: string, side: string): Promise<void> {
    if (this.opened.delete(anchor)) return;
    if (!this.lights.has(side)) {
      try {
        this.lights.set(side, (await api.light(this.id, side)).items);
      } catch (error) {
        return app.say(spoken(error).text);
      }
    }
    this.opened.set(anchor, side);
  }

  /** Send an edit, after those before it; then see what became of them all. */
  async send(edit: () => Promise<unknown>): Promise<void> {
    this.#edits++;
    this.#unsent++;
    const turn = this.#turn.then(edit).finally(() => --this.#unsent || void this.refresh());
    this.#turn = turn.catch(() => undefined);
    await turn;
  }

  change(change: Partial<SessionAnswer["session"]>): void {
    if (this.data) this.data = { ...this.data, session: { ...this.data.session, ...change } };
  }

  #rows(hidden: BlockKind[]): Row[] {
    if (!this.data) return [];
    const rows: Row[] = [{ type: "head", key: "head", round: 1 }];
    const { rounds, items, sides } = this.data;
    const loose = sides.filter((side) => side.first_item_of_parent === null);
    let before: string | null | undefined;
    rounds.forEach((head, at) => {
      const engagement = (head.engagement_id && this.engagements.get(head.engagement_id)) || null;
      rows.push({ type: "round", key: `r${head.round}`, round: head.round, head, engagement, fresh: head.engagement_id !== before });
      before = head.engagement_id;
      const end = rounds[at + 1]?.first_item ?? items.kind.length;
      this.#add(rows, items, "", head.first_item, end, head.round, 0, engagement, hidden);
      for (const side of loose) if (side.round === head.round) this.#addLoose(rows, side, engagement, hidden);
    });
    if (this.onlySides) for (const side of loose) this.#addLoose(rows, side, null, hidden);
    return rows;
  }

  #add(
    rows: Row[], light: Light, side: string, first: number, end: number, round: number, depth: number,
    engagement: Engagement | null, hidden: BlockKind[],
  ): void {
    for (let n = first; n < end; n++) {
      const kind = light.kinds[light.kind[n]!]!;
      if (!shows(kind, hidden)) continue;
      const key = `${side}:${n}`;
      rows.push({ type: "item", key, round, n, side, kind, size: light.size[n] ?? 0, depth, engagement });
      this.#addOpened(rows, key, round, depth, engagement, hidden);
    }
  }

  #addOpened(rows: Row[], anchor: string, round: number, depth: number, engagement: Engagement | null, hidden: BlockKind[]): void {
    const side = this.opened.get(anchor);
    const light = side && this.lights.get(side);
    if (light && depth < 6) this.#add(rows, light, side, 0, light.kind.length, round, depth + 1, engagement, hidden);
  }

  #addLoose(rows: Row[], side: Side, engagement: Engagement | null, hidden: BlockKind[]): void {
    const key = `side:${side.id}`;
    rows.push({ type: "side", key, round: side.round, side });
    this.#addOpened(rows, key, side.round, 0, engagement, hidden);
  }
}

function shows(kind: Item["kind"], hidden: BlockKind[]): boolean {
  if (kind === "tool") return !(hidden.includes("calls") && hidden.includes("results"));
  return !hidden.includes(kind as BlockKind);
}
