// The notifications part of the HTTP API.
import { call } from '../api/http';
import type { Answer, Schemas } from '../api/types';

export type NotificationSettings = Answer<'NotificationSettingsShape'>;
export type PushDevice = Answer<'PushSubscriptionShape'>;

export const notificationsApi = {
  attention: () => call<Schemas['AttentionShape']>('GET', '/api/attention'),
  settings: () => call<NotificationSettings>('GET', '/api/notifications/settings'),
  change: (change: Partial<NotificationSettings>) =>
    call<NotificationSettings>('PATCH', '/api/notifications/settings', change),
  claim: (event: string) => call<Schemas['NoticeClaim']>('POST', '/api/notifications/claim', { event }),
  push: () => call<Schemas['PushState']>('GET', '/api/push'),
  subscribe: (given: Schemas['NewPushSubscription']) =>
    call<PushDevice>('POST', '/api/push/subscriptions', given, { repeatable: true }),
  unsubscribe: (id: string) => call<void>('DELETE', `/api/push/subscriptions/${id}`),
  test: () => call<void>('POST', '/api/push/test', {}),
};
