// Draws lanes on a canvas. Nothing is decided here but pixels.

import { isOpen, type Entry } from "../lib/entries";
import type { Palette } from "../lib/theme.svelte";
import type { Tick } from "../lib/time";
import { firstAt, LABEL, NARROWEST, PAD, ROW, type Column, type Lane } from "./lanes";

export interface Scene {
  lanes: Lane[];
  from: number;
  to: number;
  width: number;
  height: number;
  /** Pixels at the left for the names of lanes; zero where there is no room and names stand inside the lane. */
  gutter: number;
  scroll: number;
  ticks: Tick[];
  selected: string | null;
  hovered: Entry | null;
  palette: Palette;
}

export const AXIS = 24;
export const gutterOf = (width: number) => (width >= 720 ? (width >= 1800 ? 240 : 180) : 0);
const FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif";
const CHAR = 6.1;

export function paint(ctx: CanvasRenderingContext2D, scene: Scene, ratio: number): void {
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.fillStyle = scene.palette.surface;
  ctx.fillRect(0, 0, scene.width, scene.height);
  grid(ctx, scene);
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, AXIS, scene.width, scene.height - AXIS);
  ctx.clip();
  const tallest = tallestColumn(scene.lanes);
  for (const lane of scene.lanes) {
    const top = AXIS + lane.top - scene.scroll;
    if (top > scene.height || top + lane.height < AXIS) continue;
    paintLane(ctx, scene, lane, top, tallest);
  }
  ctx.restore();
  axis(ctx, scene);
}

export function scaleOf(scene: Pick<Scene, "from" | "to" | "width" | "gutter">): number {
  return (scene.width - scene.gutter) / (scene.to - scene.from);
}

export function xOf(scene: Scene, lane: Lane, time: number): number {
  return scene.gutter + (time - lane.origin - scene.from) * scaleOf(scene);
}

function grid(ctx: CanvasRenderingContext2D, scene: Scene): void {
  for (const tick of scene.ticks) {
    const x = Math.round(scene.gutter + (tick.time - scene.from) * scaleOf(scene)) + 0.5;
    ctx.strokeStyle = tick.major ? scene.palette.strong : scene.palette.line;
    line(ctx, x, AXIS, x, scene.height);
  }
}

function axis(ctx: CanvasRenderingContext2D, scene: Scene): void {
  ctx.fillStyle = scene.palette.surface;
  ctx.fillRect(0, 0, scene.width, AXIS);
  ctx.font = `11px ${FONT}`;
  ctx.textBaseline = "middle";
  for (const tick of scene.ticks) {
    const x = scene.gutter + (tick.time - scene.from) * scaleOf(scene);
    if (x < scene.gutter - 1 || x > scene.width - 12) continue;
    ctx.fillStyle = tick.major ? scene.palette.text : scene.palette.muted;
    ctx.fillText(tick.label, x + 5, AXIS / 2);
  }
  ctx.strokeStyle = scene.palette.strong;
  line(ctx, 0, AXIS - 0.5, scene.width, AXIS - 0.5);
}

function paintLane(ctx: CanvasRenderingContext2D, scene: Scene, lane: Lane, top: number, tallest: number): void {
  const body = top + PAD + (scene.gutter ? 0 : LABEL);
  ctx.save();
  ctx.beginPath();
  ctx.rect(scene.gutter, Math.max(top, AXIS), scene.width - scene.gutter, lane.height);
  ctx.clip();
  if (lane.columns) paintColumns(ctx, scene, lane, body, tallest);
  else paintBars(ctx, scene, lane, body);
  ctx.restore();
  ctx.strokeStyle = scene.palette.line;
  line(ctx, 0, Math.round(top + lane.height) - 0.5, scene.width, Math.round(top + lane.height) - 0.5);
  name(ctx, scene, lane, top);
}

function name(ctx: CanvasRenderingContext2D, scene: Scene, lane: Lane, top: number): void {
  const middle = scene.gutter ? top + Math.min(lane.height / 2, 24) : top + 10;
  const room = scene.gutter ? scene.gutter - 20 : scene.width - 12;
  ctx.textBaseline = "middle";
  ctx.font = `500 12px ${FONT}`;
  ctx.fillStyle = scene.palette.text;
  const tall = scene.gutter && lane.height >= 36;
  ctx.fillText(fitted(lane.label, room, 6.6), scene.gutter ? 12 : 6, tall ? middle - 7 : middle);
  if (!tall) return;
  ctx.font = `11px ${FONT}`;
  ctx.fillStyle = scene.palette.muted;
  ctx.fillText(lane.note, 12, middle + 8);
}

function paintBars(ctx: CanvasRenderingContext2D, scene: Scene, lane: Lane, body: number): void {
  const from = scene.from + lane.origin;
  const to = scene.to + lane.origin;
  ctx.font = `11px ${FONT}`;
  ctx.textBaseline = "middle";
  for (let at = firstAt(lane, from); at < lane.entries.length; at++) {
    const entry = lane.entries[at]!;
    if (entry.start > to) break;
    if (entry.end < from) continue;
    bar(ctx, scene, entry, xOf(scene, lane, entry.start), xOf(scene, lane, entry.end), body + lane.rows[at]! * ROW);
  }
}

