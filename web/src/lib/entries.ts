// One thing on the timeline and in the list: an engagement, or a session as a whole.

import { OPEN_PHASES, type Engagements, type Sessions } from "./types";
import type { Facet, Filters } from "./view";

export interface Entry {
  key: string;
  engagement: string | null;
  session: string;
  title: string;
  outcome: string;
  decisions: string[];
  steps: string[];
  method: string;
  phase: string;
  project: string;
  agent: string;
  source: string;
  model: string;
  start: number;
  end: number;
  round: number;
  turns: number;
  tokens: number;
  ghost: boolean;
  tags: string[];
  methods: string[];
  projects: string[];
}

/** Left open: work that was not finished, or that named what comes next. */
export function isOpen(entry: Entry): boolean {
  return OPEN_PHASES.includes(entry.phase) || entry.steps.length > 0;
}

export interface Everything {
  engagements: Entry[];
  sessions: Entry[];
}

export function join(work: Engagements, held: Sessions): Everything {
  const sessions = held.columns.session_id.map((_, row) => sessionEntry(held, row));
  const engagements = work.columns.engagement_id.map((_, row) => engagementEntry(work, row, sessions));
  describe(sessions, engagements, work.columns.session);
  const known = (entries: Entry[]) => entries.sort(byStart);
  return { engagements: known(engagements.filter((entry) => entry.session)), sessions: known([...sessions]) };
}

/** The earlier first; what has no date comes before all that has one, so that it is last where the latest is first. */
function byStart(a: Entry, b: Entry): number {
  if (Number.isNaN(a.start) || Number.isNaN(b.start)) return Number(Number.isNaN(b.start)) - Number(Number.isNaN(a.start));
  return a.start - b.start;
}

function sessionEntry(held: Sessions, row: number): Entry {
  const c = held.columns;
  const start = time(c.started[row], NaN);
  return {
    key: c.session_id[row]!,
    engagement: null,
    session: c.session_id[row]!,
    title: c.title[row] || c.summary[row] || "Untitled session",
    outcome: c.summary[row] ?? "",
    decisions: [],
    steps: [],
    method: "",
    phase: "",
    project: named(held.projects, c.project[row]),
    agent: c.agent_name[row] || named(held.agents, c.agent[row]),
    source: named(held.sources, c.source[row]),
    model: named(held.models, c.model[row]),
    start,
    end: time(c.ended[row], start),
    round: 1,
    turns: c.rounds[row] ?? 0,
    tokens: c.tokens[row] ?? 0,
    ghost: Boolean(c.ghost[row]),
    tags: c.tags[row] ?? [],
    methods: [],
    projects: [],
  };
}

function engagementEntry(work: Engagements, row: number, sessions: Entry[]): Entry {
  const c = work.columns;
  const session = sessions[c.session[row]!];
  const start = time(c.started[row], session?.start ?? NaN);
  return {
    key: `${c.engagement_id[row]}/${c.session[row]}`,
    engagement: c.engagement_id[row]!,
    session: session?.session ?? "",
    title: c.topic[row] ?? "",
    outcome: c.outcome[row] ?? "",
    decisions: c.key_decisions[row] ?? [],
    steps: c.next_steps[row] ?? [],
    method: named(work.methods, c.method[row]),
    phase: named(work.phases, c.phase[row]),
    project: named(work.projects, c.project[row]),
    agent: session?.agent ?? "",
    source: session?.source ?? "",
    model: session?.model ?? "",
    start,
    end: time(c.ended[row], start),
    round: c.first_turn[row] ?? 1,
    turns: c.turns[row] ?? 0,
    tokens: 0,
    ghost: session?.ghost ?? false,
    tags: session?.tags ?? [],
    methods: [],
    projects: [],
  };
}

/** A session is shown in the method that took most of it, and is as open as its last engagement. */
function describe(sessions: Entry[], engagements: Entry[], rows: number[]): void {
  const most = new Float64Array(sessions.length);
  const last = new Float64Array(sessions.length).fill(-Infinity);
  engagements.forEach((entry, at) => {
    const row = rows[at]!;
    const session = sessions[row];
    if (!session) return;
    if (!session.methods.includes(entry.method)) session.methods.push(entry.method);
    if (!session.projects.includes(entry.project)) session.projects.push(entry.project);
    session.steps = [...session.steps, ...entry.steps];
    session.decisions = [...session.decisions, ...entry.decisions];
    if (entry.turns > most[row]! || !session.method) {
      most[row] = entry.turns;
      session.method = entry.method;
    }
    if (entry.start >= last[row]!) {
      last[row] = entry.start;
      session.phase = entry.phase;
    }
    if (!session.project) session.project = entry.project;
  });
}

const named = (table: string[], number: number | undefined) => (number === undefined || number < 0 ? "" : (table[number] ?? ""));

function time(text: string | null | undefined, otherwise: number): number {
  const value = text ? Date.parse(text) : NaN;
  return Number.isNaN(value) ? otherwise : value;
}

export function valueOf(entry: Entry, facet: Facet): string {
  return entry[facet];
}

export interface Choice {
  filters: Filters;
  open: boolean;
  ghosts: boolean;
}

export function fits(entry: Entry, choice: Choice, except?: Facet): boolean {
  if (entry.ghost && !choice.ghosts) return false;
  if (choice.open && !isOpen(entry)) return false;
  for (const facet of Object.keys(choice.filters) as Facet[]) {
    const wanted = choice.filters[facet];
    if (facet !== except && wanted.length && !wanted.includes(valueOf(entry, facet))) return false;
  }
  return true;
}

/** How many entries each value of a facet would leave, the most frequent first. */
export function tally(entries: Entry[], choice: Choice, facet: Facet): { name: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const entry of entries) {
    if (fits(entry, choice, facet)) counts.set(valueOf(entry, facet), (counts.get(valueOf(entry, facet)) ?? 0) + 1);
  }
  for (const name of choice.filters[facet]) if (!counts.has(name)) counts.set(name, 0);
  return [...counts].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
}
