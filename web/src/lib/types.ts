// Made by `make docs` from muniment.viewing.shapes; not to be edited.

export const OPEN_PHASES: readonly string[] = ["started", "in-progress", "blocked", "handed-off"]

/** What every refused request is told, unless it comes from where nobody should ask: then the body is empty. */
export interface Failure {
  error: string
  hint: string
}

/** What an edit is answered with. */
export interface Done {
  state: string
}

/** A name, and how often it occurs. */
export interface Count {
  name: string
  count: number
}

/** What there is to filter by, the most frequent first. */
export interface Facets {
  projects: Count[]
  agents: Count[]  // Names of agents, else their buckets.
  sources: Count[]
  models: Count[]
  tags: Count[]
}

/** What there is. */
export interface Overview {
  state: string
  version: string
  sessions: number
  ghosts: number
  ingested: number  // Sessions that were understood; fewer than `sessions` means that `muniment ingest` has something to do.
  engagements: number
  first: string | null
  last: string | null
  methods: string[]
  phases: string[]
  facets: Facets
}

/** One entry per session, in the order in which they came into the archive. */
export interface SessionColumns {
  session_id: string[]
  title: string[]
  summary: string[]
  agent: number[]  // Into `agents`: the bucket.
  agent_name: (string | null)[]
  agent_role: (string | null)[]
  source: number[]
  model: number[]  // Into `models`; -1 if there is none.
  project: number[]  // Into `projects`: that of its first engagement, else its folder; -1 if there is none.
  started: (string | null)[]
  ended: (string | null)[]
  rounds: number[]
  messages: number[]
  tool_calls: number[]
  tokens: number[]
  sidechains: number[]
  problems: number[]
  ghost: (boolean | null)[]  // None if it was not ingested yet.
  tags: string[][]
}

/** Every session. */
export interface Sessions {
  state: string
  columns: SessionColumns
  agents: string[]
  sources: string[]
  models: string[]
  projects: string[]
}

/** One entry per engagement, in the order in which they were found; those that a person named are at the end. */
export interface EngagementColumns {
  engagement_id: string[]
  session: number[]  // Which entry of the columns of sessions.
  topic: string[]
  method: number[]  // Into `methods`; -1 for one that a person named.
  phase: number[]  // Into `phases`; -1 for one that a person named.
  project: number[]  // Into `projects`; -1 if there is none.
  started: (string | null)[]
  ended: (string | null)[]
  turns: number[]  // How many.
  first_turn: number[]
  outcome: string[]
  key_decisions: string[][]
  next_steps: string[][]
}

/** Every engagement. */
export interface Engagements {
  state: string
  columns: EngagementColumns
  methods: string[]
  phases: string[]
  projects: string[]
}

/** One engagement in full. */
export interface Engagement {
  engagement_id: string
  session_id: string
  topic: string
  project: string | null
  method: string | null  // None for one that a person named.
  phase: string | null
  key_decisions: string[]
  outcome: string
  next_steps: string[]
  turn_ranges: [number, number][]
  started: string | null
  ended: string | null
  extractor: string  // What found it: a name and version, a model, or `hand`.
}

/** One engagement. */
export interface EngagementAnswer {
  state: string
  engagement: Engagement
}

/** Another session that this one continues, copies or belongs to. */
export interface Linked {
  kind: string
  session_id: string
  title: string | null  // None if it is not in the archive.
}

/** What is known of a session as a whole. */
export interface Session {
  session_id: string
  title: string
  summary: string
  summary_by_hand: boolean
  agent_id: string
  agent_name: string | null
  agent_role: string | null
  source: string
  model: string | null
  models: string[]
  project: string | null
  cwd: string | null
  branch: string | null
  slug: string | null
  started: string | null
  ended: string | null
  rounds: number
  messages: number
  tool_calls: number
  tokens: number
  problems: number
  ghost: boolean | null
  tags: string[]
  links: Linked[]
  copies: string[]  // Sessions that begin with the same record: forks and resume copies.
  versions: string[]
  resume_command: string  // Empty if the agent cannot resume it.
}

/** One round of a session. */
export interface RoundShown {
  round: number
  started: string | null
  engagement_id: string | null
  tokens: number
  tools: number
  first_item: number  // Equal to that of the next round if nothing of it is shown.
  abandoned: boolean  // A rewind left it behind.
  preview: string
}

