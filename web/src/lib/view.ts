// What is looked at, and its address: whatever is here can be bookmarked, sent, and gone back to.

export const FACETS = ["method", "project", "agent", "source", "model", "phase"] as const;
export type Facet = (typeof FACETS)[number];
export const GROUPS = ["project", "method", "agent", "day", "week", "month", "none"] as const;
export type Group = (typeof GROUPS)[number];
/** What can be hidden of a conversation; without `details`, what the agent did is told in one line each. */
export const BLOCKS = ["user", "assistant", "thinking", "calls", "results", "details"] as const;
export type BlockKind = (typeof BLOCKS)[number];
export const PARTS = ["transcript", "lineage", "budget"] as const;
/** What is seen of a session. */
export type Part = (typeof PARTS)[number];
export type Filters = Record<Facet, string[]>;

export interface View {
  session: string | null;
  part: Part;
  of: "engagements" | "sessions";
  group: Group;
  filters: Filters;
  open: boolean;
  ghosts: boolean;
  q: string;
  hidden: BlockKind[];
  side: "list" | "open" | "charts";
}

export interface Window {
  from: number | null;
  to: number | null;
}

export function parse(url: URL): View {
  const params = url.searchParams;
  const [, session, part] = /^\/s\/([^/]+)(?:\/([a-z]+))?$/.exec(url.pathname) ?? [];
  const filters = Object.fromEntries(FACETS.map((facet) => [facet, params.getAll(facet)])) as Filters;
  const side = params.get("show");
  return {
    session: session ? decodeURIComponent(session) : null,
    part: PARTS.find((one) => one === part) ?? "transcript",
    of: params.get("of") === "sessions" ? "sessions" : "engagements",
    group: GROUPS.find((group) => group === params.get("group")) ?? "project",
    filters,
    open: params.has("open"),
    ghosts: params.has("ghosts"),
    q: params.get("q") ?? "",
    hidden: BLOCKS.filter((kind) => (params.get("hide") ?? "").split(" ").includes(kind)),
    side: side === "open" || side === "charts" ? side : "list",
  };
}

export function parseWindow(url: URL): Window {
  const time = (name: string) => {
    const value = Date.parse(url.searchParams.get(name) ?? "");
    return Number.isNaN(value) ? null : value;
  };
  return { from: time("from"), to: time("to") };
}

export function format(view: View, window: Window): string {
  const params = new URLSearchParams();
  if (view.session) {
    if (view.hidden.length) params.set("hide", view.hidden.join(" "));
    const part = view.part === "transcript" ? "" : `/${view.part}`;
    return `/s/${encodeURIComponent(view.session)}${part}${ended(params)}`;
  }
  if (view.q) params.set("q", view.q);
  if (view.of !== "engagements") params.set("of", view.of);
  if (view.group !== "project") params.set("group", view.group);
  for (const facet of FACETS) for (const value of view.filters[facet]) params.append(facet, value);
  if (view.open) params.set("open", "1");
  if (view.ghosts) params.set("ghosts", "1");
  if (window.from !== null) params.set("from", minute(window.from));
  if (window.to !== null) params.set("to", minute(window.to));
  if (view.side !== "list") params.set("show", view.side);
  return `/${ended(params)}`;
}

export function roundOf(hash: string): number | null {
  const found = /^#r(\d+)$/.exec(hash)?.[1];
  return found ? Number(found) : null;
}

const ended = (params: URLSearchParams) => (params.size ? `?${params}` : "");
const minute = (time: number) => `${new Date(time).toISOString().slice(0, 16)}Z`;
