// Light or dark: the system decides until the person does. Canvases need colours as values, so they are read here.

export const METHODS = [
  "review", "build", "design", "debug", "write", "research", "plan", "discuss", "deploy", "triage", "reorg",
];

export interface Palette {
  methods: Record<string, string>;
  other: string;
  text: string;
  muted: string;
  line: string;
  strong: string;
  surface: string;
  onMethod: string;
  open: string;
  blocked: string;
  select: string;
}

type Choice = "system" | "light" | "dark";
const KEY = "muniment-theme";

class Theme {
  choice = $state<Choice>(stored());
  version = $state(0);

  constructor() {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.version++);
    this.#apply();
  }

  get dark(): boolean {
    return this.choice === "dark" || (this.choice === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  }

  toggle(): void {
    this.choice = this.dark ? "light" : "dark";
    try {
      localStorage.setItem(KEY, this.choice);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    this.#apply();
  }

  #apply(): void {
    document.documentElement.dataset.theme = this.choice;
    this.version++;
  }
}

function stored(): Choice {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system";
  }
}

/** Colours as the style sheet gives them now; a probe resolves what depends on the theme. */
export function palette(): Palette {
  const probe = document.createElement("i");
  document.body.append(probe);
  const read = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const found: Palette = {
    methods: Object.fromEntries(METHODS.map((method) => [method, read(`m-${method}`)])),
    other: read("m-none"),
    text: read("text"),
    muted: read("muted"),
    line: read("line"),
    strong: read("line-strong"),
    surface: read("surface"),
    onMethod: read("on-method"),
    open: read("open"),
    blocked: read("blocked"),
    select: read("focus"),
  };
  probe.remove();
  return found;
}

export const theme = new Theme();
