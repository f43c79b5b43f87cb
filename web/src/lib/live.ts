// News of the archive. Not by an EventSource: that cannot show the token.

import { access } from "./access.svelte";
import { request } from "./api";

const RETRY = 2000;

/** Told when the archive changed, or one session grew, until the returned function is called. A lost line is taken up again. */
export function listen(onState: (state: string) => void, onSession: (id: string) => void): () => void {
  const ending = new AbortController();
  const on = (name: string, data: Record<string, string>) => {
    if (name === "state") onState(data.state ?? "");
    if (name === "session") onSession(data.session_id ?? "");
  };
  void follow(on, ending.signal);
  return () => ending.abort();
}

async function follow(on: (name: string, data: Record<string, string>) => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && access.token) {
    try {
      const answer = await request("/api/live", { signal });
      if (answer.ok && answer.body) for await (const [name, data] of events(answer.body)) on(name, data);
    } catch {
      // The server is gone, or the page is.
    }
    if (!signal.aborted) await new Promise((done) => setTimeout(done, RETRY));
  }
}

async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<[string, Record<string, string>]> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let kept = "";
  for (let got = await reader.read(); !got.done; got = await reader.read()) {
    const parts = (kept + decoder.decode(got.value, { stream: true })).split("\n\n");
    kept = parts.pop() ?? "";
    for (const part of parts) {
      const found = /^event: (.*)\ndata: (.*)$/.exec(part);
      if (found) yield [found[1]!, JSON.parse(found[2]!) as Record<string, string>];
    }
  }
}
