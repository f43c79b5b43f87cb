// Lanes of a timeline: which entries share a lane, and how they lie in it at a given zoom. Pure; the painter only draws.

import type { Entry } from "../lib/entries";
import { count, DAY_MS, HOUR, MINUTE, month, shortDay, startOfDay, startOfMonth, startOfWeek, ticks, weekday, type Tick } from "../lib/time";
import { METHODS } from "../lib/theme.svelte";
import type { Group, Window } from "../lib/view";

export interface Column {
  from: number;
  entries: Entry[];
  /** How many of each method, in the order of the legend. */
  parts: [string, number][];
}

export interface Lane {
  key: string;
  label: string;
  note: string;
  /** What is taken off a time before it is drawn: zero, or where the period of the lane begins. */
  origin: number;
  entries: Entry[];
  longest: number;
  rows: Int16Array;
  depth: number;
  /** Too much for bars at this zoom: drawn as columns of so many entries. */
  columns: Column[] | null;
  step: number;
  top: number;
  height: number;
}

export const ROW = 17;
export const PAD = 4;
export const LABEL = 15;
const COLUMNS_HEIGHT = 34;
const READABLE = 9;
export const NARROWEST = 5;
const BINS = [15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY_MS, 2 * DAY_MS, 7 * DAY_MS, 14 * DAY_MS, 28 * DAY_MS, 91 * DAY_MS];

export const PERIODS: Partial<Record<Group, { length: number; start: (time: number) => number; label: (time: number) => string }>> = {
  day: { length: DAY_MS, start: startOfDay, label: (time) => `${weekday(time)} ${shortDay(time)}` },
  week: { length: 7 * DAY_MS, start: startOfWeek, label: (time) => `Week of ${shortDay(time)}` },
  month: { length: 31 * DAY_MS, start: startOfMonth, label: month },
};

/** Marks of a period that begins anew in every lane. This one began on a Monday, and has 31 days: any such will do. */
export function folded(by: Group, length: number, width: number): Tick[] {
  const anchor = new Date(2024, 0, 1).getTime();
  const marks = ticks(anchor, anchor + length - 1, width, 64);
  const shown = by === "day" ? marks : marks.filter((tick) => startOfDay(tick.time) === tick.time);
  const label = (tick: Tick) => {
    if (by === "week") return weekday(tick.time);
    return by === "month" ? String(new Date(tick.time).getDate()) : tick.label.includes(":") ? tick.label : "00:00";
  };
  return shown.map((tick) => ({ time: tick.time - anchor, label: label(tick), major: false }));
}

export function group(entries: Entry[], by: Group, noun: string): Lane[] {
  const period = PERIODS[by];
  const lanes = new Map<string, Lane>();
  for (const entry of entries) {
    if (Number.isNaN(entry.start)) continue;
    const origin = period ? period.start(entry.start) : 0;
    const key = period ? String(origin) : by === "none" ? "" : String(entry[by as "project" | "method" | "agent"]);
    let lane = lanes.get(key);
    if (!lane) lanes.set(key, (lane = empty(key, period ? period.label(origin) : key, origin)));
    lane.entries.push(entry);
    lane.longest = Math.max(lane.longest, entry.end - entry.start);
  }
  const found = [...lanes.values()];
  for (const lane of found) lane.note = count(lane.entries.length, noun);
  return period ? found.sort((a, b) => b.origin - a.origin) : found.sort(lately);
}

/** Lanes with something to see in a time that was chosen; their notes say how much of it. */
export function inView(lanes: Lane[], window: Window, noun: string): Lane[] {
  const { from, to } = { from: window.from ?? -Infinity, to: window.to ?? Infinity };
  return lanes.filter((lane) => {
    const number = lane.entries.reduce((sum, entry) => sum + Number(entry.start <= to && entry.end >= from), 0);
    lane.note = count(number, noun);
    return number > 0;
  });
}

function empty(key: string, label: string, origin: number): Lane {
  const rows = new Int16Array(0);
  return { key, label: label || "none", note: "", origin, entries: [], longest: 0, rows, depth: 1, columns: null, step: 0, top: 0, height: 0 };
}

const lately = (a: Lane, b: Lane) => b.entries.length - a.entries.length || (a.label < b.label ? -1 : 1);

/** Give every entry its row, and every lane its place; the answer is the height of all. */
export function arrange(lanes: Lane[], scale: number, labelled: boolean): number {
  // A power of two, rounded down: rows stay as they are while one zooms a little, and bars never touch.
  const coarse = 2 ** Math.floor(Math.log2(scale));
  const deepest = lanes.length <= 2 ? 14 : lanes.length <= 6 ? 7 : 5;
  let top = 0;
  for (const lane of lanes) {
    // Marks too thin to tell apart say more as columns than as stairs.
    pack(lane, coarse, typical(lane) * coarse < READABLE ? 2 : deepest);
    lane.top = top;
    lane.height = (lane.columns ? COLUMNS_HEIGHT : lane.depth * ROW) + 2 * PAD + (labelled ? LABEL : 0);
    top += lane.height;
  }
  return top;
}

function typical(lane: Lane): number {
  let sum = 0;
  for (const entry of lane.entries) sum += entry.end - entry.start;
  return sum / lane.entries.length;
}

function pack(lane: Lane, scale: number, deepest: number): void {
  const ends: number[] = [];
  if (lane.rows.length !== lane.entries.length) lane.rows = new Int16Array(lane.entries.length);
  for (let at = 0; at < lane.entries.length; at++) {
    const entry = lane.entries[at]!;
    const from = entry.start * scale;
    let row = 0;
    while (row < ends.length && ends[row]! > from) row++;
    if (row >= deepest) return stack(lane, scale);
    ends[row] = Math.max(entry.end * scale, from + NARROWEST) + 2;
    lane.rows[at] = row;
  }
  lane.depth = Math.max(1, ends.length);
  lane.columns = null;
}

function stack(lane: Lane, scale: number): void {
  const step = BINS.find((bin) => bin * scale >= 5) ?? BINS[BINS.length - 1]!;
  if (lane.columns && lane.step === step) return;
  lane.step = step;
  lane.columns = columns(lane.entries, step, lane.origin);
}

export function columns(entries: Entry[], step: number, origin = 0): Column[] {
  const base = origin || startOfWeek(entries[0]?.start ?? 0);
  const found: Column[] = [];
  let last: Column | undefined;
  for (const entry of entries) {
    const from = base + Math.floor((entry.start - base) / step) * step;
    if (!last || last.from !== from) found.push((last = { from, entries: [], parts: [] }));
    last.entries.push(entry);
  }
  for (const column of found) column.parts = parts(column.entries);
  return found;
}

const ORDER = [...METHODS, ""];

export function parts(entries: Entry[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(entry.method, (counts.get(entry.method) ?? 0) + 1);
  return ORDER.filter((method) => counts.has(method)).map((method) => [method, counts.get(method)!]);
}

/** First entry that could reach into view. */
export function firstAt(lane: Lane, from: number): number {
  const wanted = from - lane.longest;
  let low = 0;
  let high = lane.entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.entries[middle]!.start < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
