// /ws/events/: hints that something changed. After a reconnect everything may have, so listeners look again.
import { useEffect, useRef, useState } from 'react';

export type Hint = { type: string; session_id?: string };
const RECONNECTED: Hint = { type: 'reconnected' };
const LONGEST_PAUSE = 8000;

export function useHints(heard: (hint: Hint) => void): boolean {
  const [connected, setConnected] = useState(true);
  const latest = useRef(heard);
  latest.current = heard;
  useEffect(() => {
    let socket: WebSocket | undefined;
    let timer: number | undefined;
    let pause = 250;
    let closed = false;
    const open = (again: boolean) => {
      socket = new WebSocket(`${location.origin.replace('http', 'ws')}/ws/events/`);
      socket.onopen = () => {
        pause = 250;
        setConnected(true);
        if (again) latest.current(RECONNECTED);
      };
      socket.onmessage = (event) => latest.current(JSON.parse(String(event.data)) as Hint);
      socket.onclose = (event) => {
        if (closed) return;
        if (event.code === 4401) location.assign('/login/');
        setConnected(false);
        timer = window.setTimeout(() => open(true), Math.random() * pause);
        pause = Math.min(2 * pause, LONGEST_PAUSE);
      };
    };
    open(false);
    return () => {
      closed = true;
      window.clearTimeout(timer);
      socket?.close();
    };
  }, []);
  return connected;
}
