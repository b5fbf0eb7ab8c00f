// The actions on an agent: run, describe, schedule, trigger, publish, delete.
import { useState } from 'react';
import { useLocation } from 'wouter';
import { Button, IconButton } from '../components/Button';
import { Confirm, Dialog } from '../components/Dialog';
import { TextArea, TextField } from '../components/Field';
import { Menu } from '../components/Menu';
import { useT } from '../i18n';
import { ApiError } from '../api/http';
import { newId } from '../browser/ids';
import { queryClient } from '../api/queries';
import { toast } from '../app/toasts';
import { errorText } from '../api/errorText';
import { type AgentDetail, libraryApi } from './api';
import { NewSchedule } from './NewSchedule';
import { NewTrigger } from './NewTrigger';
import { problemsIn } from './schema';
import { SchemaForm } from './SchemaForm';
import { useAttempt } from './Screen';

/** The input form of an agent; a repeated submit starts one run. */
export function Run({ agent }: { agent: AgentDetail }) {
  const t = useT();
  const [, go] = useLocation();
  const [wish, setWish] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const run = async (values: Record<string, unknown>) => {
    setBusy(true);
    setProblems({});
    try {
      const started = await libraryApi.execute(agent.id, values, wish!);
      go(`/library/runs/${started.id}`);
    } catch (error) {
      const fields = error instanceof ApiError ? problemsIn(error.fields) : {};
      setProblems(Object.keys(fields).length ? fields : { '': errorText(error, t) });
    }
    setBusy(false);
  };
  return (
    <>
      <Button look="strong" icon="play" disabled={!agent.valid} onClick={() => setWish(newId())}>
        {t('agent.run')}
      </Button>
      <Dialog open={wish !== null} onClose={() => setWish(null)} title={t('agent.runTitle', { name: agent.name })}>
        <SchemaForm
          schema={agent.input_schema}
          action={t('agent.run')}
          busy={busy}
          problems={problems}
          onSubmit={(values) => void run(values)}
        />
      </Dialog>
    </>
  );
}

export function More({ agent }: { agent: AgentDetail }) {
  const t = useT();
  const [, go] = useLocation();
  const [open, setOpen] = useState<'delete' | 'describe' | 'schedule' | 'trigger' | null>(null);
  const attempt = useAttempt();
  const remove = async () => {
    await attempt(libraryApi.removeAgent(agent.id));
    await queryClient.invalidateQueries({ queryKey: ['agents'] });
    go('/library');
  };
  const publish = async () => {
    const listing = await attempt(libraryApi.publish(agent.id));
    if (listing) toast(t('agent.published', { name: `${listing.username}/${listing.slug}` }));
  };
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
          { label: t('agent.publish'), icon: 'store', onSelect: () => void publish() },
          'line',
          { label: t('agent.delete'), icon: 'trash', danger: true, onSelect: () => setOpen('delete') },
        ]}
      />
      {open === 'describe' && <Describe agent={agent} onClose={close} />}
      {open === 'schedule' && <NewSchedule agent={agent} onClose={close} />}
      {open === 'trigger' && <NewTrigger agent={agent} onClose={close} />}
      <Confirm
        open={open === 'delete'}
        onClose={close}
        onConfirm={() => void remove()}
        title={t('agent.deleteTitle')}
        about={t('agent.deleteAbout', { name: agent.name })}
        action={t('agent.delete')}
      />
    </>
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
