// The shapes of docs/api.md that tell of a family.

export interface Relative {
  id: string;
  session_id: string;
  side: string | null;
  under: string | null;
  title: string;
  agent: string;
  source: string;
  started: string | null;
  ended: string | null;
  project: string | null;
  branch: string | null;
  rounds: number;
  opens: number;
  versions: number;
  missing: boolean;
}

export interface Edge {
  earlier: string;
  later: string;
  kind: string;
  explicit: boolean;
  confidence: number;
  evidence: string;
  terms?: string[];
}

export interface LineageAnswer {
  state: string;
  session_id: string;
  nodes: Relative[];
  edges: Edge[];
}
