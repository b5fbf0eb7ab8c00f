import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { errorText } from '../api/errorText';
import { queryClient } from '../api/queries';
import { toast } from '../app/toasts';
import { IconButton } from '../components/Button';
import { Confirm } from '../components/Dialog';
import { Ago } from '../components/Pieces';
import { useT } from '../i18n';
import { accountApi, type Grant } from './api';

const NAME = ['grants'];

/** Programs that the person has signed in to; nothing is shown while there are none. */
export function Grants() {
  const t = useT();
  const { data } = useQuery({ queryKey: NAME, queryFn: accountApi.grants });
  if (!data || data.results.length === 0) return null;
  return (
    <section aria-label={t('grants.title')} className="flex flex-col gap-3">
      <div>
        <h2 className="text-lg font-semibold">{t('grants.title')}</h2>
        <p className="text-sm text-quiet">{t('grants.about')}</p>
      </div>
      <ul className="panel divide-y divide-line">
        {data.results.map((grant) => (
          <GrantRow key={grant.id} row={grant} />
        ))}
      </ul>
    </section>
  );
}

function GrantRow({ row }: { row: Grant }) {
  const t = useT();
  const [asking, setAsking] = useState(false);
  const end = async () => {
    await accountApi.endGrant(row.id).catch((error: unknown) => toast(errorText(error, t), 'wrong'));
    await queryClient.invalidateQueries({ queryKey: NAME });
  };
  return (
    <li className="flex items-center gap-3 px-4 py-3 text-sm">
      <div className="min-w-0 flex-1">
        <p className="truncate font-medium">{row.name}</p>
        <p className="text-[13px] text-quiet">
          {t('keys.made')} <Ago when={row.created_at} /> · {t(row.last_used_at ? 'keys.used' : 'keys.neverUsed')}{' '}
          {row.last_used_at && <Ago when={row.last_used_at} />}
        </p>
      </div>
      <IconButton icon="trash" label={t('grants.end', { name: row.name })} onClick={() => setAsking(true)} />
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        onConfirm={() => void end()}
        title={t('grants.endTitle')}
        about={t('grants.endAbout', { name: row.name })}
        action={t('grants.endAction')}
      />
    </li>
  );
}
