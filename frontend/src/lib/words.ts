// What went wrong, in words: ours where the code is known, else what the server said.
import type { Key, Translate } from '../i18n';
import { ApiError } from './http';

const CODES: Record<string, Key> = {
  offline: 'problem.offline',
  http_502: 'problem.offline',
  http_503: 'problem.unavailable',
  http_504: 'problem.offline',
  http_404: 'problem.notFound',
  not_found: 'problem.notFound',
};

const ENDINGS: Record<string, Key> = {
  cancelled: 'ending.cancelled',
  budget: 'ending.budget',
  too_many_steps: 'ending.too_many_steps',
  model_error: 'ending.model_error',
  model_refused: 'ending.model_refused',
  worker_lost: 'ending.worker_lost',
  operator: 'ending.operator',
  timed_out: 'ending.timed_out',
  idle: 'ending.idle',
  internal_error: 'ending.internal_error',
};

export function inWords(error: unknown, t: Translate): string {
  if (!(error instanceof ApiError)) return error instanceof Error && error.message ? error.message : t('problem.unknown');
  const known = CODES[error.code] ?? CODES[`http_${error.status}`];
  const text = known ? t(known) : error.message || t('problem.unknown');
  const fields = Object.values(error.fields).flat().filter((line) => !text.includes(line));
  return [text, ...fields, error.hint].filter(Boolean).join(' ');
}

/** Why an answer ended before it was whole. */
export function ending(reason: string | undefined, said: string | undefined, t: Translate): string {
  const known = reason ? ENDINGS[reason] : undefined;
  if (reason === 'model_error' && said) return said;
  return known ? t(known) : (said ?? '');
}
