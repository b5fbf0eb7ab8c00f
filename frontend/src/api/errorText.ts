// The text of an error: from our catalogue if the code is known, else the server's message.
import type { Key, Translate } from '../i18n';
import { ApiError } from './http';

const CODES: Record<string, Key> = {
  offline: 'problem.offline',
  http_502: 'problem.offline',
  http_503: 'problem.unavailable',
  http_504: 'problem.offline',
  http_404: 'problem.notFound',
  not_found: 'problem.notFound',
  unavailable: 'problem.unavailable',
  session_busy: 'problem.session_busy',
  too_many_turns: 'problem.too_many_turns',
  not_queued: 'problem.not_queued',
  nothing_to_retry: 'problem.nothing_to_retry',
  too_many_attempts: 'problem.too_many_attempts',
  too_many_keys: 'problem.too_many_keys',
  too_many_schedules: 'problem.too_many_schedules',
  too_many_credentials: 'problem.too_many_credentials',
  too_many_triggers: 'problem.too_many_triggers',
  too_many_executions: 'problem.too_many_executions',
  query_too_long: 'problem.query_too_long',
  version_moved: 'problem.version_moved',
  slug_taken: 'problem.slug_taken',
  already_decided: 'problem.already_decided',
  not_editable: 'problem.not_editable',
  content_gone: 'problem.content_gone',
  permission_denied: 'problem.permission_denied',
  throttled: 'problem.throttled',
  internal: 'problem.internal',
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

export function errorText(error: unknown, t: Translate): string {
  if (!(error instanceof ApiError))
    return error instanceof Error && error.message ? error.message : t('problem.unknown');
  const known = CODES[error.code] ?? CODES[`http_${error.status}`];
  const text = known ? t(known) : error.message || t('problem.unknown');
  const fields = Object.values(error.fields)
    .flat()
    .filter((line) => !text.includes(line));
  return [text, ...fields, known ? '' : error.hint].filter(Boolean).join(' '); // ours say what to do themselves
}

/** Why an answer ended early. */
export function endingText(reason: string | undefined, said: string | undefined, t: Translate): string {
  const known = reason ? ENDINGS[reason] : undefined;
  if (reason === 'model_error' && said) return said;
  return known ? t(known) : (said ?? '');
}
