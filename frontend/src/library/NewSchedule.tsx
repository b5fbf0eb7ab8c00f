import { useState } from 'react';
import { useLocation } from 'wouter';
import { Dialog } from '../components/Dialog';
import { SelectField, TextField } from '../components/Field';
import { type Key, useT } from '../i18n';
import { ApiError } from '../api/http';
import { queryClient } from '../api/queries';
import { errorText } from '../api/errorText';
import { type AgentDetail, libraryApi } from './api';
import { problemsIn } from './schema';
import { SchemaForm } from './SchemaForm';

const TIMES: [string, Key][] = [
  ['0 9 * * *', 'schedules.daily'],
  ['0 9 * * mon-fri', 'schedules.weekdays'],
  ['0 9 * * mon', 'schedules.weekly'],
  ['0 * * * *', 'schedules.hourly'],
  ['', 'schedules.custom'],
];

export function NewSchedule({ agent, onClose }: { agent: AgentDetail; onClose: () => void }) {
  const t = useT();
  const [, go] = useLocation();
  const [name, setName] = useState(agent.name);
  const [chosen, setChosen] = useState(TIMES[0]![0]);
  const [cron, setCron] = useState(TIMES[0]![0]);
  const [busy, setBusy] = useState(false);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const make = async (inputs: Record<string, unknown>) => {
    setBusy(true);
    try {
      await libraryApi.makeSchedule({ name, agent_id: agent.id, cron, inputs });
      await queryClient.invalidateQueries({ queryKey: ['schedules'] });
      go('/library/schedules');
    } catch (error) {
      const fields = error instanceof ApiError ? problemsIn(error.fields) : {};
      setProblems(Object.keys(fields).length ? fields : { '': errorText(error, t) });
      setBusy(false);
    }
  };
  return (
    <Dialog open onClose={onClose} title={t('schedules.newTitle', { name: agent.name })}>
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
        <SchemaForm
          schema={agent.input_schema}
          action={t('schedules.make')}
          busy={busy}
          problems={problems}
          onSubmit={(inputs) => void make(inputs)}
        />
      </div>
    </Dialog>
  );
}
