// Requests to the HTTP API: cookie session, CSRF token from the cookie, errors as values with a code and words.

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

  /** Nobody answered: worth trying again when the connection is back. */
  get isOffline(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

const VISITORS = new Set(['/api/me']); // asked on every page: who is nobody here may still be let in

type Problem = { error?: { code?: string; message?: string; hint?: string; fields?: Record<string, string[]> } };

export async function call<T>(method: string, path: string, body?: unknown, init: RequestInit = {}): Promise<T> {
  const response = await reach(path, {
    ...init,
    method,
    headers: { 'X-CSRFToken': csrfToken(), ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (response.status === 204) return undefined as T;
  const answer: unknown = await response.json().catch(() => null);
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

async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'offline', '');
  }
}

export function query(values: Record<string, string | number | boolean | null | undefined>): string {
  const pairs = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return pairs.length ? `?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}` : '';
}
