// Times as people read them, and the marks of a time axis.

const form = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat("en-GB", options).format;
const DAY = form({ weekday: "short", day: "numeric", month: "short", year: "numeric" });
const SHORT = form({ day: "numeric", month: "short", year: "numeric" });
const CLOCK = form({ hour: "2-digit", minute: "2-digit" });
const MONTH = form({ month: "short", year: "numeric" });
const MONTH_ONLY = form({ month: "short" });
const DAY_ONLY = form({ day: "numeric", month: "short" });
const WEEKDAY = form({ weekday: "short" });

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY_MS = 24 * HOUR;

export const day = (time: number) => DAY(time);
export const shortDay = (time: number) => SHORT(time);
export const clock = (time: number) => CLOCK(time);
export const month = (time: number) => MONTH(time);
export const weekday = (time: number) => WEEKDAY(time);

export function moment(time: number): string {
  return `${SHORT(time)}, ${CLOCK(time)}`;
}

export function moments(text: string | null): string {
  const time = text ? Date.parse(text) : NaN;
  return Number.isNaN(time) ? "undated" : moment(time);
}

export function span(length: number): string {
  const minutes = Math.round(length / MINUTE);
  if (minutes < 1) return "< 1 min";
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.round(hours / 24)} days`;
}

export function range(from: number, to: number): string {
  const a = SHORT(from);
  const b = SHORT(to);
  if (a === b) return `${a}, ${CLOCK(from)} to ${CLOCK(to)}`;
  return `${a} to ${b}`;
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en-GB")} ${number === 1 ? one : many}`;
}

export function big(number: number): string {
  if (number >= 1e9) return `${(number / 1e9).toFixed(1)} G`;
  if (number >= 1e6) return `${(number / 1e6).toFixed(1)} M`;
  return number >= 1e4 ? `${Math.round(number / 1e3)} k` : number.toLocaleString("en-GB");
}

export function startOfDay(time: number): number {
  return new Date(time).setHours(0, 0, 0, 0);
}

/** The Monday of a week. */
export function startOfWeek(time: number): number {
  const date = new Date(time);
  date.setHours(0, 0, 0, 0);
  return date.setDate(date.getDate() - ((date.getDay() + 6) % 7));
}

export function startOfMonth(time: number): number {
  const date = new Date(time);
  return new Date(date.getFullYear(), date.getMonth(), 1).getTime();
}

export interface Tick {
  time: number;
  label: string;
  major: boolean;
}

type Step = { length: number; unit: "minute" | "hour" | "day" | "month" | "year"; by: number };
const STEPS: Step[] = [
  ...[5, 15, 30].map((by): Step => ({ length: by * MINUTE, unit: "minute", by })),
  ...[1, 3, 6, 12].map((by): Step => ({ length: by * HOUR, unit: "hour", by })),
  ...[1, 2, 7, 14].map((by): Step => ({ length: by * DAY_MS, unit: "day", by })),
  ...[1, 3, 6].map((by): Step => ({ length: by * 30.4 * DAY_MS, unit: "month", by })),
  ...[1, 2, 5, 10].map((by): Step => ({ length: by * 365 * DAY_MS, unit: "year", by })),
];

/** Where to write what below a time axis so wide; at least `room` pixels between labels. */
export function ticks(from: number, to: number, width: number, room = 84): Tick[] {
  const fits = STEPS.find((step) => (step.length / (to - from)) * width >= room) ?? STEPS[STEPS.length - 1]!;
  const found: Tick[] = [];
  for (let time = firstTick(from, fits); time <= to && found.length < 400; time = nextTick(time, fits)) {
    if (time >= from) found.push(tick(time, fits));
  }
  return found;
}

function firstTick(from: number, step: Step): number {
  const date = new Date(from);
  if (step.unit === "year") return new Date(Math.floor(date.getFullYear() / step.by) * step.by, 0, 1).getTime();
  if (step.unit === "month") return new Date(date.getFullYear(), Math.floor(date.getMonth() / step.by) * step.by, 1).getTime();
  if (step.unit === "day" && step.by >= 7) return startOfWeek(from);
  const start = startOfDay(from);
  if (step.unit === "day") return start;
  return start + Math.floor((from - start) / step.length) * step.length;
}

function nextTick(time: number, step: Step): number {
  const date = new Date(time);
  if (step.unit === "year") return date.setFullYear(date.getFullYear() + step.by);
  if (step.unit === "month") return date.setMonth(date.getMonth() + step.by);
  if (step.unit === "day") return date.setDate(date.getDate() + step.by);
  return time + step.length;
}

function tick(time: number, step: Step): Tick {
  const date = new Date(time);
  const midnight = date.getHours() === 0 && date.getMinutes() === 0;
  if (step.unit === "year") return { time, label: String(date.getFullYear()), major: true };
  if (step.unit === "month") {
    const january = date.getMonth() === 0;
    return { time, label: january ? String(date.getFullYear()) : MONTH_ONLY(time), major: january };
  }
  if (step.unit === "day") return { time, label: DAY_ONLY(time), major: date.getDate() <= step.by };
  return { time, label: midnight ? DAY_ONLY(time) : CLOCK(time), major: midnight };
}