/** A subagent's own session; its items come with `?side=ID`. */
export interface Side {
  id: string
  title: string
  round: number  // The round of the session during which it began.
  first_item_of_parent: number | null  // The tool call that started it; None if the source does not say.
  messages: number
  tool_calls: number
  tokens: number
  started: string | null
  ended: string | null
  model: string | null
}

/** The items of a session in columns, without their contents; `kind` and `tool` are numbers into the tables. */
export interface Light {
  kind: number[]
  round: number[]
  size: number[]  // Characters of visible text, roughly.
  tool: number[]  // -1 where the item is no tool call.
  tools: string[]
  kinds: ("user" | "assistant" | "thinking" | "tool" | "compaction" | "event" | "media" | "unknown")[]
}

/** A session and, for the height of the list, what its items are. */
export interface SessionAnswer {
  state: string
  session: Session
  engagements: Engagement[]
  rounds: RoundShown[]
  sides: Side[]
  items: Light
}

/** The items of a subagent, without their contents. */
export interface LightAnswer {
  state: string
  items: Light
}

/** One line of a diff. */
export interface Line {
  op: " " | "-" | "+" | "@"  // `@` is a heading: which file, or which edit of several.
  text: string
}

/** One entry of a plan. */
export interface Todo {
  text: string
  status: string  // As the agent wrote it: pending, in_progress, completed.
}

/** One value of a tool's input that has no place of its own. */
export interface Field {
  name: string
  value: string
}

/** A tool call with its result. */
export interface ToolShown {
  name: string  // Empty if only the result is in this round.
  title: string  // What it did, in one line.
  view: "shell" | "diff" | "write" | "read" | "search" | "todo" | "task" | "web" | "generic"
  command: string
  path: string
  diff: Line[]
  todos: Todo[]
  fields: Field[]  // For `write`, the field `content` is the file.
  output: string | null  // None while no result has been seen.
  output_cut: number
  is_error: boolean
  exit_code: number | null  // Of the command that was run, where the result tells it; `output` is then without the agent's own lines.
  seconds: number | null  // How long the command took.
  side: string | null  // The subagent's session that this call started.
  media: string[]
}

/** One block of the conversation. */
export interface Item {
  n: number
  kind: "user" | "assistant" | "thinking" | "tool" | "compaction" | "event" | "media" | "unknown"
  round: number
  at: string | null
  model: string | null
  role: "user" | "assistant"
  queued: boolean  // Words of the person that arrived while the agent worked.
  inline_side: string | null  // The subagent that said it, where an old source wrote it into the main file.
  html: string  // Safe markup. For a tool: what of its input was written to be read, as the task of a subagent.
  cut: number  // Characters that are not shown.
  tool: ToolShown | null
  media: string | null  // File name, for an image or document that stands by itself.
}

/** Items in full. Fewer than asked for where the answer would become too large: ask for the rest. */
export interface ItemsAnswer {
  state: string
  items: Item[]
}

/** One item with nothing cut. */
export interface ItemAnswer {
  state: string
  item: Item
  markdown: string  // The text of the block itself, for copying.
}

/** One session of a family, or a subagent of one. */
export interface Relative {
  id: string  // That of the session; for a subagent that of its session, a slash, and its own.
  session_id: string
  side: string | null  // Set on a subagent.
  under: string | null  // The earlier end of the surest edge into it: where it stands in a tree. None if there is no edge into it.
  title: string
  agent: string  // Its name, else its bucket; of a subagent that of its session. Empty if it is not in the archive.
  source: string
  started: string | null
  ended: string | null
  project: string | null  // The root of the project it worked in.
  branch: string | null
  rounds: number
  opens: number  // The round of the session to open: for a subagent the one during which it began.
  versions: number
  missing: boolean  // Another session names it, and it is not in the archive.
}

/** The later one comes from the earlier one, and why that is thought. */
export interface Edge {
  earlier: string
  later: string
  kind: string
  explicit: boolean
  confidence: number
  evidence: string  // One plain sentence.
  records?: string[]  // Some of the ids that both have, the first and the last among them; or the one that a link names.
  shared?: number  // How many ids both have.
  branch?: string | null
  gap_seconds?: number | null  // From the end of one to the start of the other; below zero they overlap.
  terms?: string[]  // Rare words that both have, the rarest first.
}

/** The family of a session: a graph without cycles. */
export interface LineageAnswer {
  state: string
  session_id: string
  nodes: Relative[]  // The earlier first: every edge points from a node to one behind it.
  edges: Edge[]
}

