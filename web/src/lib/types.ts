// The shapes of docs/api.md, as the server sends them.

export interface Counted {
  name: string;
  count: number;
}

export interface Overview {
  state: string;
  version: string;
  sessions: number;
  ghosts: number;
  ingested: number;
  engagements: number;
  first: string | null;
  last: string | null;
  methods: string[];
  phases: string[];
  facets: { projects: Counted[]; agents: Counted[]; sources: Counted[]; models: Counted[] };
}

export interface EngagementColumns {
  state: string;
  columns: {
    engagement_id: string[];
    session: number[];
    topic: string[];
    method: number[];
    phase: number[];
    project: number[];
    started: (string | null)[];
    ended: (string | null)[];
    turns: number[];
    first_turn: number[];
    outcome: string[];
    key_decisions: string[][];
    next_steps: string[][];
  };
  methods: string[];
  phases: string[];
  projects: string[];
}

export interface SessionColumns {
  state: string;
  columns: {
    session_id: string[];
    title: string[];
    summary: string[];
    agent: number[];
    agent_name: (string | null)[];
    source: number[];
    model: number[];
    started: (string | null)[];
    ended: (string | null)[];
    rounds: number[];
    tokens: number[];
    ghost: (boolean | null)[];
    project: number[];
    tags: string[][];
  };
  agents: string[];
  sources: string[];
  models: string[];
  projects: string[];
}

export interface Engagement {
  engagement_id: string;
  session_id: string;
  topic: string;
  project: string | null;
  method: string | null;
  phase: string | null;
  outcome: string;
  key_decisions: string[];
  next_steps: string[];
  turn_ranges: [number, number][];
  started: string | null;
  ended: string | null;
  extractor: string;
}

export interface SessionHead {
  session_id: string;
  title: string;
  summary: string;
  summary_by_hand: boolean;
  agent_id: string;
  agent_name: string | null;
  agent_role: string | null;
  source: string;
  model: string | null;
  models: string[];
  cwd: string | null;
  branch: string | null;
  slug: string | null;
  started: string | null;
  ended: string | null;
  rounds: number;
  messages: number;
  tool_calls: number;
  tokens: number;
  problems: number;
  tags: string[];
  links: Link[];
  copies: string[];
  versions: string[];
  resume_command: string;
}

export interface Link {
  kind: string;
  session_id: string;
  title: string | null;
}

export interface RoundHead {
  round: number;
  started: string | null;
  engagement_id: string | null;
  tokens: number;
  tools: number;
  first_item: number;
  abandoned: boolean;
  preview: string;
}

export interface Side {
  id: string;
  title: string;
  round: number;
  first_item_of_parent: number | null;
  messages: number;
  tool_calls: number;
  tokens: number;
  started: string | null;
  ended: string | null;
  model: string | null;
}

export interface Light {
  kind: number[];
  round: number[];
  size: number[];
  tool: number[];
  tools: string[];
  kinds: Kind[];
}

export interface Session {
  state: string;
  session: SessionHead;
  engagements: Engagement[];
  rounds: RoundHead[];
  sides: Side[];
  items: Light;
}

export type Kind = "user" | "assistant" | "thinking" | "tool" | "compaction" | "event" | "media" | "unknown";

export interface Tool {
  name: string;
  title: string;
  view: string;
  command: string;
  path: string;
  diff: { op: " " | "-" | "+" | "@"; text: string }[];
  todos: { text: string; status: string }[];
  fields: { name: string; value: string }[];
  output: string | null;
  output_cut: number;
  is_error: boolean;
  exit_code: number | null;
  seconds: number | null;
  side: string | null;
  media: string[];
}

export interface Item {
  n: number;
  kind: Kind;
  round: number;
  at: string | null;
  model: string | null;
  role: string;
  queued: boolean;
  inline_side: string | null;
  html: string;
  cut: number;
  tool: Tool | null;
  media: string | null;
}

export interface FoundEngagement extends Omit<Engagement, "engagement_id" | "extractor"> {
  engagement_id: string | null;
  title: string;
  source: string;
  agent_id: string;
  agent_name: string | null;
  session_summary: string;
}

export interface Hit {
  session_id: string;
  source: string;
  title: string;
  round: number;
  started: string | null;
  kind: string;
  tool: string | null;
  sidechain: string | null;
  snippet: string;
  marks: [number, number][];
  opens: number;
}

export interface Touched {
  session_id: string;
  source: string;
  title: string;
  agent_name: string | null;
  started: string | null;
  changed: number[];
  named: number[];
}

export interface Findings {
  engagements: FoundEngagement[];
  files: Touched[];
  hits: Hit[];
}

export interface Stats {
  state: string;
  days: { day: string; sessions: number; engagements: number; tokens: number }[];
  models: { name: string; input: number; output: number; cache_read: number; cache_write: number }[];
  projects: { name: string; tokens: number; sessions: number; engagements: number }[];
}