function bar(ctx: CanvasRenderingContext2D, scene: Scene, entry: Entry, x0: number, x1: number, y: number): void {
  const x = Math.max(x0, -20);
  const width = Math.max(Math.min(x1, scene.width + 20) - x, NARROWEST);
  const height = ROW - 3;
  ctx.fillStyle = scene.palette.methods[entry.method] ?? scene.palette.other;
  if (width > 8) rounded(ctx, x, y, width, height);
  else ctx.fillRect(x, y, width, height);
  const open = isOpen(entry);
  if (open) openEnd(ctx, scene, entry, x + width, y, width, height);
  const room = width - 8 - (open ? 8 : 0) - Math.max(0, scene.gutter - x);
  if (room > 34) {
    ctx.fillStyle = scene.palette.onMethod;
    ctx.fillText(fitted(entry.title, room, CHAR), Math.max(x, scene.gutter) + 5, y + height / 2 + 0.5);
  }
  if (entry === scene.hovered || entry.key === scene.selected) outline(ctx, scene, x, y, width, height);
}

/** Unfinished work is seen by its end: a mark in the colour of what is open, or blocked. */
function openEnd(
  ctx: CanvasRenderingContext2D, scene: Scene, entry: Entry, right: number, y: number, width: number, height: number,
): void {
  const thin = width < 12;
  ctx.fillStyle = scene.palette.surface;
  if (thin) ctx.fillRect(right - width, y + height - 5, width, 1);
  else ctx.fillRect(right - 5, y, 2, height);
  ctx.fillStyle = entry.phase === "blocked" ? scene.palette.blocked : scene.palette.open;
  if (thin) ctx.fillRect(right - width, y + height - 4, width, 4);
  else ctx.fillRect(right - 3, y, 3, height);
}

function outline(ctx: CanvasRenderingContext2D, scene: Scene, x: number, y: number, width: number, height: number): void {
  ctx.strokeStyle = scene.palette.select;
  ctx.lineWidth = 2;
  ctx.strokeRect(x - 1.5, y - 1.5, width + 3, height + 3);
  ctx.lineWidth = 1;
}

function paintColumns(ctx: CanvasRenderingContext2D, scene: Scene, lane: Lane, body: number, tallest: number): void {
  const full = lane.height - 2 * PAD - (scene.gutter ? 0 : LABEL);
  const wide = Math.max(lane.step * scaleOf(scene) - 1, 2);
  for (const column of lane.columns!) {
    const x = xOf(scene, lane, column.from);
    if (x + wide < scene.gutter || x > scene.width) continue;
    stackColumn(ctx, scene.palette, column, x, body + full, wide, Math.max(3, full * (column.entries.length / tallest) ** 0.6));
  }
}

export function stackColumn(
  ctx: CanvasRenderingContext2D, palette: Palette, column: Column, x: number, bottom: number, width: number, height: number,
): void {
  const unit = height / column.entries.length;
  let y = bottom;
  for (const [method, number] of column.parts) {
    ctx.fillStyle = palette.methods[method] ?? palette.other;
    ctx.fillRect(x, y - number * unit, width, number * unit);
    y -= number * unit;
  }
}

function tallestColumn(lanes: Lane[]): number {
  let most = 1;
  for (const lane of lanes) for (const column of lane.columns ?? []) most = Math.max(most, column.entries.length);
  return most;
}

export interface Under {
  entry: Entry | null;
  column: Column | null;
  lane: Lane;
}

export function under(scene: Scene, x: number, y: number): Under | null {
  if (y < AXIS || x < scene.gutter) return null;
  const inside = y - AXIS + scene.scroll;
  const lane = scene.lanes.find((one) => inside >= one.top && inside < one.top + one.height);
  if (!lane) return null;
  const time = scene.from + lane.origin + (x - scene.gutter) / scaleOf(scene);
  if (lane.columns) {
    const column = lane.columns.find((one) => time >= one.from && time < one.from + lane.step);
    return column ? { entry: null, column, lane } : null;
  }
  const row = Math.floor((inside - lane.top - PAD - (scene.gutter ? 0 : LABEL)) / ROW);
  for (let at = lane.entries.length - 1; at >= 0; at--) {
    const entry = lane.entries[at]!;
    if (lane.rows[at] !== row) continue;
    const x0 = xOf(scene, lane, entry.start);
    if (x >= x0 - 1 && x <= Math.max(xOf(scene, lane, entry.end), x0 + NARROWEST) + 1) return { entry, column: null, lane };
  }
  return null;
}

function fitted(text: string, room: number, char: number): string {
  const most = Math.floor(room / char);
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1)).trimEnd()}…`;
}

function rounded(ctx: CanvasRenderingContext2D, x: number, y: number, width: number, height: number): void {
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, 3);
  ctx.fill();
}

function line(ctx: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}