/** Tokens of some calls, each counted once, and what they cost. */
export interface Spent {
  calls: number
  input: number  // What was not cached.
  output: number
  cache_read: number
  cache_write: number
  dollars: number | null  // At list prices; None if one of the models has no price.
}

/** A cut of the context. */
export interface Compacted {
  before: number | null  // Tokens in the window at the last call before it; None if none is recorded.
  after: number | null  // The same at the first call behind it.
}

/** One round: how full the window was at its fullest. */
export interface RoundBudget {
  round: number
  started: string | null
  model: string | null
  window: number  // Tokens in the context at the largest call of the round, its answer included.
  estimated: boolean  // What the model was given is not recorded: made from the sizes of texts.
  limit: number | null  // How many tokens fit; None if nobody has told it.
  share: number | null
  full: boolean  // Above 80 % of the limit.
  spent: Spent
  compactions: Compacted[]
}

/** A subagent: a context of its own. */
export interface SideBudget {
  id: string
  model: string | null
  window: number  // At its largest call; 0 if none is recorded.
  limit: number | null
  share: number | null
  spent: Spent
}

/** How full the window of a session was, and what it cost. */
export interface Budget {
  session_id: string
  rounds: RoundBudget[]
  sidechains: SideBudget[]
  spent: Spent  // Of the session itself; without messages that another session has paid for.
  with_sidechains: Spent
  copied: Spent  // Messages that this session holds a copy of, counted for the session that made them.
  compactions: number
  unpriced: string[]  // Models that nobody has told the price of.
  prices_date: string
  windows_date: string
  note: string
}

/** How full the window of a session was, and what it cost, as `muniment budget --json` gives it. */
export interface BudgetAnswer {
  state: string
  budget: Budget
  mark: number  // From this share of the window on, a round is flagged as full.
}

/** An engagement with what its session tells; a ghost has no method and no phase. */
export interface FoundEngagement {
  engagement_id: string | null
  session_id: string
  agent_id: string
  source: string
  title: string
  agent_name: string | null
  agent_role: string | null
  slug: string | null
  session_summary: string
  ghost: boolean
  topic: string
  project: string | null
  method: string | null
  phase: string | null
  key_decisions: string[]
  outcome: string
  next_steps: string[]
  turn_ranges: [number, number][]
  started: string | null
  ended: string | null
  extractor: string | null
}

/** A session that touched a file, and in which of its rounds. */
export interface Touched {
  session_id: string
  source: string
  title: string
  agent_name: string | null
  started: string | null
  changed: number[]  // Rounds with a call that writes to the file, itself or by a subagent that began then.
  named: number[]  // Rounds with another call that names it: reading, listing, running.
}

/** A block that has what was looked for. */
export interface Hit {
  session_id: string
  source: string
  title: string
  round: number  // Of the session, or of the subagent if `sidechain` is given.
  started: string | null  // Of the round.
  kind: string
  tool: string | null
  sidechain: string | null
  snippet: string
  marks: [number, number][]  // What to highlight in the snippet.
  score: number
  opens: number  // The round of the session to open: for a subagent the one during which it began.
}

/** What a search found, as `muniment search --json` gives it. */
export interface SearchAnswer {
  state: string
  engagements: FoundEngagement[]
  files: Touched[]
  hits: Hit[]
}

/** One day, as the clock here counts them. */
export interface Day {
  day: string
  sessions: number  // That began on it.
  engagements: number
  tokens: number
}

/** Tokens by kind. */
export interface ModelTokens {
  name: string
  input: number
  output: number
  cache_read: number
  cache_write: number
}

/** What was done in one project. */
export interface ProjectWork {
  name: string
  tokens: number
  sessions: number
  engagements: number
}

/** Few and good numbers; of what has no name, the name is empty. */
export interface Stats {
  state: string
  days: Day[]
  models: ModelTokens[]
  projects: ProjectWork[]
  methods: Count[]
  phases: Count[]
}

/** The one-line summary; empty gives it back to the machine. */
export interface SummaryEdit {
  summary: string
}

/** All tags of a session, in place of those it had. */
export interface TagsEdit {
  tags: string[]
}

/** Which engagement rounds belong to; null gives them back to what extraction found. */
export interface EngagementEdit {
  rounds: number[]
  engagement_id: string | null
}

/** Who a session was; both empty takes it out of the roster. */
export interface RosterEdit {
  name: string | null
  role: string | null
}
