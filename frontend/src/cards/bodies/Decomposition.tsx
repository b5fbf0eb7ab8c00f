import { useCannedReplies } from '../../chat/cannedReplies';
import { useConversationActions } from '../../chat/conversationActions';
import { Button } from '../../components/Button';
import { Badge } from '../../components/Pieces';
import { useT } from '../../i18n';
import { field, list, text } from '../../api/looseValues';
import type { BodyProps } from './index';

/** A plan for approval. */
export function Decomposition({ result, active }: BodyProps) {
  const t = useT();
  const { say } = useConversationActions();
  const cannedReply = useCannedReplies();
  return (
    <div className="flex flex-col gap-3">
      <p className="font-medium">{text(result.goal)}</p>
      <ol className="flex flex-col gap-2">
        {list(result.steps).map((step, place) => (
          <li key={place} className="flex items-start gap-3">
            <span className="flex size-6 shrink-0 items-center justify-center rounded-full bg-accent-soft text-xs font-semibold text-accent-text">
              {place + 1}
            </span>
            <span className="min-w-0 pt-0.5">{text(field(step, 'description'))}</span>
            {text(field(step, 'block_name')) && <Badge>{text(field(step, 'block_name'))}</Badge>}
          </li>
        ))}
      </ol>
      {active && result.requires_approval === true && (
        <Button look="strong" icon="check" className="self-start" onClick={() => say(cannedReply('say.planIsFine'))}>
          {t('card.approvePlan')}
        </Button>
      )}
    </div>
  );
}
