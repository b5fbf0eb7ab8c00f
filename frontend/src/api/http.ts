// Requests to the HTTP API: cookie session, CSRF token from the cookie, errors with a code and a message.

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint = '',
    readonly fields: Record<string, string[]> = {},
  ) {
    super(message);
    this.name = 'ApiError';
  }

  /** No response: retry when the connection is back. */
  get isOffline(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

const VISITORS = new Set(['/api/me']); // asked on every page: who is nobody here may still be let in

const DEADLINE = 20_000; // ms
const SIGN_OF_LIFE = 8_000; // ms
const SOON = 2_000; // ms
const KEPT = 6; // connections a browser keeps to one server
const unanswered = new Set<AbortController>(); // of what may be asked again

type Problem = { error?: { code?: string; message?: string; hint?: string; fields?: Record<string, string[]> } };

/** Requests that may be repeated (`repeatable`) have a deadline: a connection can die unnoticed. */
export async function call<T>(
  method: string,
  path: string,
  body?: unknown,
  { repeatable = method === 'GET' } = {},
): Promise<T> {
  const { response, answer } = await reach(path, repeatable, {
    method,
    cache: 'no-store',
    headers: { 'X-CSRFToken': csrfToken(), ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (response.ok) return answer as T;
  if (response.status === 401 && !VISITORS.has(path)) goToLogin();
  throw problemIn(response.status, answer);
}

export function csrfToken(): string {
  return document.cookie.match(/(?:^|; )(?:__Host-)?csrftoken=([^;]+)/)?.[1] ?? '';
}

export function problemIn(status: number, answer: unknown): ApiError {
  const error = (answer as Problem | null)?.error;
  return new ApiError(status, error?.code ?? `http_${status}`, error?.message ?? '', error?.hint, error?.fields);
}

export function goToLogin(): void {
  location.assign(`/login/?next=${encodeURIComponent(location.pathname)}`);
}

async function reach(
  path: string,
  repeatable: boolean,
  init: RequestInit,
): Promise<{ response: Response; answer: unknown }> {
  const stop = new AbortController();
  const timer = repeatable ? window.setTimeout(() => stop.abort(), DEADLINE) : 0;
  if (repeatable) unanswered.add(stop);
  try {
    const response = await fetch(path, { ...init, signal: stop.signal });
    const answer: unknown = response.status === 204 ? undefined : await response.json().catch(() => null);
    if (stop.signal.aborted) throw stop.signal.reason;
    return { response, answer };
  } catch {
    throw new ApiError(0, 'offline', '');
  } finally {
    window.clearTimeout(timer);
    unanswered.delete(stop);
  }
}

/** Whether the server responds at all. */
export async function answers(patience = SIGN_OF_LIFE): Promise<boolean> {
  const stop = new AbortController();
  const timer = window.setTimeout(() => stop.abort(), patience);
  const answer = await fetch('/healthz', { cache: 'no-store', signal: stop.signal }).catch(() => null);
  window.clearTimeout(timer);
  return answer !== null;
}

/** Makes the browser drop connections that may be dead: it reuses them until a request on one is aborted. */
export async function freshConnections(): Promise<void> {
  for (const stop of unanswered) stop.abort();
  await Promise.all(Array.from({ length: KEPT }, () => answers(SOON)));
}

export function query(values: Record<string, string | number | boolean | null | undefined>): string {
  const pairs = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return pairs.length ? `?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}` : '';
}
