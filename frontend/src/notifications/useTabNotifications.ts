// Notifications while a page is open: one page of all devices claims an event, and shows it if nobody is looking.
import { useEffect } from 'react';
import { queryClient, useMe } from '../api/queries';
import { type Key, type Translate, useSpeech } from '../i18n';
import { type Hint, useHints } from '../live/hints';
import { type NotificationSettings, notificationsApi } from './api';
import { permission, renew, show, startWorker } from './device';

const PATIENCE = 800; // ms in which a page that somebody looks at comes first

type Kind = 'answers' | 'reviews' | 'runs';
type Notice = { event: string; kind: Kind; subject: string; url: string; review: string | null };
const TITLES: Record<Kind, Key> = {
  answers: 'notify.answer',
  reviews: 'notify.review',
  runs: 'notify.run',
};

export function useTabNotifications(): void {
  const { t, language } = useSpeech();
  const known = useMe().data !== undefined;
  useEffect(() => {
    if (known) void startWorker().then(() => renew(language));
  }, [known, language]);
  useHints((hint) => {
    const notice = known ? noticeIn(hint) : null;
    if (notice) void consider(notice, t, language);
  });
}

async function consider(notice: Notice, t: Translate, language: string): Promise<void> {
  if (permission() !== 'granted') return;
  const settings = await queryClient.fetchQuery({
    queryKey: ['notification-settings'],
    queryFn: notificationsApi.settings,
    staleTime: 60_000,
  });
  if (!settings[notice.kind] || isQuiet(settings, new Date())) return;
  if (!isLookedAt()) await new Promise((resolve) => window.setTimeout(resolve, PATIENCE));
  const { show: mine } = await notificationsApi.claim(notice.event).catch(() => ({ show: false }));
  if (!mine || isLookedAt()) return; // the marks of the page are enough for who looks at it
  await show(t(TITLES[notice.kind]), {
    body: notice.subject,
    tag: notice.event,
    icon: '/static/site/icon-192.png',
    data: { id: notice.event, url: notice.url, subject: notice.subject, review: notice.review, language },
    actions: notice.review
      ? [
          { action: 'approve', title: t('notify.approve') },
          { action: 'reject', title: t('notify.reject') },
        ]
      : [],
  });
}

const isLookedAt = () => document.visibilityState === 'visible' && document.hasFocus();

function noticeIn(hint: Hint): Notice | null {
  const subject = hint.title ?? hint.name ?? '';
  if (hint.type === 'turn.finished' && hint.news)
    return { event: `turn:${hint.turn_id}`, kind: 'answers', subject, url: `/c/${hint.session_id}`, review: null };
  if (hint.type === 'execution.updated' && hint.news)
    return { event: `execution:${hint.id}`, kind: 'runs', subject, url: `/library/runs/${hint.id}`, review: null };
  if (hint.type === 'review.requested') {
    const review = hint.review_id ?? '';
    return { event: `review:${review}`, kind: 'reviews', subject, url: '/library/reviews', review };
  }
  return null;
}

/** Whether a moment lies in the quiet hours, which may span midnight. */
export function isQuiet({ quiet_from: from, quiet_until: until }: NotificationSettings, now: Date): boolean {
  if (!from || !until || from === until) return false;
  const clock = now.toTimeString().slice(0, 8);
  return from < until ? clock >= from && clock < until : clock >= from || clock < until;
}
