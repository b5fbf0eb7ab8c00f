// The account part of the HTTP API.
import { call, query } from '../api/http';
import type { Answer, Page, Schemas } from '../api/types';

export type Day = Schemas['Day'];
export type Allowance = Schemas['Allowance'];
export type UsageAnswer = Schemas['UsageAnswer'];
export type ApiKey = Answer<'Key'>;
export type NewKey = Answer<'NewKey'>;
export type Grant = Schemas['Grant'];
export type KeyLimits = Pick<
  ApiKey,
  'allowed_models' | 'allowed_tools' | 'requests_per_minute' | 'day_limit' | 'month_limit'
>;

export const accountApi = {
  usage: (days: number) => call<UsageAnswer>('GET', `/api/usage${query({ days })}`),
  keys: () => call<Page<ApiKey>>('GET', '/api/keys'),
  makeKey: (name: string) => call<NewKey>('POST', '/api/keys', { name }),
  changeKey: (id: string, limits: Partial<KeyLimits>) => call<ApiKey>('PATCH', `/api/keys/${id}`, limits),
  grants: () => call<Page<Grant>>('GET', '/api/grants'),
  endGrant: (id: string) => call<void>('DELETE', `/api/grants/${id}`),
  revokeKey: (id: string) => call<void>('DELETE', `/api/keys/${id}`),
};
