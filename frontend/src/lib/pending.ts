// What a person sent and the conversation does not show yet: one may stand as the next message, the rest are queued.
import type { ApiError } from './http';
import type { Letter } from './outbox';
import type { QueuedTurn, SentMode, WorkspaceFile } from './types';

export type Pending = {
  key: string;
  text: string;
  files: WorkspaceFile[];
  fileCount: number;
  mode: SentMode;
  state: Letter['state'];
  turn?: string;
  letter?: string;
  problem?: ApiError;
};

export type Waiting = { next: Pending | null; queued: Pending[] };

/** `running` is the turn that is being answered, if any; `shown` are the turns whose input is in the conversation. */
export function waiting(letters: readonly Letter[], queued: readonly QueuedTurn[], running: string | null, shown: ReadonlySet<string>): Waiting {
  const ofTurn = new Map(letters.flatMap((letter) => (letter.turn ? [[letter.turn.id, letter] as const] : [])));
  const inLine = queued.filter((turn) => turn.message && !shown.has(turn.id)).map((turn) => fromTurn(turn, ofTurn.get(turn.id)));
  const listed = new Set(queued.map((turn) => turn.id));
  const rest = letters
    .filter((letter) => !letter.turn || (!listed.has(letter.turn.id) && !shown.has(letter.turn.id)))
    .map(fromLetter);
  const started = rest.filter((entry) => entry.turn !== undefined);
  const all = [...started.filter((entry) => entry.turn === running), ...inLine, ...rest.filter((entry) => entry.turn !== running || !entry.turn)];
  const [first, ...others] = all;
  if (first && (running === null || first.turn === running)) return { next: first, queued: others };
  return { next: null, queued: all };
}

function fromTurn(turn: QueuedTurn, letter: Letter | undefined): Pending {
  return {
    key: turn.id,
    text: turn.message?.content ?? '',
    files: letter?.files ?? [],
    fileCount: turn.message?.attachments.length ?? 0,
    mode: turn.while_running,
    state: 'sent',
    turn: turn.id,
    letter: letter?.client_id,
  };
}

function fromLetter(letter: Letter): Pending {
  return {
    key: letter.turn?.id ?? letter.client_id,
    text: letter.text,
    files: letter.files,
    fileCount: letter.files.length,
    mode: letter.mode,
    state: letter.state,
    turn: letter.turn?.id,
    letter: letter.client_id,
    problem: letter.problem,
  };
}
