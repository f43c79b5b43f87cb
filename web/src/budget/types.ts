// The shapes of docs/api.md that tell of a budget.

export interface Spent {
  calls: number;
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  dollars: number | null;
}

export interface RoundBudget {
  round: number;
  started: string | null;
  model: string | null;
  window: number;
  estimated: boolean;
  limit: number | null;
  share: number | null;
  full: boolean;
  spent: Spent;
  compactions: { before: number | null; after: number | null }[];
}

export interface SideBudget {
  id: string;
  model: string | null;
  window: number;
  limit: number | null;
  share: number | null;
  spent: Spent;
}

export interface BudgetAnswer {
  state: string;
  budget: {
    rounds: RoundBudget[];
    sidechains: SideBudget[];
    with_sidechains: Spent;
    copied: Spent;
    compactions: number;
    unpriced: string[];
    windows_date: string;
    note: string;
  };
  mark: number;
}
