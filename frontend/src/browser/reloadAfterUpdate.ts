// Reloads a page that was open during an update and requests scripts that no longer exist.
import { recall, remember } from './storage';

const MARK = 'reloaded-at';
const SOON = 30_000; // ms: a part that is still missing after a reload is not missing for that reason

export function reloadAfterUpdate(): void {
  window.addEventListener('vite:preloadError', () => {
    if (Date.now() - Number(recall(MARK) ?? 0) < SOON) return;
    remember(MARK, String(Date.now()));
    location.reload();
  });
}
