// A chat socket with heartbeats, to detect a dead connection: browsers report one only after many minutes, if ever.

const OPENING = 8000; // ms it may take to open
const LOOK = 2500; // ms between two looks at the clock
const SILENT = 10_000; // ms without a word after which one is asked for
const ANSWER = 5000; // ms the answer may take

/** The ping, because pages cannot send ping frames: a request to resume an unknown chat is answered with idle. */
const pulse = (count: number) => JSON.stringify({ type: 'resume', requestId: `pulse-${count}`, id: 'pulse' });

/** `awaits`: a response is expected now; `lost`: it does not come. */
export function heartbeatSocket(awaits: () => boolean, lost: () => void): typeof WebSocket {
  return class extends WebSocket {
    constructor(url: string | URL, protocols?: string | string[]) {
      super(url, protocols);
      let [heardAt, askedAt, asked] = [Date.now(), 0, 0];
      const look = () => {
        if (this.readyState > WebSocket.OPEN) return window.clearInterval(timer);
        if (this.readyState !== WebSocket.OPEN || !awaits()) return;
        const now = Date.now();
        if (askedAt > heardAt) {
          if (now - askedAt > ANSWER) lost();
        } else if (now - heardAt > SILENT) {
          askedAt = now;
          this.send(pulse(++asked));
        }
      };
      const timer = window.setInterval(look, LOOK);
      window.setTimeout(() => this.readyState === WebSocket.CONNECTING && this.close(), OPENING);
      this.addEventListener('message', () => {
        heardAt = Date.now();
      });
    }
  };
}
