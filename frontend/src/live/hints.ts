// /ws/events/: hints that something changed. They may be lost; after a reconnect everything may have changed, so
// listeners get `reconnected` and refetch. A connection can die silently (after sleep, or in a network that drops
// packets): then it is `doubted`, and other sockets are reopened as well.
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { answers, freshConnections, goToLogin } from '../api/http';

export type Hint = {
  type: string;
  session_id?: string;
  turn_id?: string;
  id?: string;
  status?: string;
  progress?: number;
  message?: string;
  doubted?: boolean;
  title?: string;
  name?: string;
  review_id?: string;
  news?: boolean; // the person should hear of it
  [more: string]: unknown;
};
type Listener = (hint: Hint) => void;

const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 8000;
const QUIET = 1200; // ms: a break shorter than this is nobody's business
const OPENING = 8000; // ms a socket may take to open
const LOOK = 5000; // ms between two looks at the clock
const ASLEEP = 30_000; // ms out of sight, or without a look, after which open sockets are not believed any more
const SILENT = 15_000; // ms without a hint after which the server is asked for a sign of life
const TOO_SILENT = 300_000; // ms without a hint after which another socket is opened, whatever the server says
const NOTHING = '{}'; // means nothing to the server; but who has closed the other end says so when it comes
const NOT_LOGGED_IN = 4401;

class HintSocket {
  private listeners = new Set<Listener>();
  private watchers = new Set<() => void>();
  private socket: WebSocket | undefined;
  private timer = 0;
  private quiet = 0;
  private pause = FIRST_PAUSE;
  private opened = false;
  private doubted = false;
  private hiddenAt = 0;
  private lookedAt = 0;
  private heardAt = 0;
  private askedAt = 0;
  connected = true; // as shown: a short break does not count

  start(): void {
    if (this.socket) return;
    this.open();
    this.lookedAt = Date.now();
    window.setInterval(() => this.look(), LOOK);
    window.addEventListener('online', () => this.anew());
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
    window.setTimeout(() => socket.readyState === WebSocket.CONNECTING && socket.close(), OPENING);
    socket.onopen = () => {
      this.pause = FIRST_PAUSE;
      this.heardAt = Date.now();
      this.show(true);
      if (this.opened) void this.reconnected();
      this.opened = true;
    };
    socket.onmessage = (event) => {
      if (socket !== this.socket) return;
      this.heardAt = Date.now();
      this.tell(JSON.parse(String(event.data)) as Hint);
    };
    socket.onclose = (event) => {
      if (socket !== this.socket) return;
      if (event.code === NOT_LOGGED_IN) return void this.turnedAway();
      this.show(false);
      this.timer = window.setTimeout(() => this.open(), this.pause * (0.5 + Math.random() / 2));
      this.pause = Math.min(2 * this.pause, LONGEST_PAUSE);
    };
  }

  /** Logged out, or a visitor without a session yet, who can connect after the first message. */
  private async turnedAway(): Promise<void> {
    const answer = await fetch('/api/config').catch(() => null);
    if (answer?.status === 401) return goToLogin();
    this.timer = window.setTimeout(() => this.open(), LONGEST_PAUSE);
  }

  /** The user may be able to connect now: skip the pause. */
  wake(): void {
    if (this.isOpen) return void this.reconnected();
    this.pause = FIRST_PAUSE;
    this.open();
  }

  /** A caller suspects that the connection is dead. */
  doubt(): void {
    if (this.isOpen) this.anew();
    else this.doubted = true;
  }

  private get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  private anew(): void {
    this.doubted = true;
    this.pause = FIRST_PAUSE;
    this.show(false);
    this.open();
  }

  private async reconnected(): Promise<void> {
    const doubted = this.doubted;
    this.doubted = false;
    if (doubted) await freshConnections();
    this.tell({ type: 'reconnected', doubted });
  }

  private seen(): void {
    if (document.visibilityState === 'hidden') {
      this.hiddenAt = Date.now();
      return;
    }
    this.lookedAt = Date.now();
    if (this.hiddenAt && this.lookedAt - this.hiddenAt > ASLEEP) this.anew();
  }

  /** Detects what a page is not told: that the machine slept, or that the connection is silent. */
  private look(): void {
    const now = Date.now();
    const slept = now - this.lookedAt > ASLEEP;
    this.lookedAt = now;
    if (document.visibilityState === 'hidden' || !this.isOpen) return;
    if (slept || now - this.heardAt > TOO_SILENT) this.anew();
    else if (now - Math.max(this.heardAt, this.askedAt) > SILENT) void this.askForLife();
  }

  private async askForLife(): Promise<void> {
    const socket = this.socket;
    this.askedAt = Date.now();
    socket?.send(NOTHING);
    if (!(await answers()) && socket === this.socket) this.doubt();
  }

  private tell(hint: Hint): void {
    for (const listener of this.listeners) listener(hint);
  }

  private show(connected: boolean): void {
    const set = () => {
      this.quiet = 0;
      this.connected = connected;
      for (const changed of this.watchers) changed();
    };
    if (!connected) {
      this.quiet ||= window.setTimeout(set, QUIET);
      return;
    }
    window.clearTimeout(this.quiet);
    set();
  }
}

export const hints = new HintSocket();

/** Calls `heard` with each hint while the component is mounted. */
export function useHints(heard: Listener): void {
  const latest = useRef(heard);
  latest.current = heard;
  useEffect(() => hints.listen((hint) => latest.current(hint)), []);
}

export function useConnected(): boolean {
  return useSyncExternalStore(hints.watch, () => hints.connected);
}
