// The edits that belong to the viewer. The page changes at once; if the server refuses, it changes back and says why.

import { api } from "../lib/api";
import { app, spoken } from "../lib/store.svelte";
import type { Transcript } from "./model.svelte";

async function attempt(transcript: Transcript, done: string, save: () => Promise<unknown>, back: () => void, undo?: () => void): Promise<void> {
  try {
    await transcript.send(save);
    app.say(done, undo);
  } catch (error) {
    back();
    const { text, hint } = spoken(error);
    app.say(`Not saved: ${text} ${hint}`);
  }
}

export async function saveSummary(transcript: Transcript, summary: string, undoable = true): Promise<void> {
  const before = transcript.data!.session.summary;
  if (summary === before) return;
  transcript.change({ summary });
  const undo = undoable ? () => void saveSummary(transcript, before, false) : undefined;
  await attempt(transcript, "Summary saved.", () => api.saveSummary(transcript.id, summary), () => transcript.change({ summary: before }), undo);
}

export async function saveTags(transcript: Transcript, tags: string[], undoable = true): Promise<void> {
  const before = transcript.data!.session.tags;
  transcript.change({ tags });
  const undo = undoable ? () => void saveTags(transcript, before, false) : undefined;
  await attempt(transcript, "Tags saved.", () => api.saveTags(transcript.id, tags), () => transcript.change({ tags: before }), undo);
}

export async function saveRoster(transcript: Transcript, name: string, role: string, undoable = true): Promise<void> {
  const { agent_name, agent_role } = transcript.data!.session;
  transcript.change({ agent_name: name || null, agent_role: role || null });
  const back = () => transcript.change({ agent_name, agent_role });
  const undo = undoable ? () => void saveRoster(transcript, agent_name ?? "", agent_role ?? "", false) : undefined;
  await attempt(transcript, "Name and role saved.", () => api.saveRoster(transcript.id, name, role), back, undo);
}

export async function saveEngagement(transcript: Transcript, rounds: number[], engagement: string | null): Promise<void> {
  const before = transcript.data!.rounds;
  const wanted = new Set(rounds);
  const changed = before.map((one) => (wanted.has(one.round) ? { ...one, engagement_id: engagement } : one));
  const put = (all: typeof before) => (transcript.data = { ...transcript.data!, rounds: all });
  put(changed);
  await attempt(
    transcript,
    `${rounds.length === 1 ? "One round" : `${rounds.length} rounds`} changed.`,
    () => api.saveEngagement(transcript.id, rounds, engagement),
    () => put(before),
  );
}
