// The filters of the page as questions to the server. It takes one value of each, and parts of names: where the page means
// several, or an exact name, the answer is sifted here.

import { api } from "./api";
import { isOpen, type Entry } from "./entries";
import type { Findings, FoundEngagement, Stats } from "./types";
import { FACETS, type Facet, type View, type Window } from "./view";

type Fields = Record<string, string | number | null>;
const MOST_QUESTIONS = 8;

function bounds(window: Window): Fields {
  const iso = (time: number | null) => (time === null ? null : new Date(time).toISOString());
  return { since: iso(window.from), until: iso(window.to) };
}

const one = (values: string[]) => (values.length === 1 ? values[0]! : null);
const singles = (view: View): Fields => Object.fromEntries(FACETS.map((facet) => [facet, one(view.filters[facet])]));

export async function search(view: View, window: Window, limit: number, sessions: Entry[], signal: AbortSignal): Promise<Findings> {
  const sifting = view.open || FACETS.some((facet) => view.filters[facet].length > 0);
  const asked = { q: view.q, ...singles(view), ...bounds(window), ghosts: view.ghosts ? 1 : null, typing: 1 };
  const found = await api.search({ ...asked, limit: sifting ? 200 : limit }, signal);
  return sifting ? sift(found, view, sessions) : found;
}

function sift(found: Findings, view: View, sessions: Entry[]): Findings {
  const known = new Map(sessions.map((entry) => [entry.session, entry]));
  const fits = (facet: Facet, values: string[]) => !view.filters[facet].length || values.some((value) => view.filters[facet].includes(value));
  const session = (id: string) => {
    const entry = known.get(id);
    if (!entry) return true;
    const values: Record<Facet, string[]> = {
      method: entry.methods, phase: view.filters.phase, project: entry.projects.length ? entry.projects : [entry.project], agent: [entry.agent], source: [entry.source], model: [entry.model],
    };
    return FACETS.every((facet) => fits(facet, values[facet])) && (!view.open || isOpen(entry));
  };
  const work = (one: FoundEngagement) =>
    session(one.session_id) && fits("method", [one.method ?? ""]) && fits("phase", [one.phase ?? ""]) && fits("project", [one.project ?? ""]);
  return {
    engagements: found.engagements.filter(work),
    files: found.files.filter((file) => session(file.session_id)),
    hits: found.hits.filter((hit) => session(hit.session_id)),
  };
}

/** One question per combination of values, added up; too many combinations are asked as one, without those filters. */
export async function stats(view: View, window: Window, signal: AbortSignal): Promise<Stats> {
  let questions: Fields[] = [{ ...bounds(window), ghosts: view.ghosts ? 1 : null }];
  for (const facet of FACETS) {
    const values = view.filters[facet];
    if (!values.length || questions.length * values.length > MOST_QUESTIONS) continue;
    questions = questions.flatMap((fields) => values.map((value) => ({ ...fields, [facet]: value })));
  }
  const answers = await Promise.all(questions.map((fields) => api.stats(fields, signal)));
  return answers.reduce(sum);
}

function sum(a: Stats, b: Stats): Stats {
  return { ...a, days: added(a.days, b.days, "day"), models: added(a.models, b.models, "name"), projects: added(a.projects, b.projects, "name") };
}

function added<T extends object>(a: T[], b: T[], key: keyof T): T[] {
  const rows = new Map(a.map((row) => [row[key], { ...row }]));
  for (const row of b) {
    const known = rows.get(row[key]) as Record<string, unknown> | undefined;
    if (!known) rows.set(row[key], { ...row });
    else for (const [name, value] of Object.entries(row)) if (typeof value === "number") known[name] = Number(known[name]) + value;
  }
  return [...rows.values()];
}
