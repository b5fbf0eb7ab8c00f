import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { Button, IconButton } from '../components/Button';
import { Ago, Badge } from '../components/Pieces';
import { useT } from '../i18n';
import { useFormat } from '../i18n/format';
import { queryClient, usePages } from '../api/queries';
import { libraryApi, type Schedule } from './api';
import { NewSchedule } from './NewSchedule';
import { Heading, Listed, useAttempt } from './Screen';

export function Schedules() {
  const t = useT();
  const found = usePages(['schedules'], libraryApi.schedules);
  return (
    <>
      <Heading title={t('library.schedules')} about={t('schedules.about')} />
      <Listed answer={found} icon="clock" empty={t('schedules.none')} hint={t('schedules.hint')}>
        {(rows) => (
          <ul className="panel divide-y divide-line">
            {rows.map((schedule) => (
              <Row key={schedule.id} schedule={schedule} />
            ))}
          </ul>
        )}
      </Listed>
    </>
  );
}

/** The form of a schedule, once the inputs of its agent are known. */
function Edit({ schedule, onClose }: { schedule: Schedule; onClose: () => void }) {
  const { data } = useQuery({
    queryKey: ['agent', schedule.agent_id],
    queryFn: () => libraryApi.agent(schedule.agent_id),
  });
  return data ? <NewSchedule agent={data} schedule={schedule} onClose={onClose} /> : null;
}

function Row({ schedule }: { schedule: Schedule }) {
  const t = useT();
  const format = useFormat();
  const [, go] = useLocation();
  const attempt = useAttempt();
  const [editing, setEditing] = useState(false);
  const change = async (work: Promise<unknown>) => {
    await attempt(work);
    await queryClient.invalidateQueries({ queryKey: ['schedules'] });
  };
  const run = async () => {
    const started = await attempt(libraryApi.runSchedule(schedule.id));
    if (started) go(`/library/runs/${started.execution_id}`);
  };
  return (
    <li className="flex flex-wrap items-center gap-3 px-4 py-3 text-sm">
      <div className="min-w-0 flex-1">
        <p className="flex items-center gap-2 font-medium">
          <span className="truncate">{schedule.name}</span>
          {!schedule.enabled && <Badge>{t('common.off')}</Badge>}
        </p>
        <p className="text-[13px] text-quiet">
          {schedule.agent_removed ? (
            <>
              {schedule.agent_name} <Badge>{t('run.agentRemoved')}</Badge>
            </>
          ) : (
            <Link href={`/library/agents/${schedule.agent_id}`} className="link">
              {schedule.agent_name}
            </Link>
          )}{' '}
          · {schedule.words ?? schedule.cron}
        </p>
        <p className="text-[13px] text-quiet">
          {schedule.enabled &&
            schedule.next_run_at &&
            t('schedules.next', { when: format.moment(schedule.next_run_at) })}{' '}
          {schedule.enabled && schedule.next_run_at && <Ago when={schedule.next_run_at} />}
        </p>
        {schedule.last_error && <p className="text-[13px] text-wrong">{schedule.last_error}</p>}
      </div>
      {!schedule.agent_removed && (
        <>
          <Button small icon="play" onClick={() => void run()}>
            {t('schedules.runNow')}
          </Button>
          <Button small icon="pencil" onClick={() => setEditing(true)}>
            {t('schedules.edit')}
          </Button>
          <Button
            small
            aria-pressed={schedule.enabled}
            onClick={() => void change(libraryApi.changeSchedule(schedule.id, { enabled: !schedule.enabled }))}
          >
            {t(schedule.enabled ? 'common.switchOff' : 'common.switchOn')}
          </Button>
        </>
      )}
      {editing && <Edit schedule={schedule} onClose={() => setEditing(false)} />}
      <IconButton
        icon="trash"
        size="small"
        label={t('common.deleteNamed', { name: schedule.name })}
        onClick={() => void change(libraryApi.removeSchedule(schedule.id))}
      />
    </li>
  );
}
