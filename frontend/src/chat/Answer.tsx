import type { ToolUIPart } from 'ai';
import { memo, useState } from 'react';
import { ToolCard } from '../cards/ToolCard';
import { Button, IconButton } from '../components/Button';
import { classes } from '../components/classes';
import { Confirm } from '../components/Dialog';
import { Icon } from '../components/icons';
import { CopyButton, Notice } from '../components/Pieces';
import { useT } from '../i18n';
import { useFormat } from '../i18n/format';
import { inReadingOrder } from '../messages/answerParts';
import { textOf } from '../messages/history';
import type { ChatMessage, Metadata, Part } from '../api/types';
import { endingText } from '../api/errorText';
import { SeenContext } from './Attached';
import { Footnotes } from './Footnotes';
import { Markdown } from '../markdown/Markdown';
import { Reasoning } from './Reasoning';
import { ModelMenu } from './ModelPicker';
import { type Models, useChoice, useModelName } from './models';
import { useCannedReplies } from './cannedReplies';
import { useConversationActions } from './conversationActions';
import { ForkButton } from './ForkButton';
import { VersionSwitch } from './VersionSwitch';

/** `cameBack`: a continuation after long work. `open`: the user has not answered since, so its forms can still be submitted. `reply`: what the user said next. */
type Props = {
  message: ChatMessage;
  live: boolean;
  last: boolean;
  open: boolean;
  seen?: ReadonlySet<string>;
  cameBack?: boolean;
  reply?: string;
  far?: boolean;
};

export const Answer = memo(function Answer({ message, live, last, open, seen, cameBack, far, reply }: Props) {
  const t = useT();
  const turn = message.metadata?.turn_id ?? '';
  return (
    <article
      className={classes('min-w-0', far && 'far')}
      data-message={message.id}
      aria-label={t('chat.answer')}
      aria-busy={live}
    >
      {cameBack && (
        <p className="mb-3 flex items-center gap-2 text-[13px] text-quiet">
          <Icon name="back" size={15} /> {t('chat.cameBack')}
        </p>
      )}
      <SeenContext value={live ? null : (seen ?? null)}>
        <div className="flex flex-col gap-3.5">
          {inReadingOrder(message.parts).map(({ part, key }) => (
            <OnePart key={key} part={part} live={live} open={open} turn={turn} message={message.id} reply={reply} />
          ))}
          <Footnotes parts={message.parts} />
          {!live && <Ending message={message} open={open && last} />}
        </div>
      </SeenContext>
      {!live && <Foot message={message} last={last} />}
    </article>
  );
});

type PartProps = { part: Part; live: boolean; open: boolean; turn: string; message: string; reply?: string };

function OnePart({ part, live, open, turn, message, reply }: PartProps) {
  const t = useT();
  if (part.type === 'text')
    return part.text ? <Markdown text={part.text} live={live && part.state === 'streaming'} /> : null;
  if (part.type === 'reasoning') return <Reasoning text={part.text} live={live && part.state === 'streaming'} />;
  if (part.type.startsWith('tool-'))
    return <ToolCard part={part as ToolUIPart} turn={turn} message={message} live={live} open={open} reply={reply} />;
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
function Ending({ message, open }: { message: ChatMessage; open: boolean }) {
  const t = useT();
  const { busy, regenerate } = useConversationActions();
  const { status, end_reason: reason, error } = message.metadata ?? {};
  if (reason === 'length') return <CutShort open={open} />;
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

/** An answer as long as the model may write: it says so, and goes on when asked to. */
function CutShort({ open }: { open: boolean }) {
  const t = useT();
  const { busy, say } = useConversationActions();
  const cannedReply = useCannedReplies();
  return (
    <Notice
      icon="info"
      action={
        open &&
        !busy && (
          <Button small icon="right" onClick={() => say(cannedReply('say.continue'))}>
            {t('chat.continue')}
          </Button>
        )
      }
    >
      {t('ending.length')}
    </Notice>
  );
}

function Foot({ message, last }: { message: ChatMessage; last: boolean }) {
  const format = useFormat();
  const { busy } = useConversationActions();
  const choice = useChoice();
  const nameOf = useModelName();
  const { usage, model, created_at: at } = message.metadata ?? {};
  const cost = Number(usage?.cost ?? 0);
  const facts = [model && choice && nameOf(model), cost > 0 && format.money(cost), at && format.clock(at)].filter(
    Boolean,
  );
  return (
    <div
      className={classes(
        'mt-1.5 -ml-1.5 flex h-7 items-center gap-0.5 text-quiet',
        !last && !message.versions && 'on-hover [article:hover>&]:opacity-100',
      )}
    >
      <CopyButton text={() => textOf(message)} />
      {!busy && <AnswerAgain message={message} choice={choice} last={last} />}
      {!busy && <ForkButton message={message.id} />}
      <VersionSwitch versions={message.versions} of="answer" />
      <span className="px-1.5 text-xs">
        {facts.join(' · ')}
        {usage && usage.output_tokens > 0 && <Tokens usage={usage} />}
      </span>
    </div>
  );
}

/** What the model wrote; on hover also what it read, which is mostly the conversation and the tools it may call. */
function Tokens({ usage }: { usage: NonNullable<Metadata['usage']> }) {
  const t = useT();
  const read = t('chat.tokensRead', { count: usage.input_tokens });
  const cached = usage.cached_tokens ? `, ${t('chat.cached', { count: usage.cached_tokens })}` : '';
  return <span title={read + cached}> · {t('chat.tokensWritten', { count: usage.output_tokens })}</span>;
}

/** Ask once more: at once, or with a model to choose where there are several. The answer that stands is kept. */
function AnswerAgain({ message, choice, last }: { message: ChatMessage; choice: Models | undefined; last: boolean }) {
  const t = useT();
  const { regenerate } = useConversationActions();
  const [asking, setAsking] = useState<{ model?: string } | null>(null);
  const again = (model?: string) => (last ? regenerate(message.id, model) : setAsking({ model }));
  const button = (
    <IconButton
      icon="refresh"
      size="small"
      label={t('chat.regenerate')}
      {...(choice ? {} : { onClick: () => again() })}
    />
  );
  return (
    <>
      {choice ? (
        <ModelMenu models={choice} picked="" title={t('model.again')} onPick={again} trigger={button} />
      ) : (
        button
      )}
      <Confirm
        open={asking !== null}
        onClose={() => setAsking(null)}
        onConfirm={() => regenerate(message.id, asking?.model)}
        title={t('chat.regenerateTitle')}
        about={t('chat.regenerateAbout')}
        action={t('chat.regenerate')}
      />
    </>
  );
}
