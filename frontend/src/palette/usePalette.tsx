// Opens the command palette with Ctrl+K (⌘K); its code is loaded when it is first wanted.
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';

const Palette = lazy(() => import('./Palette'));
const OPEN = 'ratchet:palette';

/** Opens the palette from anywhere. */
export const openPalette = () => window.dispatchEvent(new Event(OPEN));

export function usePalette(): ReactNode {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      setOpen((was) => !was);
    };
    const asked = () => setOpen(true);
    window.addEventListener('keydown', pressed);
    window.addEventListener(OPEN, asked);
    return () => {
      window.removeEventListener('keydown', pressed);
      window.removeEventListener(OPEN, asked);
    };
  }, []);
  return open ? (
    <Suspense fallback={null}>
      <Palette onClose={() => setOpen(false)} />
    </Suspense>
  ) : null;
}
