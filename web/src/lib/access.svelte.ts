// Who is signed in here. The token lies in the storage of this origin, which has the port in it; a cookie would go to every
// server of this machine that the browser visits. It is worth nothing once the server has ended.

const NAME = "muniment-token"; // public/enter.js writes it too

class Access {
  token = $state(stored());

  keep(token: string): void {
    localStorage.setItem(NAME, token);
    this.token = token;
  }

  /** The server did not know a token; another tab may have got a new one meanwhile. */
  refuse(token: string | null): void {
    if (stored() === token) localStorage.removeItem(NAME);
    this.token = stored();
  }
}

function stored(): string | null {
  try {
    return localStorage.getItem(NAME);
  } catch {
    return null;
  }
}

export const access = new Access();
