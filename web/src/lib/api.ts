// The only module that talks to the server. Every address is on this origin.

import { access } from "./access.svelte";
import type {
  BudgetAnswer,
  Engagements,
  Item,
  Light,
  LineageAnswer,
  Overview,
  SearchAnswer,
  SessionAnswer,
  Sessions,
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

/** Every request goes through here: it shows the token, and a server that does not know it leads to signing in. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const token = access.token;
  const headers = { ...init.headers, authorization: `Bearer ${token}` };
  const answer = await fetch(path, { ...init, headers, credentials: "omit" });
  if (answer.status === 403) access.refuse(token);
  return answer;
}

async function whole(answer: Response): Promise<Response> {
  if (answer.ok) return answer;
  const words = (await answer.json().catch(() => ({}))) as { error?: string; hint?: string };
  throw new ApiError(answer.status, words.error ?? `The server answered ${answer.status}.`, words.hint ?? "");
}

async function ask<T>(path: string, init?: RequestInit): Promise<T> {
  return (await (await whole(await request(path, init))).json()) as T;
}

const EDIT = { "content-type": "application/json", "x-muniment": "edit" };

function tell(session: string, what: string, body: object): Promise<{ state: string }> {
  const path = `/api/session/${encodeURIComponent(session)}/${what}`;
  return ask(path, { method: "POST", headers: EDIT, body: JSON.stringify(body) });
}

const at = (session: string) => `/api/session/${encodeURIComponent(session)}`;

export const api = {
  overview: () => ask<Overview>("/api/overview"),
  engagements: () => ask<Engagements>("/api/engagements"),
  sessions: () => ask<Sessions>("/api/sessions"),
  session: (id: string, signal?: AbortSignal) => ask<SessionAnswer>(at(id), { signal }),
  items: (id: string, first: number, count: number, side?: string) =>
    ask<{ items: Item[] }>(`${at(id)}/items${query({ first, count, side })}`),
  item: (id: string, n: number, side?: string) =>
    ask<{ item: Item; markdown: string }>(`${at(id)}/item/${n}${query({ side })}`),
  light: (id: string, side: string) => ask<{ items: Light }>(`${at(id)}/light${query({ side })}`),
  lineage: (id: string) => ask<LineageAnswer>(`${at(id)}/lineage`),
  budget: (id: string) => ask<BudgetAnswer>(`${at(id)}/budget`),
  search: (fields: Query, signal: AbortSignal) => ask<SearchAnswer>(`/api/search${query(fields)}`, { signal }),
  stats: (fields: Query, signal?: AbortSignal) => ask<Stats>(`/api/stats${query(fields)}`, { signal }),
  text: async (path: string) => (await whole(await request(path))).text(),
  blob: async (path: string, signal?: AbortSignal) => inert(await (await whole(await request(path, { signal }))).blob()),
  signIn: async (code: string) => {
    const answer = await fetch("/enter", { method: "POST", body: new URLSearchParams({ code }), credentials: "omit" });
    access.keep(((await (await whole(answer)).json()) as { token: string }).token);
  },
  signOut: async () => {
    const token = access.token;
    await request("/leave", { method: "POST", headers: EDIT, body: "{}" });
    access.refuse(token);
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

/** What a tab shows as text or as a picture; everything else can only be saved. Such an address is on this origin. */
const INERT = /^(text\/plain|application\/json|image\/(png|jpeg|gif|webp))(;|$)/;

function inert(blob: Blob): Blob {
  return INERT.test(blob.type) ? blob : new Blob([blob], { type: "application/octet-stream" });
}
