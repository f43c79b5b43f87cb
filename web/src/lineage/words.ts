// What is said of a relation between two sessions.

import { count } from "../lib/time";
import type { Edge, LineageAnswer, Relative } from "../lib/types";

/** Those that were set to work by another session and do not go on with it. */
export const BESIDE = new Set(["sidechain", "subagent"]);
const KINDS: Record<string, string> = {
  sidechain: "Subagent of",
  subagent: "Started by",
  fork: "Fork of",
  resume: "Resumes",
  continues: "Continues",
  copy: "Copy that goes on from",
  follows: "Follows",
  beside: "Beside",
  similar: "Similar to",
};

export const kindOf = (edge: Edge) => (edge.kind === "sidechain" ? "subagent" : edge.kind);
export const sureness = (edge: Edge) => (edge.explicit ? "exact" : `${Math.round(edge.confidence * 100)} %`);
/** How its line is drawn. */
export const lineOf = (edge: Edge) => (!edge.explicit ? "inferred" : BESIDE.has(edge.kind) ? "beside" : "exact");
export const titleOf = (node: Relative) => (node.missing ? node.id : node.title || (node.side ?? "Untitled session"));

/** A relation as a sentence. */
export function told(edge: Edge, earlier: string): string {
  const how = edge.explicit ? "exact" : `inferred, ${sureness(edge)} sure`;
  return `${KINDS[edge.kind] ?? edge.kind} “${earlier}” (${how}): ${edge.evidence}`;
}

/** From the first beginning to the last end, as times. */
export function spanOf(nodes: Relative[]): [number, number] {
  const times = nodes.flatMap((node) => [node.started, node.ended]).map((text) => Date.parse(text ?? "")).filter((time) => !Number.isNaN(time));
  return [Math.min(...times), Math.max(...times)];
}

export function sum(answer: LineageAnswer): string {
  const sessions = answer.nodes.filter((node) => node.side === null).length;
  const sides = answer.nodes.length - sessions;
  return sides ? `${count(sessions, "session")}, ${count(sides, "subagent")}` : count(sessions, "session");
}

/** Whether a row has what is looked for. */
export function matches(node: Relative, edge: Edge | null, wanted: string): boolean {
  const words = [titleOf(node), node.agent, node.branch ?? "", node.id, edge?.kind ?? ""].join(" ").toLowerCase();
  return wanted.toLowerCase().split(/\s+/).every((word) => words.includes(word));
}
