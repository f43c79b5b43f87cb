// One answer of the server about a session that is looked at: asked for again when the archive changed.

import { untrack } from "svelte";
import { app, spoken } from "./store.svelte";

/** After an answer that took long it rests longer, so that an archive that changes all the time does not keep the server busy. */
const REST = 4;

export class Followed<T extends { state: string }> {
  data = $state.raw<T | null>(null);
  failure = $state.raw<{ text: string; hint: string } | null>(null);
  #busy = false;
  #stale = false;
  #rested = 0;
  #waiting = 0;

  constructor(readonly ask: () => Promise<T>) {
    void this.#load();
  }

  again(): void {
    if (this.#busy) this.#stale = true;
    else {
      clearTimeout(this.#waiting);
      this.#waiting = window.setTimeout(() => void this.#load(), Math.max(0, this.#rested - performance.now()));
    }
  }

  stop(): void {
    clearTimeout(this.#waiting);
  }

  async #load(): Promise<void> {
    const begun = performance.now();
    this.#busy = true;
    this.#stale = false;
    try {
      this.data = await this.ask();
      this.failure = null;
    } catch (error) {
      if (!this.data) this.failure = spoken(error);
    }
    this.#busy = false;
    this.#rested = performance.now() + REST * (performance.now() - begun);
    if (this.#stale) this.again();
  }
}

/** To be called where a component begins: what is asked for follows the archive as long as that lives. */
export function followed<T extends { state: string }>(ask: () => Promise<T>): Followed<T> {
  const one = new Followed(ask);
  $effect(() => {
    const state = app.overview?.state;
    untrack(() => {
      if (state && one.data && one.data.state !== state) one.again();
    });
  });
  $effect(() => () => one.stop());
  return one;
}
