/**
 * The work, never twice at the same time: asked while it runs, it runs once more afterwards, for everybody who asked
 * meanwhile.
 */
export function singleFlight(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  const start = (): Promise<void> => {
    running = work().finally(() => {
      running = null;
    });
    return running;
  };
  return () => {
    if (!running) return start();
    next ??= running.then(
      () => again(),
      () => again(),
    );
    return next;
  };
  function again(): Promise<void> {
    next = null;
    return start();
  }
}
