// The filters of the page as questions to the server: whole names, of several any, and an empty one for what has none.

import { api } from "./api";
import type { SearchAnswer, Stats } from "./types";
import type { View, Window } from "./view";

function filters(view: View, window: Window) {
  const iso = (time: number | null) => (time === null ? null : new Date(time).toISOString());
  const flags = { exact: 1, open: view.open ? 1 : null, ghosts: view.ghosts ? 1 : null };
  return { ...view.filters, since: iso(window.from), until: iso(window.to), ...flags };
}

export function search(view: View, window: Window, limit: number, signal: AbortSignal): Promise<SearchAnswer> {
  return api.search({ q: view.q, ...filters(view, window), typing: 1, limit }, signal);
}

export function stats(view: View, window: Window, signal: AbortSignal): Promise<Stats> {
  return api.stats(filters(view, window), signal);
}
