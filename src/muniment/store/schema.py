"""The SQL of the indexes. `rounds` and `rounds_fts` are the specification's; the rest is ours.

Every index is derived: a change of schema, or of the words put into it, raises `SCHEMA_VERSION`, and an index of
another version is built anew: by `up` and `inscribe` on their own, else by `muniment reindex`.
"""

SCHEMA_VERSION = 4

ROUNDS = """
CREATE TABLE IF NOT EXISTS rounds (
  session_id TEXT,
  round INTEGER,
  started TEXT,
  engagement_id TEXT,
  user_preview TEXT,
  agent_preview TEXT,
  tool_count INTEGER,
  thinking_count INTEGER,
  thinking_chars INTEGER,
  token_count INTEGER,
  round_file TEXT,
  PRIMARY KEY (session_id, round)
);
CREATE VIRTUAL TABLE IF NOT EXISTS rounds_fts USING fts5(
  session_id, round, user_preview, agent_preview,
  content='rounds', content_rowid='rowid'
);
"""

ARCHIVE = """
CREATE TABLE IF NOT EXISTS sessions (
  id INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL UNIQUE,
  agent_id TEXT NOT NULL,
  source TEXT NOT NULL,
  title TEXT NOT NULL DEFAULT '',
  summary TEXT NOT NULL DEFAULT '',
  model TEXT,
  cwd TEXT,
  branch TEXT,
  started TEXT,
  ended TEXT,
  rounds INTEGER NOT NULL DEFAULT 0,
  prompts INTEGER NOT NULL DEFAULT 0,
  messages INTEGER NOT NULL DEFAULT 0,
  tool_calls INTEGER NOT NULL DEFAULT 0,
  tokens INTEGER NOT NULL DEFAULT 0,
  problems INTEGER NOT NULL DEFAULT 0,
  sidechains INTEGER NOT NULL DEFAULT 0,
  source_bytes INTEGER NOT NULL DEFAULT 0,
  origin TEXT,
  path TEXT NOT NULL DEFAULT '',
  facts TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS sessions_by_origin ON sessions(origin);
CREATE TABLE IF NOT EXISTS sidechains (
  session INTEGER NOT NULL,
  id TEXT NOT NULL,
  facts TEXT NOT NULL,
  PRIMARY KEY (session, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS versions (
  session INTEGER NOT NULL,
  hash8 TEXT NOT NULL,
  path TEXT NOT NULL,
  facts TEXT NOT NULL,
  PRIMARY KEY (session, hash8)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS branches (
  session INTEGER NOT NULL,
  round INTEGER NOT NULL,
  follows INTEGER,
  PRIMARY KEY (session, round)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS texts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  round INTEGER NOT NULL,
  kind TEXT NOT NULL,
  tool TEXT,
  sidechain TEXT,
  offset INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS texts_by_session ON texts(session, round);
CREATE VIRTUAL TABLE IF NOT EXISTS texts_fts USING fts5(
  body, aux, content='', tokenize='unicode61 remove_diacritics 2'
);
CREATE TABLE IF NOT EXISTS usage (
  session INTEGER NOT NULL,
  message_id TEXT,
  round INTEGER NOT NULL,
  sidechain TEXT,
  model TEXT,
  at TEXT,
  input INTEGER,
  output INTEGER,
  cache_read INTEGER,
  cache_write INTEGER
);
CREATE INDEX IF NOT EXISTS usage_by_session ON usage(session, round);
CREATE TABLE IF NOT EXISTS ingested (
  session_id TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  extractor TEXT,
  ghost INTEGER NOT NULL,
  agent_name TEXT,
  agent_name_from TEXT,
  agent_role TEXT,
  slug TEXT,
  summary TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS engagements (
  id INTEGER PRIMARY KEY,
  engagement_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  topic TEXT NOT NULL,
  project TEXT,
  method TEXT NOT NULL,
  phase TEXT NOT NULL,
  key_decisions TEXT NOT NULL,
  outcome TEXT NOT NULL,
  next_steps TEXT NOT NULL,
  turn_ranges TEXT NOT NULL,
  started TEXT,
  ended TEXT,
  extractor TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS engagements_by_session ON engagements(session_id);
CREATE VIRTUAL TABLE IF NOT EXISTS engagements_fts USING fts5(
  body, aux, tokenize='unicode61 remove_diacritics 2'
);
CREATE TABLE IF NOT EXISTS tags (
  session_id TEXT NOT NULL,
  tag TEXT NOT NULL,
  PRIMARY KEY (session_id, tag)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (
  path TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  version TEXT NOT NULL,
  signature TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS progress (
  session_id TEXT NOT NULL,
  version TEXT NOT NULL,
  name TEXT NOT NULL,
  state BLOB NOT NULL,
  PRIMARY KEY (session_id, version, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS manifests (
  session_id TEXT NOT NULL,
  version TEXT NOT NULL,
  sizes TEXT NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (session_id, version)
);
CREATE TABLE IF NOT EXISTS damage (
  session_id TEXT NOT NULL,
  version TEXT NOT NULL,
  path TEXT NOT NULL,
  offset INTEGER NOT NULL,
  what TEXT NOT NULL,
  tried INTEGER NOT NULL,
  PRIMARY KEY (session_id, version, path, offset)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS grown (
  name TEXT PRIMARY KEY,
  size INTEGER NOT NULL
) WITHOUT ROWID;
"""
