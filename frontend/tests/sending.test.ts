import { describe, expect, test } from 'vitest';
import { singleFlight } from '../src/messages/singleFlight';
import { ApiError } from '../src/api/http';
import {
  type MessageEvent,
  type MessageState,
  nextState,
  type PendingMessage,
  reduce,
} from '../src/messages/messageState';
import { Outbox } from '../src/messages/outbox';
import { arrange } from '../src/messages/pendingEntries';
import type { QueuedTurn, Turn } from '../src/api/types';

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
const queued = (id: string, content = id): QueuedTurn => ({
  ...turn(id),
  message: { id: `m${id}`, content, attachments: [] },
});
const offline = new ApiError(0, 'offline', '');

describe('the outbox', () => {
  test('sends a message again under the same id when the connection is back', async () => {
    const sent: string[] = [];
    let reachable = false;
    const outbox = new Outbox(
      's',
      async (message) => {
        sent.push(message.client_id);
        if (!reachable) throw offline;
        return turn('t');
      },
      storage(),
    );
    expect(await outbox.send('hello', [], 'queue')).toBeUndefined();
    expect(outbox.messages[0]?.state).toBe('unsent');
    reachable = true;
    expect(await outbox.retry()).toBe(true);
    expect(outbox.messages[0]?.state).toBe('accepted');
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
    expect(outbox.messages).toMatchObject([{ state: 'accepted' }]);
  });
  test('keeps an unsent message over a reload', async () => {
    const store = storage();
    await new Outbox('s', () => Promise.reject(offline), store).send('hello', [], 'queue');
    const after = new Outbox('s', async () => turn('t'), store);
    expect(after.messages).toMatchObject([{ text: 'hello', state: 'unsent' }]);
    await after.retry();
    expect(store.kept.size).toBe(0);
  });
  test('does not repeat what the server refused', async () => {
    const refused = new ApiError(402, 'over_budget', 'The budget is used up.');
    const outbox = new Outbox('s', () => Promise.reject(refused), storage());
    await outbox.send('hello', [], 'queue');
    expect(outbox.messages[0]).toMatchObject({ state: 'refused', problem: refused });
    expect(await outbox.retry()).toBe(false);
  });
  test('forgets a message once it no longer waits on the server, and not before', async () => {
    const outbox = new Outbox('s', async () => turn('t'), storage());
    await outbox.send('hello', [], 'queue');
    outbox.observe([], new Map());
    expect(outbox.messages, 'accepted after the server was asked').toHaveLength(1);
    outbox.observe(outbox.accepted, new Map([['t', 'queued']]));
    expect(outbox.messages, 'waits its turn').toHaveLength(1);
    outbox.observe(outbox.accepted, new Map([['other', 'running']]));
    expect(outbox.messages, 'shown, steered or removed').toHaveLength(0);
  });
  test('survives nonsense in the storage', () => {
    const store = storage();
    store.kept.set('ratchet.outbox.s', '{');
    expect(new Outbox('s', async () => turn('t'), store).messages).toEqual([]);
  });
});

