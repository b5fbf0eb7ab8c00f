// /ws/events/: hints that something changed. They may be lost; after a reconnect everything may have changed, so
// listeners hear `reconnected` and look again.
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { goToLogin } from './http';

export type Hint = {
  type: string;
  session_id?: string;
  turn_id?: string;
  id?: string;
  status?: string;
  progress?: number;
  message?: string;
  [more: string]: unknown;
};
type Listener = (hint: Hint) => void;

const RECONNECTED: Hint = { type: 'reconnected' };
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 8000;
const QUIET = 1200; // ms: a break shorter than this is nobody's business
const ASLEEP = 30_000; // ms out of sight after which open sockets are not believed any more
const NOT_LOGGED_IN = 4401;

class HintSocket {
  private listeners = new Set<Listener>();
  private watchers = new Set<() => void>();
  private socket: WebSocket | undefined;
  private timer = 0;
  private quiet = 0;
  private pause = FIRST_PAUSE;
  private opened = false;
  private hiddenAt = 0;
  connected = true; // as shown: a short break does not count

  start(): void {
    if (this.socket) return;
    this.open();
    window.addEventListener('online', () => this.wake());
    document.addEventListener('visibilitychange', () => this.seen());
  }

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  watch = (changed: () => void): (() => void) => {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  };

  private open(): void {
    window.clearTimeout(this.timer);
    const before = this.socket;
    const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/ws/events/`);
    this.socket = socket; // from here on the one before is not listened to
    before?.close();
    socket.onopen = () => {
      this.pause = FIRST_PAUSE;
      this.show(true);
      if (this.opened) this.tell(RECONNECTED);
      this.opened = true;
    };
    socket.onmessage = (event) => socket === this.socket && this.tell(JSON.parse(String(event.data)) as Hint);
    socket.onclose = (event) => {
      if (socket !== this.socket) return;
      if (event.code === NOT_LOGGED_IN) return void this.turnedAway();
      this.show(false);
      this.timer = window.setTimeout(() => this.open(), this.pause * (0.5 + Math.random() / 2));
      this.pause = Math.min(2 * this.pause, LONGEST_PAUSE);
    };
  }

  /** Logged out, or a visitor who has not said anything yet and will be let in once they have. */
  private async turnedAway(): Promise<void> {
    const answer = await fetch('/api/config').catch(() => null);
    if (answer?.status === 401) return goToLogin();
    this.timer = window.setTimeout(() => this.open(), LONGEST_PAUSE);
  }

  /** The network is back, or there is a reason to be let in now: do not wait out the pause. */
  wake(): void {
    if (this.socket?.readyState === WebSocket.OPEN) return this.tell(RECONNECTED);
    this.pause = FIRST_PAUSE;
    this.open();
  }

  private seen(): void {
    if (document.visibilityState === 'hidden') this.hiddenAt = Date.now();
    else if (this.hiddenAt && Date.now() - this.hiddenAt > ASLEEP) this.wake();
  }

  private tell(hint: Hint): void {
    for (const listener of this.listeners) listener(hint);
  }

  private show(connected: boolean): void {
    window.clearTimeout(this.quiet);
    const set = () => {
      this.connected = connected;
      for (const changed of this.watchers) changed();
    };
    if (connected) set();
    else this.quiet = window.setTimeout(set, QUIET);
  }
}

export const hints = new HintSocket();

/** Call `heard` with each hint while the component is there. */
export function useHints(heard: Listener): void {
  const latest = useRef(heard);
  latest.current = heard;
  useEffect(() => hints.listen((hint) => latest.current(hint)), []);
}

export function useConnected(): boolean {
  return useSyncExternalStore(hints.watch, () => hints.connected);
}
