// Tokens, shares and prices as people read them.

import { big, count, moments } from "../lib/time";
import type { RoundBudget, Spent } from "../lib/types";

export const tokensOf = (spent: Spent) => spent.input + spent.output + spent.cache_read + spent.cache_write;
export const exact = (tokens: number) => tokens.toLocaleString("en-GB");
export const percent = (share: number | null) => (share === null ? "" : `${Math.round(share * 100)} %`);

export function dollars(spent: Spent): string {
  if (spent.dollars === null) return "no price";
  return spent.dollars > 0 && spent.dollars < 0.005 ? "under $0.01" : `$${spent.dollars.toFixed(2)}`;
}

export const unpriced = (models: string[]) => models.map((model) => (model === "unknown" ? "a model that is not named" : model)).join(", ");

export function filled(one: { window: number; estimated?: boolean; limit: number | null; share: number | null }): string {
  const about = `${one.estimated ? "about " : ""}${exact(one.window)} tokens`;
  return one.limit === null ? `${about}, window unknown` : `${about}, ${percent(one.share)} of ${big(one.limit)}`;
}

export function cuts(one: RoundBudget): string {
  const size = (tokens: number | null) => (tokens === null ? "?" : big(tokens));
  return one.compactions.map((cut) => `compacted from ${size(cut.before)} to ${size(cut.after)}`).join(", ");
}

/** Everything about one round, in one line. */
export function told(one: RoundBudget): string {
  const used = one.spent.calls ? `${count(one.spent.calls, "call")}, ${big(tokensOf(one.spent))} tokens, ${dollars(one.spent)}` : "";
  const estimate = one.estimated ? "estimated from the sizes of texts" : "";
  return [filled(one), estimate, cuts(one), used, one.model ?? "", one.started ? moments(one.started) : ""].filter(Boolean).join(" · ");
}
