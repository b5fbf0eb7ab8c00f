// Complete an operation of Ratchet from outside: one file, Node 20 or newer, no packages. Copy it into your service.
//
//   await completeByWebhook(url, secret, { result: { made: 'it' } });   // url and secret came with the work
//   await completeByRedis('redis://host:6379/0', operationId, { error: 'No paper.' });
//
// As a program: COMPLETION_URL=… COMPLETION_SECRET=… node ratchet-completion.mjs '{"made": "it"}'
//           or: REDIS_URL=… OPERATION_ID=… node ratchet-completion.mjs '{"made": "it"}'
//
// A CompletionRefused will not get better; send anything else again, as often as you like: the first one counts.
import { createHmac, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { pathToFileURL } from 'node:url';

const MILLISECONDS = 30_000;
const STREAM = 'chat:completions';

export class CompletionRefused extends Error {}

/** Sends a completion that is signed by Standard Webhooks. */
export async function completeByWebhook(url, secret, { result = null, error } = {}) {
  const body = JSON.stringify(completion(result, error));
  const answer = await fetch(url, {
    method: 'POST',
    body,
    headers: { 'Content-Type': 'application/json', ...signature(secret, body) },
    signal: AbortSignal.timeout(MILLISECONDS),
  });
  if (answer.ok) return;
  const words = `${answer.status}: ${(await answer.text()).slice(0, 2000)}`;
  if (answer.status < 500 && answer.status !== 429) throw new CompletionRefused(words);
  throw new Error(words);
}

/** Adds a completion to the stream of the site's Redis. */
export async function completeByRedis(redisUrl, operationId, { result = null, error } = {}) {
  const url = new URL(redisUrl);
  const data = JSON.stringify({ operation_id: operationId, ...completion(result, error) });
  const commands = [];
  if (url.password) commands.push(['AUTH', ...[url.username, url.password].filter(Boolean).map(decodeURIComponent)]);
  if (url.protocol !== 'unix:' && url.pathname.length > 1) commands.push(['SELECT', url.pathname.slice(1)]);
  commands.push(['XADD', STREAM, '*', 'data', data]);
  await say(url, commands);
}

const completion = (result, error) => (error === undefined ? { success: true, result } : { success: false, error });

/** The headers of Standard Webhooks 1.0 for a body. */
export function signature(secret, body) {
  const id = `msg_${randomUUID()}`;
  const moment = Math.floor(Date.now() / 1000);
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const digest = createHmac('sha256', key).update(`${id}.${moment}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(moment), 'webhook-signature': `v1,${digest}` };
}

function say(url, commands) {
  const place =
    url.protocol === 'unix:'
      ? { path: decodeURIComponent(url.pathname) }
      : { host: url.hostname, port: Number(url.port || 6379) };
  const socket = url.protocol === 'rediss:' ? connectTls({ ...place, servername: url.hostname }) : connect(place);
  const encoded = commands.map(
    (words) => `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`,
  );
  return new Promise((resolve, reject) => {
    let heard = '';
    socket.setTimeout(MILLISECONDS, () => socket.destroy(new Error('Redis does not answer.')));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('Redis has closed the connection.')));
    socket.on('data', (block) => {
      heard += block;
      const answers = heard.split('\r\n').slice(0, -1).filter((line) => /^[+$-]/.test(line));
      const refused = answers.find((line) => line.startsWith('-'));
      if (refused) reject(new CompletionRefused(refused.slice(1)));
      else if (answers.length >= commands.length) resolve();
      else return;
      socket.end();
    });
    socket.write(encoded.join(''));
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { COMPLETION_URL, COMPLETION_SECRET, REDIS_URL, OPERATION_ID } = process.env;
  const result = JSON.parse(process.argv[2]);
  if (COMPLETION_URL) await completeByWebhook(COMPLETION_URL, COMPLETION_SECRET, { result });
  else await completeByRedis(REDIS_URL, OPERATION_ID, { result });
}
