// The one door for markup: `html` of an item, which the server made and cleaned. Everything else is text.

interface Policy {
  createHTML(text: string): string;
}

interface Factory {
  createPolicy(name: string, rules: Policy): Policy;
}

const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes;
const policy = factory?.createPolicy("muniment", { createHTML: (text) => text });

export function markup(html: string): string {
  return policy ? policy.createHTML(html) : html;
}
