// The node executions of an execution on a time line. Pure, so that it can be tested.
import type { NodeRun } from './api';

export type Span = { run: NodeRun; start: number; width: number; seconds: number | null };

/** Each run as a share of the whole time; a running one reaches to now, a waiting one has no width. */
export function spans(runs: readonly NodeRun[], now: number): Span[] {
  const begun = runs.filter((run) => run.started_at).map((run) => Date.parse(run.started_at!));
  const first = Math.min(...begun, now);
  const last = Math.max(
    ...runs.map((run) => (run.ended_at ? Date.parse(run.ended_at) : run.started_at ? now : first)),
    first + 1,
  );
  const whole = last - first;
  return [...runs]
    .sort((one, two) => at(one, last) - at(two, last))
    .map((run) => {
      if (!run.started_at) return { run, start: 1, width: 0, seconds: null };
      const from = Date.parse(run.started_at);
      const to = run.ended_at ? Date.parse(run.ended_at) : now;
      return {
        run,
        start: (from - first) / whole,
        width: Math.max((to - from) / whole, 0.004),
        seconds: (to - from) / 1000,
      };
    });
}

const at = (run: NodeRun, last: number) => (run.started_at ? Date.parse(run.started_at) : last);
