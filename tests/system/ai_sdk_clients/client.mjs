// A stock AI SDK chat, version 6 or 7, driven by commands on standard input; one JSON line out per command.
//   node client.mjs <6|7> <sse|ws> <base url> <api key> <chat id>
// Commands: {"do": "send", "text"}, {"do": "wait", "for": "text"|"tool"|"ready"|"error", "value"?},
//           {"do": "approve", "approved"}, {"do": "drop"}, {"do": "resume"}, {"do": "stop"}, {"do": "state"}
import { createInterface } from 'node:readline';
import WebSocket from 'ws';

const [version, kind, base, key, chatId] = process.argv.slice(2);
const sdk = await import(version === '6' ? 'ai6' : 'ai7');
const auth = { Authorization: `Bearer ${key}` };

class State {
  status = 'ready';
  error = undefined;
  messages = [];
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => { this.messages = this.messages.with(index, this.snapshot(message)); };
  snapshot = (value) => structuredClone(value);
}

class Chat extends sdk.AbstractChat {
  constructor(init) { super({ ...init, state: new State() }); }
}

// The connection a test can cut: fetch bodies through an AbortController of ours, sockets by terminate().
let cuts = [];
const cuttableFetch = async (url, init = {}) => {
  const cut = new AbortController();
  cuts.push(() => cut.abort(new TypeError('fetch failed: network cut by the test')));
  const signal = init.signal ? AbortSignal.any([init.signal, cut.signal]) : cut.signal;
  return fetch(url, { ...init, signal });
};
class CuttableSocket extends WebSocket {
  constructor(...args) { super(...args); cuts.push(() => this.terminate()); }
}
const ticket = async () => {
  const answer = await fetch(`${base}/api/ws-ticket`, { method: 'POST', headers: auth });
  return { ticket: (await answer.json()).ticket };
};

const transport = kind === 'ws'
  ? new sdk.WebSocketChatTransport({ url: `${base.replace('http', 'ws')}/ws/chat/`, params: ticket, webSocket: CuttableSocket })
  : new sdk.DefaultChatTransport({ api: `${base}/api/chat`, headers: auth, fetch: cuttableFetch });

const seen = [];
const chat = new Chat({ id: chatId, transport, onError: (error) => seen.push(String(error)) });
const running = new Set();
const start = (promise) => { running.add(promise); promise.catch((error) => seen.push(String(error))).finally(() => running.delete(promise)); };
const answer = () => chat.messages.findLast((message) => message.role === 'assistant');
const text = () => (answer()?.parts ?? []).filter((part) => part.type === 'text').map((part) => part.text).join('');
const tools = () => (answer()?.parts ?? []).filter((part) => part.type.startsWith('tool-'));
const state = () => ({
  status: chat.status, text: text(), errors: seen, id: answer()?.id,
  assistants: chat.messages.filter((message) => message.role === 'assistant').length,
  tools: tools().map((part) => ({ type: part.type, state: part.state, output: part.output, error: part.errorText })),
  parts: (answer()?.parts ?? []).map((part) => part.type),
  sources: (answer()?.parts ?? []).filter((part) => part.type === 'source-url').map(({ url, title }) => ({ url, title })),
  files: (answer()?.parts ?? []).filter((part) => part.type === 'file').map(({ url, mediaType }) => ({ url, mediaType })),
  metadata: answer()?.metadata,
});

async function until(check) {
  const deadline = Date.now() + 30000;
  while (!check()) {
    if (Date.now() > deadline) throw new Error(`timed out: ${JSON.stringify(state())}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const actions = {
  send: async ({ text }) => { start(chat.sendMessage({ text })); },
  wait: async ({ for: what, value }) => until(() => ({
    text: () => text().includes(value ?? ''),
    some: () => text().length > 0,
    tool: () => tools().some((part) => part.state === (value ?? 'output-available')),
    ready: () => chat.status === 'ready' && running.size === 0,
    ended: () => running.size === 0,
  })[what]()),
  drop: async () => { cuts.forEach((cut) => cut()); cuts = []; },
  resume: async () => { start(chat.resumeStream()); },
  stop: async () => { await chat.stop(); },
  approve: async ({ approved }) => {
    const asked = tools().find((part) => part.state === 'approval-requested');
    await chat.addToolApprovalResponse({ id: asked.approval.id, approved });
    start(chat.sendMessage());
  },
  regenerate: async () => { start(chat.regenerate()); },
  state: async () => {},
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  try {
    await actions[command.do](command);
    console.log(JSON.stringify({ ok: true, ...state() }));
  } catch (error) {
    console.log(JSON.stringify({ ok: false, failure: String(error), ...state() }));
  }
}
process.exit(0);
