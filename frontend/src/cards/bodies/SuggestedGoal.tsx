import { useConversationActions } from '../../chat/conversationActions';
import { Button } from '../../components/Button';
import { useT } from '../../i18n';
import { text } from '../../api/looseValues';
import type { BodyProps } from './index';

/** An achievable goal, suggested in place of one that is not. */
export function SuggestedGoal({ result, active }: BodyProps) {
  const t = useT();
  const { say } = useConversationActions();
  const goal = text(result.suggested_goal) || text(result.goal);
  const reason = text(result.reason);
  return (
    <div className="flex flex-col gap-3">
      {reason && <p className="text-quiet">{reason}</p>}
      <blockquote className="rounded-xl bg-accent-soft px-4 py-3 text-accent-text">{goal}</blockquote>
      {active && goal && (
        <Button look="strong" icon="check" className="self-start" onClick={() => say(goal)}>
          {t('card.useGoal')}
        </Button>
      )}
    </div>
  );
}
