import type { ToolUIPart } from 'ai';
import { memo } from 'react';
import { ToolCard } from '../cards/ToolCard';
import { Button, IconButton } from '../components/Button';
import { classes } from '../components/classes';
import { Icon } from '../components/icons';
import { CopyButton, Notice } from '../components/Pieces';
import { useT } from '../i18n';
import { useFormat } from '../i18n/format';
import { textOf } from '../messages/history';
import type { ChatMessage, Part } from '../api/types';
import { endingText } from '../api/errorText';
import { SeenContext } from './Attached';
import { Footnotes } from './Footnotes';
import { Markdown } from '../markdown/Markdown';
import { Reasoning } from './Reasoning';
import { ModelMenu } from './ModelPicker';
import { type Models, useChoice, useModelName } from './models';
import { useConversationActions } from './conversationActions';
import { useVersions, type Versions } from './useVersions';

/** `cameBack`: a continuation after long work. `open`: the user has not answered since, so its forms can still be submitted. */
type Props = {
  message: ChatMessage;
  live: boolean;
  last: boolean;
  open: boolean;
  seen?: ReadonlySet<string>;
  cameBack?: boolean;
  far?: boolean;
};

export const Answer = memo(function Answer({ message, live, last, open, seen, cameBack, far }: Props) {
  const t = useT();
  const versions = useVersions(message);
  const { shown } = versions;
  const turn = shown.metadata?.turn_id ?? '';
  return (
    <article className={classes('min-w-0', far && 'far')} aria-label={t('chat.answer')} aria-busy={live}>
      {cameBack && (
        <p className="mb-3 flex items-center gap-2 text-[13px] text-quiet">
          <Icon name="back" size={15} /> {t('chat.cameBack')}
        </p>
      )}
      <SeenContext value={live ? null : (seen ?? null)}>
        <div className="flex flex-col gap-3.5">
          {shown.parts.map((part, place) => (
            <OnePart
              key={shown === message ? place : `${turn} ${place}`}
              part={part}
              live={live}
              open={open && shown === message}
              turn={turn}
              message={shown.id}
            />
          ))}
          <Footnotes parts={shown.parts} />
          {!live && <Ending message={shown} />}
        </div>
      </SeenContext>
      {!live && <Foot message={message} versions={versions} last={last} />}
    </article>
  );
});

type PartProps = { part: Part; live: boolean; open: boolean; turn: string; message: string };

function OnePart({ part, live, open, turn, message }: PartProps) {
  const t = useT();
  if (part.type === 'text')
    return part.text ? <Markdown text={part.text} live={live && part.state === 'streaming'} /> : null;
  if (part.type === 'reasoning') return <Reasoning text={part.text} live={live && part.state === 'streaming'} />;
  if (part.type.startsWith('tool-'))
    return <ToolCard part={part as ToolUIPart} turn={turn} message={message} live={live} open={open} />;
  if (part.type === 'data-steer') {
    return (
      <p className="ml-auto flex max-w-[85%] items-center gap-2 rounded-2xl bg-mine px-4 py-2 text-sm">
        <Icon name="steer" size={15} className="text-quiet" />
        <span className="sr-only">{t('chat.youSaid')}</span>
        {(part.data as { text: string }).text}
      </p>
    );
  }
  return null;
}

/** Why an answer ended early, and how to continue. */
function Ending({ message }: { message: ChatMessage }) {
  const t = useT();
  const { busy, regenerate } = useConversationActions();
  const { status, end_reason: reason, error } = message.metadata ?? {};
  if (status === 'cancelled') return <p className="text-sm text-quiet">{t('ending.cancelled')}</p>;
  if (status !== 'failed') return null;
  return (
    <Notice
      tone="wrong"
      icon="warning"
      action={
        !busy && (
          <Button small icon="refresh" onClick={() => regenerate(message.id)}>
            {t('chat.retry')}
          </Button>
        )
      }
    >
      {endingText(reason, error, t)}
    </Notice>
  );
}

function Foot({ message, versions, last }: { message: ChatMessage; versions: Versions; last: boolean }) {
  const t = useT();
  const format = useFormat();
  const { busy } = useConversationActions();
  const choice = useChoice();
  const nameOf = useModelName();
  const { usage, model, created_at: at } = versions.shown.metadata ?? {};
  const tokens = usage ? usage.input_tokens + usage.output_tokens : 0;
  const cost = Number(usage?.cost ?? 0);
  const facts = [
    model && choice && nameOf(model),
    tokens > 0 && t('chat.tokens', { count: tokens }),
    usage?.cached_tokens ? t('chat.cached', { count: usage.cached_tokens }) : '',
    cost > 0 && format.money(cost),
    at && format.clock(at),
  ].filter(Boolean);
  return (
    <div
      className={classes(
        'mt-1.5 -ml-1.5 flex h-7 items-center gap-0.5 text-quiet',
        !last && 'on-hover [article:hover>&]:opacity-100',
      )}
    >
      <CopyButton text={() => textOf(versions.shown)} />
      {!busy && <AnswerAgain message={message} choice={choice} />}
      {versions.count > 1 && <VersionSwitch versions={versions} />}
      <span className="px-1.5 text-xs">{facts.join(' · ')}</span>
    </div>
  );
}

/** Ask once more: at once, or with a model to choose where there are several. The answer that stands is kept. */
function AnswerAgain({ message, choice }: { message: ChatMessage; choice: Models | undefined }) {
  const t = useT();
  const { regenerate } = useConversationActions();
  if (!choice)
    return (
      <IconButton icon="refresh" size="small" label={t('chat.regenerate')} onClick={() => regenerate(message.id)} />
    );
  return (
    <ModelMenu
      models={choice}
      picked=""
      title={t('model.again')}
      onPick={(name) => regenerate(message.id, name)}
      trigger={<IconButton icon="refresh" size="small" label={t('chat.regenerate')} />}
    />
  );
}

function VersionSwitch({ versions: { place, count, turnTo } }: { versions: Versions }) {
  const t = useT();
  return (
    <span role="group" aria-label={t('versions.title')} className="flex items-center text-xs">
      <IconButton
        icon="left"
        size="small"
        label={t('versions.before')}
        disabled={place === 0}
        onClick={() => turnTo(place - 1)}
      />
      <span role="status">{t('versions.place', { place: place + 1, count })}</span>
      <IconButton
        icon="right"
        size="small"
        label={t('versions.after')}
        disabled={place === count - 1}
        onClick={() => turnTo(place + 1)}
      />
    </span>
  );
}
