import { describe, expect, test } from 'vitest';
import { answered } from '../src/cards/bodies/Clarification';
import { readCall } from '../src/cards/call';
import { outcomeOf } from '../src/cards/tools';
import { begin, type Game, SIZE, step, turn } from '../src/cards/game/snake';
import { translator } from '../src/i18n';
import { en } from '../src/i18n/en';

const part = (more: object) =>
  ({ type: 'tool-web_fetch', toolCallId: 'c', input: {}, ...more }) as unknown as Parameters<typeof readCall>[0];

describe('a tool call', () => {
  test('is at work until it has an answer that is not preliminary', () => {
    expect(readCall(part({ state: 'input-streaming' })).state).toBe('working');
    const progress = readCall(
      part({ state: 'output-available', preliminary: true, output: { progress: 0.4, message: 'Almost' } }),
    );
    expect(progress).toMatchObject({
      tool: 'web_fetch',
      state: 'working',
      progress: 0.4,
      line: 'Almost',
      result: null,
    });
  });
  test('that asks for an approval has said what it asks', () => {
    const asked = readCall(
      part({
        state: 'approval-requested',
        approval: { id: 'r' },
        output: { type: 'review_required', message: 'May I?' },
      }),
    );
    expect(asked).toMatchObject({ state: 'done', line: 'May I?', result: { type: 'review_required' } });
  });
  test('that answers an error has failed', () => {
    expect(readCall(part({ state: 'output-available', output: { type: 'error', message: 'No' } })).state).toBe(
      'failed',
    );
    expect(readCall(part({ state: 'output-error', errorText: 'Cut off' }))).toMatchObject({
      state: 'failed',
      line: 'Cut off',
    });
  });
  test.each([null, 'text', 7, [1], { type: 3 }])('whose answer is %j is shown all the same', (output) => {
    expect(readCall(part({ state: 'output-available', output })).state).toBe('done');
  });
});

test('what the body of a card shows is not said above it once more', () => {
  const quiet = (type: string) =>
    outcomeOf('write_workspace_file', { type, message: 'Saved as ideas.txt.' }, translator(en, 'en')).quiet;
  expect(quiet('workspace_file_written')).toBe(true);
  expect(quiet('no_results')).toBe(false);
});

test('one answer is said as it is, several say what they answer', () => {
  const question = (keyword: string) => ({ question: 'Which?', options: [], keyword });
  expect(answered([question('')], [' red '])).toBe('red');
  expect(answered([question('colour'), question('')], ['red', 'two'])).toBe('colour: red\nWhich?: two');
});

describe('the game', () => {
  const food = (game: Game, x: number, y: number): Game => ({ ...game, food: { x, y } });
  test('grows by eating', () => {
    const fed = step(
      food(
        begin(() => 0),
        6,
        8,
      ),
      () => 0,
    );
    expect(fed).toMatchObject({ score: 1, over: false });
    expect(fed.snake).toHaveLength(4);
  });
  test('does not turn back on itself', () => {
    expect(turn(begin(), 'left').heading).toBe('right');
    expect(turn(begin(), 'up').heading).toBe('up');
  });
  test('ends at the wall, and stays ended', () => {
    let game = food(begin(), 0, 0);
    for (let count = 0; count < SIZE; count += 1) game = step(game);
    expect(game.over).toBe(true);
    expect(step(game)).toBe(game);
  });
});