describe('the state of a message', () => {
  const EVENTS: MessageEvent[] = [
    'attempted',
    'unreachable',
    'refused',
    'accepted',
    'queued',
    'started',
    'ended',
    'discarded',
  ];
  // One row per state, one column per event; a dot is an event that changes nothing.
  const TABLE: [MessageState, string][] = [
    ['sending', '. unsent refused accepted . . . discarded'],
    ['unsent', 'sending . . accepted . . . discarded'],
    ['refused', 'sending . . accepted . . . discarded'],
    ['accepted', '. . . . queued running ended .'],
    ['queued', '. . . . . running ended .'],
    ['running', '. . . . queued . ended .'],
    ['ended', '. . . . . . . .'],
    ['discarded', '. . . . . . . .'],
  ];
  const rows = TABLE.flatMap(([state, row]) =>
    row.split(' ').map((then, place) => [state, EVENTS[place]!, then === '.' ? state : then] as const),
  );
  test.each(rows)('%s, then %s: %s', (state, event, then) => {
    expect(nextState(state, event)).toBe(then);
  });

  const message = (state: MessageState, more: Partial<PendingMessage> = {}): PendingMessage => ({
    client_id: 'a',
    text: 'a',
    files: [],
    mode: 'queue',
    state,
    ...more,
  });
  test('is the same list when nothing changed', () => {
    const messages = [message('accepted', { turn: turn('t') })];
    expect(reduce(messages, { type: 'unreachable', id: 'a', problem: offline })).toBe(messages);
    expect(reduce(messages, { type: 'attempted', id: 'other' })).toBe(messages);
    expect(reduce(messages, { type: 'observed', accepted: [], live: new Map() })).toBe(messages);
  });
  test('follows its turn on the server until that has ended', () => {
    let messages = [message('accepted', { turn: turn('t') })];
    const observe = (live: [string, 'queued' | 'running'][]) => {
      messages = reduce(messages, { type: 'observed', accepted: ['t'], live: new Map(live) });
      return messages.map(({ state }) => state);
    };
    expect(observe([['t', 'queued']])).toEqual(['queued']);
    expect(observe([['t', 'running']])).toEqual(['running']);
    expect(observe([])).toEqual([]);
  });
  test('forgets the problem of an earlier attempt', () => {
    const messages = [message('unsent', { problem: offline })];
    expect(reduce(messages, { type: 'attempted', id: 'a' })).toMatchObject([{ state: 'sending', problem: undefined }]);
  });
  test('of a message the person took back, nothing is left', () => {
    expect(reduce([message('refused')], { type: 'discarded', id: 'a' })).toEqual([]);
  });
});

describe('what waits', () => {
  const message = (id: string, change: Partial<PendingMessage> = {}): PendingMessage => ({
    client_id: id,
    text: id,
    files: [],
    mode: 'queue',
    state: 'sending',
    ...change,
  });
  const none = new Set<string>();

  test('on an idle conversation a message on its way stands as the next one', () => {
    expect(arrange([message('a')], [], null, none)).toMatchObject({ next: { text: 'a' }, queued: [] });
  });
  test('while something else is answered it is queued', () => {
    expect(arrange([message('a')], [queued('q')], 'running', none)).toMatchObject({
      next: null,
      queued: [{ turn: 'q' }, { text: 'a' }],
    });
  });
  test('a message whose own turn runs stands as the next one until the conversation has it', () => {
    const sent = message('a', { state: 'accepted', turn: turn('t') });
    expect(arrange([sent], [], 't', none)).toMatchObject({ next: { turn: 't', state: 'running' } });
    expect(arrange([sent], [], 't', new Set(['t']))).toEqual({ next: null, queued: [] });
  });
  test('a queued turn and its message are one', () => {
    const sent = message('a', { state: 'accepted', turn: turn('q') });
    expect(arrange([sent], [queued('q')], null, none)).toMatchObject({
      next: { turn: 'q', clientId: 'a' },
      queued: [],
    });
  });
  test('queued turns without words of a person are not shown', () => {
    expect(arrange([], [{ ...turn('c'), message: null }], 'running', none)).toEqual({ next: null, queued: [] });
  });
});

test('work asked for while it runs is done once more, for all who asked', async () => {
  let runs = 0;
  const settle = singleFlight(async () => {
    runs += 1;
    await Promise.resolve();
  });
  await Promise.all([settle(), settle(), settle()]);
  expect(runs).toBe(2);
});

test('work that fails can be asked for again', async () => {
  let runs = 0;
  const settle = singleFlight(async () => {
    runs += 1;
    if (runs === 1) throw new Error('no');
  });
  await expect(settle()).rejects.toThrow('no');
  await settle();
  expect(runs).toBe(2);
});
