// This browser as a device for notifications: its service worker, its permission, its push subscription.
import { recall, remember } from '../browser/storage';
import { notificationsApi } from './api';

const DEVICE = 'push.device';

/** Registers the service worker, where there can be one: on https and on this machine. */
export async function startWorker(): Promise<void> {
  if (!('serviceWorker' in navigator)) return;
  await navigator.serviceWorker.register('/sw.js').catch(() => undefined);
}

export function permission(): NotificationPermission | 'missing' {
  return 'Notification' in window ? Notification.permission : 'missing';
}

export const deviceId = (): string | null => recall(DEVICE);

async function registration(): Promise<ServiceWorkerRegistration | undefined> {
  return 'serviceWorker' in navigator ? navigator.serviceWorker.getRegistration() : undefined;
}

/** Asks for the permission and subscribes to push messages; returns whether they come while no page is open. */
export async function switchOn(language: string): Promise<'denied' | 'page' | 'push'> {
  if (permission() === 'missing' || (await Notification.requestPermission()) !== 'granted') return 'denied';
  await startWorker();
  const worker = await registration();
  if (!worker?.pushManager) return 'page';
  try {
    const { public_key: key } = await notificationsApi.push();
    const given = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    await keep(given, language);
    return 'push';
  } catch {
    return 'page'; // this browser has no push service, or it cannot be reached
  }
}

async function keep(given: PushSubscription, language: string): Promise<void> {
  const { endpoint = '', keys } = given.toJSON();
  const device = await notificationsApi.subscribe({
    endpoint,
    keys: { p256dh: keys?.p256dh ?? '', auth: keys?.auth ?? '' },
    name: nameOfBrowser(),
    language,
  });
  remember(DEVICE, device.id);
}

/** Tells the server that this device was used now. */
export async function renew(language: string): Promise<void> {
  const given = await (await registration())?.pushManager?.getSubscription();
  if (given && deviceId()) await keep(given, language).catch(() => undefined);
}

/** Ends the subscription of this browser, as when somebody logs out. */
export async function switchOff(): Promise<void> {
  const id = deviceId();
  remember(DEVICE, null);
  const given = await (await registration())?.pushManager?.getSubscription().catch(() => null);
  await given?.unsubscribe().catch(() => false);
  if (id) await notificationsApi.unsubscribe(id).catch(() => undefined);
}

/** Shows a notification through the service worker, which also acts on its buttons, or by the page alone. */
export async function show(title: string, options: NotificationOptions & { actions?: object[] }): Promise<void> {
  const worker = await registration();
  if (worker?.active) return worker.showNotification(title, options);
  const shown = new Notification(title, { body: options.body, tag: options.tag, icon: options.icon });
  shown.onclick = () => window.focus();
}

function nameOfBrowser(): string {
  const agent = navigator.userAgent;
  const browser = ['Edg', 'Firefox', 'Chrome', 'Safari'].find((name) => agent.includes(name)) ?? '';
  const system = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac', 'Linux'].find((name) => agent.includes(name)) ?? '';
  return [browser.replace('Edg', 'Edge'), system].filter(Boolean).join(', ');
}
