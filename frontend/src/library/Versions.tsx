import { useState } from 'react';
import { Button } from '../components/Button';
import { Confirm } from '../components/Dialog';
import { Ago, Badge, Failed, Loading } from '../components/Pieces';
import { useT } from '../i18n';
import { queryClient, usePages } from '../api/queries';
import { errorText } from '../api/errorText';
import { type AgentDetail, libraryApi, type Version } from './api';
import { DifferenceView } from './DifferenceView';
import { More, useAttempt } from './Screen';

/** The versions of an agent with their changes, and rollback. */
export function Versions({ agent }: { agent: AgentDetail }) {
  const t = useT();
  const { data, error, refetch, more, busy } = usePages(['agent', agent.id, 'versions', agent.version], (cursor) =>
    libraryApi.versions(agent.id, cursor),
  );
  if (error) return <Failed words={errorText(error, t)} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <>
      <ol className="flex flex-col gap-3">
        {data.map((version, place) => (
          <Row key={version.version} agent={agent} version={version} older={data[place + 1]} newest={place === 0} />
        ))}
      </ol>
      <More more={more} busy={busy} />
    </>
  );
}

function Row({
  agent,
  version,
  older,
  newest,
}: {
  agent: AgentDetail;
  version: Version;
  older?: Version;
  newest: boolean;
}) {
  const t = useT();
  const [open, setOpen] = useState(false);
  const [asking, setAsking] = useState(false);
  const attempt = useAttempt();
  const back = async () => {
    await attempt(libraryApi.rollback(agent.id, version.version));
    await queryClient.invalidateQueries({ queryKey: ['agent', agent.id] });
  };
  return (
    <li className="panel p-4 text-sm">
      <div className="flex flex-wrap items-center gap-2">
        <span className="font-medium">{t('agents.version', { version: version.version })}</span>
        {newest && <Badge tone="busy">{t('agent.newest')}</Badge>}
        {!version.valid && <Badge tone="attention">{t('agents.invalid')}</Badge>}
        <span className="text-[13px] text-quiet">
          <Ago when={version.created_at} />
        </span>
        <span className="ml-auto flex gap-2">
          {older && (
            <Button small aria-expanded={open} onClick={() => setOpen(!open)}>
              {t('agent.changes')}
            </Button>
          )}
          {!newest && (
            <Button small icon="refresh" onClick={() => setAsking(true)}>
              {t('agent.rollback')}
            </Button>
          )}
        </span>
      </div>
      {version.note && <p className="pt-1 text-quiet">{version.note}</p>}
      {open && older && <DifferenceView agent={agent.id} from={older.version} to={version.version} />}
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        onConfirm={() => void back()}
        title={t('agent.rollbackTitle', { version: version.version })}
        about={t('agent.rollbackAbout')}
        action={t('agent.rollback')}
      />
    </li>
  );
}
