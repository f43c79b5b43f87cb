// A family as rows with lines beside them: who stands below whom, and in which column. Pure.
//
// Every session stands below the one it surely comes from. The larger part of what follows stays in the column of its
// origin and the rest moves one to the right, so that even a thousand sessions need no more than ten columns.

import type { Edge, LineageAnswer, Relative } from "../lib/types";
import { BESIDE } from "./words";

export interface Choice {
  sides: boolean;
  inferred: boolean;
  closed: ReadonlySet<string>;
}

export interface Row {
  node: Relative;
  /** Why it stands where it stands. */
  edge: Edge | null;
  /** What else it comes from. */
  others: Edge[];
  column: number;
  level: number;
  /** The number of the row it stands below; -1 for the first. */
  parent: number;
  place: number;
  siblings: number;
  children: number;
  open: boolean;
}

export interface Tree {
  rows: Row[];
  /** By id. */
  at: Map<string, number>;
  columns: number;
}

/** The rows of a family, as far as they were asked for and are not folded away. */
export function grown(answer: LineageAnswer, choice: Choice): Tree {
  const edges = answer.edges.filter((edge) => choice.inferred || edge.explicit);
  const into = grouped(edges, (edge) => edge.later);
  const kin = together(answer.session_id, edges);
  const nodes = answer.nodes.filter((node) => kin.has(node.id) && (choice.sides || node.side === null));
  const below = grouped(nodes, (node) => (stem(node, into) ? node.under! : ""));
  const sizes = weighed(nodes, into);
  return placed(below, into, sizes, choice.closed);
}

function grouped<T>(all: T[], by: (one: T) => string): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const one of all) (found.get(by(one)) ?? found.set(by(one), []).get(by(one))!).push(one);
  return found;
}

const stem = (node: Relative, into: Map<string, Edge[]>) => into.get(node.id)?.find((edge) => edge.earlier === node.under) ?? null;

/** Everything that hangs together with one of them. */
function together(id: string, edges: Edge[]): Set<string> {
  const near = new Map<string, string[]>();
  const join = (one: string, other: string) => void (near.get(one)?.push(other) ?? near.set(one, [other]));
  for (const { earlier, later } of edges) (join(earlier, later), join(later, earlier));
  const found = new Set([id]);
  for (const one of found) for (const other of near.get(one) ?? []) found.add(other);
  return found;
}

/** How many stand below each, itself counted. An origin comes before what stands below it. */
function weighed(nodes: Relative[], into: Map<string, Edge[]>): Map<string, number> {
  const sizes = new Map(nodes.map((node) => [node.id, 1]));
  for (const node of [...nodes].reverse()) {
    if (stem(node, into)) sizes.set(node.under!, (sizes.get(node.under!) ?? 0) + sizes.get(node.id)!);
  }
  return sizes;
}

function placed(below: Map<string, Relative[]>, into: Map<string, Edge[]>, sizes: Map<string, number>, closed: ReadonlySet<string>): Tree {
  const rows: Row[] = [];
  const at = new Map<string, number>();
  let columns = 1;
  type Waiting = Pick<Row, "node" | "column" | "level" | "parent" | "place" | "siblings">;
  const waiting: Waiting[] = [];
  const add = (nodes: Relative[], parent: number, column: number, straight: Relative | null, level: number) => {
    const ordered = straight ? [...nodes.filter((node) => node !== straight), straight] : nodes;
    const made = ordered.map((node, place) => ({ node, column: parent < 0 || node === straight ? column : column + 1, level, parent, place: place + 1, siblings: nodes.length }));
    waiting.push(...made.reverse());
  };
  add(below.get("") ?? [], -1, 0, null, 1);
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    const children = below.get(one.node.id) ?? [];
    const edge = stem(one.node, into);
    const others = (into.get(one.node.id) ?? []).filter((other) => other !== edge);
    const open = children.length > 0 && !closed.has(one.node.id);
    at.set(one.node.id, rows.length);
    rows.push({ ...one, edge, others, children: children.length, open });
    columns = Math.max(columns, one.column + 1);
    if (open) add(children, rows.length - 1, one.column, heaviest(children, into, sizes), one.level + 1);
  }
  return { rows, at, columns };
}

/** The one that goes on in the same column: of those that go on at all, if it has more below it than any other. */
function heaviest(children: Relative[], into: Map<string, Edge[]>, sizes: Map<string, number>): Relative | null {
  const going = children.filter((node) => !BESIDE.has(stem(node, into)?.kind ?? ""));
  const [first, second] = going.sort((a, b) => sizes.get(b.id)! - sizes.get(a.id)!);
  return first && (!second || sizes.get(first.id)! > sizes.get(second.id)!) ? first : null;
}
