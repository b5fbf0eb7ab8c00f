// Follow-ups: what the copilot will do later, and how to cancel it.
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/chat';
import { errorText } from '../../api/errorText';
import { field, list, text } from '../../api/looseValues';
import { queryClient } from '../../api/queries';
import { toast } from '../../app/toasts';
import { IconButton } from '../../components/Button';
import { Icon } from '../../components/icons';
import { Badge } from '../../components/Pieces';
import { useT } from '../../i18n';
import { useFormat } from '../../i18n/format';
import type { BodyProps } from './index';

export function FollowUp({ result }: BodyProps) {
  return <Line followUp={result.followup} />;
}

export function FollowUpList({ result }: BodyProps) {
  return (
    <ul className="flex flex-col gap-3">
      {list(result.followups).map((followUp, place) => (
        <li key={place}>
          <Line followUp={followUp} />
        </li>
      ))}
    </ul>
  );
}

/** Its state is fetched: it may have run, or have been cancelled, since it was shown to the model. */
function Line({ followUp }: { followUp: unknown }) {
  const t = useT();
  const format = useFormat();
  const id = text(field(followUp, 'followup_id'));
  const key = ['follow-up', id];
  const { data } = useQuery({ queryKey: key, queryFn: () => api.followUp(id), enabled: id !== '', retry: false });
  const over = data?.next_run_at === null;
  const next = text(field(followUp, 'next_run_at'));
  const when = text(field(followUp, 'cron')) || !next ? text(field(followUp, 'when')) : format.moment(next);
  const cancel = async () => {
    await api.cancelFollowUp(id).catch((error: unknown) => toast(errorText(error, t), 'wrong'));
    await queryClient.invalidateQueries({ queryKey: key });
  };
  return (
    <div className="flex items-start gap-2.5">
      <Icon name="clock" size={16} className="mt-0.5 shrink-0 text-quiet" />
      <div className="min-w-0 flex-1">
        <p className="break-words">{text(field(followUp, 'prompt'))}</p>
        <p className="flex flex-wrap items-center gap-2 text-[13px] text-quiet">
          {when}
          {field(followUp, 'new_session') === true && <Badge>{t('followUps.newSession')}</Badge>}
          {over && <Badge>{t('followUps.over')}</Badge>}
        </p>
        {data?.last_error && <p className="text-[13px] text-wrong">{data.last_error}</p>}
      </div>
      {data && !over && (
        <IconButton icon="close" size="small" label={t('followUps.cancel')} onClick={() => void cancel()} />
      )}
    </div>
  );
}
