// The account part of the HTTP API.
import { call, query } from '../lib/http';
import type { Page } from '../lib/types';

export type Amounts = { input_tokens: number; output_tokens: number; cost: number; credits: number };
export type Day = Amounts & { date: string };
export type Allowance = { limit: number | null; spent: number; resets_at: string };
export type UsageAnswer = { days: Day[]; totals: Amounts; budget: { day: Allowance; month: Allowance } };
export type ApiKey = { id: string; name: string; prefix: string; created_at: string; last_used_at: string | null };
export type NewKey = ApiKey & { key: string };

export const accountApi = {
  usage: (days: number) => call<UsageAnswer>('GET', `/api/usage${query({ days })}`),
  keys: () => call<Page<ApiKey>>('GET', '/api/keys'),
  makeKey: (name: string) => call<NewKey>('POST', '/api/keys', { name }),
  revokeKey: (id: string) => call<void>('DELETE', `/api/keys/${id}`),
};
