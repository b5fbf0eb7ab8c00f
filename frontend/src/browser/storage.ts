// Small choices kept in this browser; a browser that keeps nothing works all the same.

const PREFIX = 'ratchet.';

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // nothing is kept, then
  }
}
