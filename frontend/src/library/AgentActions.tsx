// The actions on an agent: run, describe, schedule, trigger, publish, delete.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { Button, IconButton } from '../components/Button';
import { Dialog } from '../components/Dialog';
import { Checkbox, TextArea, TextField } from '../components/Field';
import { Menu } from '../components/Menu';
import { useT } from '../i18n';
import { ApiError } from '../api/http';
import { newId } from '../browser/ids';
import { queryClient } from '../api/queries';
import { errorText } from '../api/errorText';
import { type AgentDetail, type Execution, libraryApi } from './api';
import { NewSchedule } from './NewSchedule';
import { NewTrigger } from './NewTrigger';
import { Publish } from './Publish';
import { fieldsOf, problemsIn } from './schema';
import { SchemaForm } from './SchemaForm';
import { useAttempt } from './Screen';

export function Run({ agent }: { agent: AgentDetail }) {
  const t = useT();
  const [wish, setWish] = useState<string | null>(null);
  return (
    <>
      <Button look="strong" icon="play" disabled={!agent.valid} onClick={() => setWish(newId())}>
        {t('agent.run')}
      </Button>
      {wish !== null && <RunDialog agent={agent} wish={wish} onClose={() => setWish(null)} />}
    </>
  );
}

/** The same agent once more, with the inputs of a run to start from. */
export function RunAgain({ execution }: { execution: Pick<Execution, 'agent_id' | 'inputs'> }) {
  const t = useT();
  const [wish, setWish] = useState<string | null>(null);
  const { data } = useQuery({
    queryKey: ['agent', execution.agent_id],
    queryFn: () => libraryApi.agent(execution.agent_id),
    enabled: wish !== null,
  });
  return (
    <>
      <Button icon="refresh" busy={wish !== null && !data} onClick={() => setWish(newId())}>
        {t('run.again')}
      </Button>
      {wish !== null && data && (
        <RunDialog agent={data} wish={wish} given={execution.inputs} onClose={() => setWish(null)} />
      )}
    </>
  );
}

type RunDialogProps = { agent: AgentDetail; wish: string; given?: Record<string, unknown>; onClose: () => void };

/** The input form of an agent; a repeated submit starts one run. */
function RunDialog({ agent, wish, given, onClose }: RunDialogProps) {
  const t = useT();
  const [, go] = useLocation();
  const [busy, setBusy] = useState(false);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const run = async (values: Record<string, unknown>) => {
    setBusy(true);
    setProblems({});
    try {
      const started = await libraryApi.execute(agent.id, values, wish);
      onClose();
      go(`/library/runs/${started.id}`);
      return;
    } catch (error) {
      const fields = error instanceof ApiError ? problemsIn(error.fields) : {};
      setProblems(Object.keys(fields).length ? fields : { '': errorText(error, t) });
    }
    setBusy(false);
  };
  return (
    <Dialog open onClose={onClose} title={t('agent.runTitle', { name: agent.name })}>
      <SchemaForm
        schema={agent.input_schema}
        given={known(agent, given)}
        action={t('agent.run')}
        busy={busy}
        problems={problems}
        onSubmit={(values) => void run(values)}
      />
    </Dialog>
  );
}

/** The values that the newest version still takes. A secret is never shown again, so it is entered anew. */
function known(agent: AgentDetail, given: Record<string, unknown> = {}): Record<string, unknown> {
  const open = fieldsOf(agent.input_schema).filter((one) => one.kind !== 'secret');
  return Object.fromEntries(open.filter((one) => one.name in given).map((one) => [one.name, given[one.name]]));
}

