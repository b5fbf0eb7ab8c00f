// The to-do list that the model keeps: in its card, and in one line above the composer.
import { classes } from '../../components/classes';
import { Icon } from '../../components/icons';
import { type Key, useT } from '../../i18n';
import { field, list, text } from '../../api/looseValues';
import type { ChatMessage } from '../../api/types';
import type { BodyProps } from './index';

type Todo = { text: string; status: string };

const STATES: Record<string, Key> = { done: 'todos.done', in_progress: 'todos.doing', pending: 'todos.open' };

const readTodos = (value: unknown): Todo[] =>
  list(value).map((item) => ({ text: text(field(item, 'text')), status: text(field(item, 'status')) }));

export function TodoList({ result }: BodyProps) {
  const t = useT();
  return (
    <ul className="flex flex-col gap-1.5">
      {readTodos(result.items).map((item, place) => (
        <li key={place} className="flex items-start gap-2.5">
          <Mark status={item.status} />
          <span
            className={classes(
              'min-w-0 break-words',
              item.status === 'done' && 'text-quiet line-through',
              item.status === 'in_progress' && 'font-medium',
            )}
          >
            {item.text}
            <span className="sr-only"> ({t(STATES[item.status] ?? 'todos.open')})</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

function Mark({ status }: { status: string }) {
  return (
    <span
      aria-hidden
      className={classes(
        'mt-0.5 flex size-4.5 shrink-0 items-center justify-center rounded-full border',
        status === 'done' ? 'border-accent bg-accent text-on-accent' : 'border-line',
        status === 'in_progress' && 'border-accent',
      )}
    >
      {status === 'done' && <Icon name="check" size={12} />}
      {status === 'in_progress' && <span className="size-2 rounded-full bg-accent" />}
    </span>
  );
}

/** The newest list of a conversation in one line, until all of it is done. */
export function TodoLine({ messages }: { messages: ChatMessage[] }) {
  const t = useT();
  const items = newestList(messages);
  const done = items.filter((item) => item.status === 'done').length;
  if (items.length === 0 || done === items.length) return null;
  const doing = items.find((item) => item.status === 'in_progress') ?? items.find((item) => item.status !== 'done');
  return (
    <p className="mx-auto flex w-full max-w-3xl items-center gap-2 px-5 pb-2 text-[13px] text-quiet" data-todos>
      <Icon name="list" size={15} />
      <span className="shrink-0">{t('todos.progress', { done, count: items.length })}</span>
      <span className="min-w-0 truncate">{doing?.text}</span>
    </p>
  );
}

function newestList(messages: ChatMessage[]): Todo[] {
  for (const message of messages.toReversed()) {
    for (const part of message.parts.toReversed()) {
      if (part.type === 'tool-update_todo_list' && 'output' in part && field(part.output, 'type') === 'todo_list')
        return readTodos(field(part.output, 'items'));
    }
  }
  return [];
}
