import { useState } from 'react';
import { useLocation } from 'wouter';
import { Dialog } from '../components/Dialog';
import { SelectField, TextField } from '../components/Field';
import { type Key, useT } from '../i18n';
import { ApiError } from '../api/http';
import { queryClient } from '../api/queries';
import { errorText } from '../api/errorText';
import { type AgentDetail, libraryApi, type Schedule } from './api';
import { problemsIn } from './schema';
import { SchemaForm } from './SchemaForm';

const TIMES: [string, Key][] = [
  ['0 9 * * *', 'schedules.daily'],
  ['0 9 * * mon-fri', 'schedules.weekdays'],
  ['0 9 * * mon', 'schedules.weekly'],
  ['0 * * * *', 'schedules.hourly'],
  ['', 'schedules.custom'],
];

type Props = { agent: Pick<AgentDetail, 'id' | 'name' | 'input_schema'>; schedule?: Schedule; onClose: () => void };

/** Makes a schedule for an agent, or changes the given one. */
export function NewSchedule({ agent, schedule, onClose }: Props) {
  const t = useT();
  const [, go] = useLocation();
  const [name, setName] = useState(schedule?.name ?? agent.name);
  const [cron, setCron] = useState(schedule?.cron ?? TIMES[0]![0]);
  const [chosen, setChosen] = useState(() => TIMES.find(([value]) => value === cron)?.[0] ?? '');
  const [timezone, setTimezone] = useState(schedule?.timezone ?? '');
  const [busy, setBusy] = useState(false);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const make = async (inputs: Record<string, unknown>) => {
    setBusy(true);
    try {
      const given = { name, cron, inputs, ...(timezone ? { timezone } : {}) };
      await (schedule
        ? libraryApi.changeSchedule(schedule.id, given)
        : libraryApi.makeSchedule({ ...given, agent_id: agent.id }));
      await queryClient.invalidateQueries({ queryKey: ['schedules'] });
      onClose();
      go('/library/schedules');
    } catch (error) {
      const fields = error instanceof ApiError ? problemsIn(error.fields) : {};
      setProblems(Object.keys(fields).length ? fields : { '': errorText(error, t) });
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={t(schedule ? 'schedules.editTitle' : 'schedules.newTitle', { name: agent.name })}
    >
      <div className="flex flex-col gap-4">
        <TextField
          label={t('common.name')}
          value={name}
          problem={problems.name}
          onChange={(event) => setName(event.target.value)}
        />
        <SelectField
          label={t('schedules.when')}
          choices={TIMES.map(([value, label]) => ({ value, label: t(label) }))}
          value={chosen}
          onChange={(event) => {
            setChosen(event.target.value);
            if (event.target.value) setCron(event.target.value);
          }}
        />
        {chosen === '' && (
          <TextField
            label={t('schedules.cron')}
            about={t('schedules.cronAbout')}
            className="font-mono"
            value={cron}
            problem={problems.cron}
            onChange={(event) => setCron(event.target.value)}
          />
        )}
        {schedule && (
          <TextField
            label={t('schedules.timezone')}
            value={timezone}
            problem={problems.timezone}
            onChange={(event) => setTimezone(event.target.value)}
          />
        )}
        <SchemaForm
          schema={agent.input_schema}
          given={schedule?.inputs}
          action={t(schedule ? 'common.save' : 'schedules.make')}
          busy={busy}
          problems={problems}
          onSubmit={(inputs) => void make(inputs)}
        />
      </div>
    </Dialog>
  );
}
