// The only module that talks to the server. Every address is on this origin.

import type { BudgetAnswer } from "../budget/types";
import type { LineageAnswer } from "../lineage/types";
import type {
  EngagementColumns,
  Findings,
  Item,
  Light,
  Overview,
  Session,
  SessionColumns,
  Stats,
} from "./types";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

type Query = Record<string, string | number | string[] | null | undefined>;

export function query(fields: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (Array.isArray(value)) for (const one of value) params.append(name, one);
    else if (value !== null && value !== undefined && value !== "") params.append(name, String(value));
  }
  const text = params.toString();
  return text && `?${text}`;
}

async function ask<T>(path: string, init?: RequestInit): Promise<T> {
  const answer = await fetch(path, { credentials: "same-origin", ...init });
  if (answer.ok) return (await answer.json()) as T;
  const words = (await answer.json().catch(() => ({}))) as { error?: string; hint?: string };
  throw new ApiError(answer.status, words.error ?? `The server answered ${answer.status}.`, words.hint ?? "");
}

function tell(session: string, what: string, body: object): Promise<{ state: string }> {
  const headers = { "content-type": "application/json", "x-muniment": "edit" };
  const path = `/api/session/${encodeURIComponent(session)}/${what}`;
  return ask(path, { method: "POST", headers, body: JSON.stringify(body) });
}

const at = (session: string) => `/api/session/${encodeURIComponent(session)}`;

export const api = {
  overview: () => ask<Overview>("/api/overview"),
  engagements: () => ask<EngagementColumns>("/api/engagements"),
  sessions: () => ask<SessionColumns>("/api/sessions"),
  session: (id: string, signal?: AbortSignal) => ask<Session>(at(id), { signal }),
  items: (id: string, first: number, count: number, side?: string) =>
    ask<{ items: Item[] }>(`${at(id)}/items${query({ first, count, side })}`),
  item: (id: string, n: number, side?: string) =>
    ask<{ item: Item; markdown: string }>(`${at(id)}/item/${n}${query({ side })}`),
  light: (id: string, side: string) => ask<{ items: Light }>(`${at(id)}/light${query({ side })}`),
  lineage: (id: string) => ask<LineageAnswer>(`${at(id)}/lineage`),
  budget: (id: string) => ask<BudgetAnswer>(`${at(id)}/budget`),
  search: (fields: Query, signal: AbortSignal) => ask<Findings>(`/api/search${query(fields)}`, { signal }),
  stats: (fields: Query, signal?: AbortSignal) => ask<Stats>(`/api/stats${query(fields)}`, { signal }),
  text: async (path: string) => {
    const answer = await fetch(path, { credentials: "same-origin" });
    if (!answer.ok) throw new ApiError(answer.status, `The server answered ${answer.status}.`, "");
    return answer.text();
  },
  saveSummary: (id: string, summary: string) => tell(id, "summary", { summary }),
  saveTags: (id: string, tags: string[]) => tell(id, "tags", { tags }),
  saveEngagement: (id: string, rounds: number[], engagement_id: string | null) =>
    tell(id, "engagement", { rounds, engagement_id }),
  saveRoster: (id: string, name: string, role: string) => tell(id, "roster", { name, role }),
};

export const address = {
  document: (id: string) => `/doc/${encodeURIComponent(id)}.md`,
  round: (id: string, round: number) => `/raw/${encodeURIComponent(id)}/${round}.json`,
  media: (id: string, name: string) => `/media/${encodeURIComponent(id)}/${encodeURIComponent(name)}`,
};

/** Told when the archive changed, or one session grew; reconnecting is the browser's business. */
export function listen(onState: (state: string) => void, onSession: (id: string) => void): () => void {
  const source = new EventSource("/api/live");
  source.addEventListener("state", (event) => onState(word(event, "state")));
  source.addEventListener("session", (event) => onSession(word(event, "session_id")));
  return () => source.close();
}

function word(event: Event, field: string): string {
  const data = String((event as MessageEvent<string>).data);
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value === "string") return value;
    return String((value as Record<string, unknown>)[field] ?? "");
  } catch {
    return data;
  }
}
