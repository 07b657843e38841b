// Requests to the server. A newer request of the same kind aborts the one before it.

/** What the server refused, and where in the query. */
class Refused extends Error {
  constructor({ message, position = null, hint = null, parameter = null }, status) {
    super(message);
    Object.assign(this, { position, hint, parameter, status });
  }
}

const running = new Map();

/** The answer to a request, or null where a newer one of the same kind has replaced it. */
export async function get(path, params, kind = path) {
  abort(kind);
  const control = new AbortController();
  running.set(kind, control);
  try {
    const response = await fetch(`${path}?${params}`, { signal: control.signal, headers: { Accept: "application/json" } });
    const answer = await response.json().catch(() => null);
    if (!response.ok) throw new Refused(answer?.error ?? { message: `The server answered ${response.status}.` }, response.status);
    return control.signal.aborted ? null : answer;
  } catch (error) {
    if (control.signal.aborted) return null;
    if (error instanceof Refused) throw error;
    throw new Refused({ message: "The server does not answer.", hint: "Is `indextables serve` still running?" }, 0);
  } finally {
    if (running.get(kind) === control) running.delete(kind);
  }
}

function abort(kind) {
  running.get(kind)?.abort();
  running.delete(kind);
}