export function More({ agent }: { agent: AgentDetail }) {
  const t = useT();
  const [open, setOpen] = useState<'delete' | 'describe' | 'publish' | 'schedule' | 'trigger' | null>(null);
  const close = () => setOpen(null);
  return (
    <>
      <Menu
        trigger={<IconButton icon="more" look="plain" label={t('agent.more')} />}
        entries={[
          { label: t('agent.describe'), icon: 'pencil', onSelect: () => setOpen('describe') },
          { label: t('agent.schedule'), icon: 'clock', onSelect: () => setOpen('schedule') },
          { label: t('agent.trigger'), icon: 'bolt', onSelect: () => setOpen('trigger') },
          'line',
          { label: t('agent.export'), icon: 'download', href: libraryApi.exportUrl(agent.id), download: true },
          { label: t('agent.publish'), icon: 'store', onSelect: () => setOpen('publish') },
          'line',
          { label: t('agent.delete'), icon: 'trash', danger: true, onSelect: () => setOpen('delete') },
        ]}
      />
      {open === 'describe' && <Describe agent={agent} onClose={close} />}
      {open === 'schedule' && <NewSchedule agent={agent} onClose={close} />}
      {open === 'trigger' && <NewTrigger agent={agent} onClose={close} />}
      {open === 'publish' && <Publish agent={agent} onClose={close} />}
      {open === 'delete' && <DeleteAgent agent={agent} onClose={close} />}
    </>
  );
}

/** Deletes an agent after saying what else that ends. */
function DeleteAgent({ agent, onClose }: { agent: AgentDetail; onClose: () => void }) {
  const t = useT();
  const [, go] = useLocation();
  const attempt = useAttempt();
  const [withdraws, setWithdraws] = useState(true);
  const { data: uses } = useQuery({ queryKey: ['agent', agent.id, 'uses'], queryFn: () => libraryApi.uses(agent.id) });
  const listings = uses?.listings ?? [];
  const remove = async () => {
    for (const name of withdraws ? listings : []) {
      const [username = '', slug = ''] = name.split('/');
      if ((await attempt(libraryApi.withdraw(username, slug).then(() => true))) === undefined) return;
    }
    if ((await attempt(libraryApi.removeAgent(agent.id).then(() => true))) === undefined) return;
    await queryClient.invalidateQueries({ queryKey: ['agents'] });
    go('/library');
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={t('agent.deleteTitle')}
      about={t('agent.deleteAbout', { name: agent.name })}
      foot={
        <>
          <Button onClick={onClose} data-first>
            {t('common.cancel')}
          </Button>
          <Button look="danger" disabled={!uses} onClick={() => void remove()}>
            {t('agent.delete')}
          </Button>
        </>
      }
    >
      {uses && (
        <ul className="flex list-disc flex-col gap-1 pl-5 text-sm">
          {uses.schedules > 0 && <li>{t('agent.deleteSchedules', { count: uses.schedules })}</li>}
          {uses.triggers > 0 && <li>{t('agent.deleteTriggers', { count: uses.triggers })}</li>}
          {listings.length > 0 && <li>{t('agent.deleteListing', { name: listings.join(', ') })}</li>}
        </ul>
      )}
      {listings.length > 0 && (
        <div className="pt-3">
          <Checkbox
            label={t('agent.deleteWithdraw')}
            checked={withdraws}
            onChange={(event) => setWithdraws(event.target.checked)}
          />
        </div>
      )}
    </Dialog>
  );
}

function Describe({ agent, onClose }: { agent: AgentDetail; onClose: () => void }) {
  const t = useT();
  const [name, setName] = useState(agent.name);
  const [description, setDescription] = useState(agent.description);
  const attempt = useAttempt();
  const save = async () => {
    if (!(await attempt(libraryApi.changeAgent(agent.id, { name, description })))) return;
    await queryClient.invalidateQueries({ queryKey: ['agent', agent.id] });
    onClose();
  };
  return (
    <Dialog open onClose={onClose} title={t('agent.describe')}>
      <form action={save} className="flex flex-col gap-4">
        <TextField
          label={t('common.name')}
          value={name}
          maxLength={200}
          onChange={(event) => setName(event.target.value)}
        />
        <TextArea
          label={t('agent.description')}
          value={description}
          onChange={(event) => setDescription(event.target.value)}
        />
        <Button look="strong" type="submit" disabled={!name.trim()} className="self-start">
          {t('common.save')}
        </Button>
      </form>
    </Dialog>
  );
}
