// Files of the archive in a tab of their own. A link that the browser follows cannot show the token, so the page fetches.

import { api } from "./api";
import { app, spoken } from "./store.svelte";

/** What a click on a link to a file does; its address stays there to be seen. */
export async function openFile(event: MouseEvent): Promise<void> {
  event.preventDefault();
  const path = (event.currentTarget as HTMLAnchorElement).pathname;
  const tab = window.open("about:blank", "_blank"); // at once: later the browser takes it for a pop-up
  try {
    const url = URL.createObjectURL(await api.blob(path));
    tab?.location.replace(url);
    setTimeout(() => URL.revokeObjectURL(url), 60_000); // the tab has it by then
  } catch (error) {
    tab?.close();
    app.say(spoken(error).text);
  }
}
