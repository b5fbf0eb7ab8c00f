import type { DynamicToolUIPart, ToolUIPart } from 'ai';
import { memo, Suspense, useState } from 'react';
import { useCannedReplies } from '../chat/cannedReplies';
import { useConversationActions } from '../chat/conversationActions';
import { Boundary } from '../components/Boundary';
import { Button, IconButton, Spinner } from '../components/Button';
import { classes } from '../components/classes';
import { Icon } from '../components/icons';
import { Linked } from '../components/Linked';
import { Failed, Raw } from '../components/Pieces';
import { Progress } from '../components/Progress';
import { useT } from '../i18n';
import { bodyOf } from './bodies';
import { readCall, outputOf } from './call';
import { failedBuildOf, iconOf, labelOf, outcomeOf, wentWrong } from './tools';

type Props = {
  part: ToolUIPart | DynamicToolUIPart;
  turn: string;
  message: string;
  live: boolean;
  open: boolean;
  reply?: string;
};

/** One tool call: what it does, its progress and its result; the raw data is in a disclosure. */
export const ToolCard = memo(function ToolCard({ part, turn, message, live, open, reply }: Props) {
  const t = useT();
  const { busy, stopCall, regenerate } = useConversationActions();
  const [unfolded, setUnfolded] = useState(false);
  const call = readCall(part);
  const working = call.state === 'working';
  const failed = call.state === 'failed';
  const wrong = failed || (call.result !== null && wentWrong(call.result));
  const Body = call.result ? bodyOf(call.result.type) : null;
  const outcome = call.result && outcomeOf(call.tool, call.result, t);
  const failedBuild = failed ? failedBuildOf(call.tool, t) : null;
  const label = failedBuild ?? outcome?.label ?? labelOf(call.tool, call.state === 'done', t);
  const asks = outcome?.asks && open && !live;
  const line = outcome?.quiet ? '' : call.line;
  return (
    <section
      className={classes('panel overflow-hidden text-sm', wrong && 'border-wrong/40')}
      aria-label={label}
      aria-busy={working}
    >
      <div className="flex flex-wrap items-center gap-2.5 px-3.5 py-2.5">
        <span
          className={classes(
            'rounded-lg p-1.5',
            wrong ? 'bg-wrong-soft text-wrong' : asks ? 'bg-notice text-on-notice' : 'bg-hover text-quiet',
          )}
        >
          {working && live ? (
            <Spinner size={18} />
          ) : (
            <Icon name={wrong ? 'warning' : (outcome?.icon ?? iconOf(call.tool))} />
          )}
        </span>
        <div className="min-w-0 flex-1">
          <p className="line-clamp-2 font-medium">{label}</p>
          {line && (
            <p className={classes('text-[13px] break-words', failed ? 'text-wrong' : 'line-clamp-2 text-quiet')}>
              <Linked text={line} />
            </p>
          )}
        </div>
        {working && live && (
          <IconButton
            icon="close"
            size="small"
            label={t('card.stop')}
            onClick={() => stopCall(turn, part.toolCallId)}
          />
        )}
        {failed && !failedBuild && !Body && !busy && !live && open && (
          <Button small icon="refresh" className="max-sm:order-last max-sm:ml-10" onClick={() => regenerate(message)}>
            {t('common.tryAgain')}
          </Button>
        )}
        <button
          type="button"
          className="flex size-7 cursor-pointer items-center justify-center rounded-lg text-quiet hover:bg-hover hover:text-ink"
          aria-expanded={unfolded}
          aria-label={t('card.details')}
          onClick={() => setUnfolded(!unfolded)}
        >
          <Icon name="down" size={16} className={classes('transition-transform', unfolded && 'rotate-180')} />
        </button>
      </div>
      {working && live && (
        <div className="px-3.5 pb-3">
          <Progress share={call.progress} label={label} />
        </div>
      )}
      {Body && call.result && (
        <div className="border-t border-line px-3.5 py-3.5">
          <Boundary fallback={(again) => <Failed words={t('card.broken')} onRetry={again} />}>
            <Suspense fallback={<Spinner />}>
              <Body
                result={call.result}
                input={part.input}
                call={part.toolCallId}
                active={open && !live && !busy}
                reply={reply}
              />
            </Suspense>
          </Boundary>
        </div>
      )}
      {failedBuild && open && !live && <BuildAgain disabled={busy} />}
      {unfolded && <Details part={part} />}
    </section>
  );
}, same);

/** What to do about an agent that could not be built: ask for it again, or for less. */
function BuildAgain({ disabled }: { disabled: boolean }) {
  const t = useT();
  const { say } = useConversationActions();
  const cannedReply = useCannedReplies();
  return (
    <div className="flex flex-wrap gap-2 border-t border-line px-3.5 py-3">
      <Button small icon="refresh" disabled={disabled} onClick={() => say(cannedReply('say.buildAgain'))}>
        {t('common.tryAgain')}
      </Button>
      <Button small icon="bulb" disabled={disabled} onClick={() => say(cannedReply('say.simplifyGoal'))}>
        {t('card.simplifyGoal')}
      </Button>
    </div>
  );
}

/** Every delta of an answer creates new part objects; this compares their contents. */
function same(before: Props, now: Props): boolean {
  const [old, part] = [before.part as ToolUIPart, now.part as ToolUIPart];
  const shown =
    old.state === part.state &&
    old.input === part.input &&
    old.output === part.output &&
    old.errorText === part.errorText;
  return (
    shown &&
    before.live === now.live &&
    before.open === now.open &&
    before.message === now.message &&
    before.reply === now.reply
  );
}

function Details({ part }: { part: ToolUIPart | DynamicToolUIPart }) {
  const t = useT();
  const output = outputOf(part);
  return (
    <div className="flex flex-col gap-3 border-t border-line px-3.5 py-3">
      <div>
        <p className="pb-1 text-xs text-quiet">{t('card.input')}</p>
        <Raw value={part.input ?? {}} />
      </div>
      {output !== undefined && (
        <div>
          <p className="pb-1 text-xs text-quiet">{t('card.output')}</p>
          <Raw value={output} />
        </div>
      )}
    </div>
  );
}
