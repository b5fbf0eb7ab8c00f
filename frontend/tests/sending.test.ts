import { describe, expect, test } from 'vitest';
import { once } from '../src/chat/once';
import { ApiError } from '../src/lib/http';
import { type Letter, Outbox } from '../src/lib/outbox';
import { waiting } from '../src/lib/pending';
import type { QueuedTurn, Turn } from '../src/lib/types';

function storage() {
  const kept = new Map<string, string>();
  return {
    kept,
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  };
}
const turn = (id: string): Turn => ({ id, status: 'queued', end_reason: null, error: null, while_running: 'queue' });
const queued = (id: string, content = id): QueuedTurn => ({ ...turn(id), message: { id: `m${id}`, content, attachments: [] } });
const offline = new ApiError(0, 'offline', '');

describe('the outbox', () => {
  test('sends a message again under the same id when the connection is back', async () => {
    const sent: string[] = [];
    let reachable = false;
    const outbox = new Outbox('s', async (letter) => {
      sent.push(letter.client_id);
      if (!reachable) throw offline;
      return turn('t');
    }, storage());
    expect(await outbox.send('hello', [], 'queue')).toBeUndefined();
    expect(outbox.letters[0]?.state).toBe('waiting');
    reachable = true;
    expect(await outbox.retry()).toBe(true);
    expect(outbox.letters[0]?.state).toBe('sent');
    expect(sent[0]).toBe(sent[1]);
  });
  test('sends again what went into a dead connection, and does not listen to that any more', async () => {
    const tries: { take: (turn: Turn) => void; fail: (error: Error) => void }[] = [];
    const outbox = new Outbox('s', () => new Promise<Turn>((take, fail) => tries.push({ take, fail })), storage());
    const first = outbox.send('hello', [], 'queue');
    const second = outbox.retry(true);
    tries[1]!.take(turn('t'));
    expect(await second).toBe(true);
    tries[0]!.fail(offline);
    expect(await first).toMatchObject({ id: 't' });
    expect(outbox.letters).toMatchObject([{ state: 'sent' }]);
  });
  test('keeps an unsent message over a reload', async () => {
    const store = storage();
    await new Outbox('s', () => Promise.reject(offline), store).send('hello', [], 'queue');
    const after = new Outbox('s', async () => turn('t'), store);
    expect(after.letters).toMatchObject([{ text: 'hello', state: 'waiting' }]);
    await after.retry();
    expect(store.kept.size).toBe(0);
  });
  test('does not repeat what the server refused', async () => {
    const refused = new ApiError(402, 'over_budget', 'The budget is used up.');
    const outbox = new Outbox('s', () => Promise.reject(refused), storage());
    await outbox.send('hello', [], 'queue');
    expect(outbox.letters[0]).toMatchObject({ state: 'refused', problem: refused });
    expect(await outbox.retry()).toBe(false);
  });
  test('forgets a message once it no longer waits on the server, and not before', async () => {
    const outbox = new Outbox('s', async () => turn('t'), storage());
    await outbox.send('hello', [], 'queue');
    outbox.settle([], new Set());
    expect(outbox.letters, 'accepted after the server was asked').toHaveLength(1);
    outbox.settle(outbox.accepted, new Set(['t']));
    expect(outbox.letters, 'waits its turn').toHaveLength(1);
    outbox.settle(outbox.accepted, new Set(['other']));
    expect(outbox.letters, 'shown, steered or removed').toHaveLength(0);
  });
  test('survives nonsense in the storage', () => {
    const store = storage();
    store.kept.set('ratchet.outbox.s', '{');
    expect(new Outbox('s', async () => turn('t'), store).letters).toEqual([]);
  });
});

describe('what waits', () => {
  const letter = (id: string, change: Partial<Letter> = {}): Letter => ({ client_id: id, text: id, files: [], mode: 'queue', state: 'sending', ...change });
  const none = new Set<string>();

  test('on an idle conversation a message on its way stands as the next one', () => {
    expect(waiting([letter('a')], [], null, none)).toMatchObject({ next: { text: 'a' }, queued: [] });
  });
  test('while something else is answered it is queued', () => {
    expect(waiting([letter('a')], [queued('q')], 'running', none)).toMatchObject({ next: null, queued: [{ turn: 'q' }, { text: 'a' }] });
  });
  test('a message whose own turn runs stands as the next one until the conversation has it', () => {
    const sent = letter('a', { state: 'sent', turn: turn('t') });
    expect(waiting([sent], [], 't', none)).toMatchObject({ next: { turn: 't' } });
    expect(waiting([sent], [], 't', new Set(['t']))).toEqual({ next: null, queued: [] });
  });
  test('a queued turn and its letter are one', () => {
    const sent = letter('a', { state: 'sent', turn: turn('q') });
    expect(waiting([sent], [queued('q')], null, none)).toMatchObject({ next: { turn: 'q', letter: 'a' }, queued: [] });
  });
  test('queued turns without words of a person are not shown', () => {
    expect(waiting([], [{ ...turn('c'), message: null }], 'running', none)).toEqual({ next: null, queued: [] });
  });
});

test('work asked for while it runs is done once more, for all who asked', async () => {
  let runs = 0;
  const settle = once(async () => {
    runs += 1;
    await Promise.resolve();
  });
  await Promise.all([settle(), settle(), settle()]);
  expect(runs).toBe(2);
});

test('work that fails can be asked for again', async () => {
  let runs = 0;
  const settle = once(async () => {
    runs += 1;
    if (runs === 1) throw new Error('no');
  });
  await expect(settle()).rejects.toThrow('no');
  await settle();
  expect(runs).toBe(2);
});
