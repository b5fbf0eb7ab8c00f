// The service worker: shows push messages while no page is open, and acts on them. It caches nothing.
'use strict';

const TEXTS = {
  en: {
    answer: 'Your answer is ready',
    question: 'The copilot asks you something',
    review: 'Your approval is needed',
    run: 'Your agent is done',
    test: 'Notifications work',
    approve: 'Approve',
    reject: 'Reject',
    approved: 'Approved',
    rejected: 'Rejected',
    late: 'This could not be decided here. Open it to see why.',
  },
  de: {
    answer: 'Ihre Antwort ist fertig',
    question: 'Der Copilot fragt Sie etwas',
    review: 'Ihre Zustimmung ist gefragt',
    run: 'Ihr Agent ist fertig',
    test: 'Benachrichtigungen funktionieren',
    approve: 'Zustimmen',
    reject: 'Ablehnen',
    approved: 'Zugestimmt',
    rejected: 'Abgelehnt',
    late: 'Das ließ sich hier nicht entscheiden. Öffnen Sie es, um zu sehen, warum.',
  },
};

const textsOf = (language) => TEXTS[String(language).slice(0, 2)] ?? TEXTS.en;
const pathOf = (url) => {
  const target = new URL(String(url ?? '/'), self.location.origin);
  return target.origin === self.location.origin ? target.href : self.location.origin;
};

self.addEventListener('install', () => void self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

self.addEventListener('push', (event) => {
  const notice = read(event.data);
  const texts = textsOf(notice.language);
  const actions = notice.review ? ['approve', 'reject'].map((action) => ({ action, title: texts[action] })) : [];
  event.waitUntil(
    self.registration.showNotification(texts[notice.kind] ?? 'Ratchet', {
      body: notice.subject ?? '',
      tag: notice.id, // the same event again replaces it
      data: notice,
      icon: '/static/site/icon-192.png',
      badge: '/static/site/badge-96.png',
      lang: notice.language,
      requireInteraction: Boolean(notice.review),
      actions,
    }),
  );
});

self.addEventListener('notificationclick', (event) => {
  const notice = event.notification.data ?? {};
  event.notification.close();
  const decides = notice.review && (event.action === 'approve' || event.action === 'reject');
  event.waitUntil(decides ? decide(notice, event.action === 'approve') : open(notice.url));
});

function read(data) {
  try {
    const notice = data?.json();
    return notice && typeof notice === 'object' ? notice : {};
  } catch {
    return {};
  }
}

/** Decides a review as the person who is logged in here; what fails is said, and leads to the page. */
async function decide(notice, approved) {
  const texts = textsOf(notice.language);
  const done = await send(notice, approved).catch(() => false);
  await self.registration.showNotification(done ? texts[approved ? 'approved' : 'rejected'] : texts.review, {
    body: done ? (notice.subject ?? '') : texts.late,
    tag: notice.id,
    data: { ...notice, review: null },
    icon: '/static/site/icon-192.png',
    silent: true,
  });
}

async function send(notice, approved) {
  await fetch('/api/me', { credentials: 'same-origin' }); // sets the cookie of the token against forgery
  const token = await csrfToken();
  const answer = await fetch(`/api/reviews/${encodeURIComponent(notice.review)}/decide`, {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'Content-Type': 'application/json', 'X-CSRFToken': token },
    body: JSON.stringify({ approved }),
  });
  return answer.ok;
}

async function csrfToken() {
  const cookies = (await self.cookieStore?.getAll()) ?? [];
  return cookies.find((cookie) => cookie.name.endsWith('csrftoken'))?.value ?? '';
}

/** Brings a page that is open to the front, or opens one. */
async function open(url) {
  const address = pathOf(url);
  const pages = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  const page = pages.find((client) => client.url === address) ?? pages[0];
  if (!page) return self.clients.openWindow(address);
  await page.focus();
  return page.url === address ? page : page.navigate(address);
}
