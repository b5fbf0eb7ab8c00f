// A page that is open while a new version is put in place asks for parts that are gone; loaded anew it has the new ones.
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
