import { useState } from 'react';
import { Button } from '../components/Button';
import { Dialog } from '../components/Dialog';
import { SelectField, TextField } from '../components/Field';
import { useT } from '../i18n';
import { queryClient } from '../api/queries';
import { type AgentDetail, libraryApi, type Trigger } from './api';
import { useAttempt } from './Screen';
import { SCHEMES, Shown } from './Triggers';

export function NewTrigger({ agent, onClose }: { agent: AgentDetail; onClose: () => void }) {
  const t = useT();
  const [name, setName] = useState(agent.name);
  const [scheme, setScheme] = useState('standard_webhooks');
  const [made, setMade] = useState<Trigger | null>(null);
  const attempt = useAttempt();
  const make = async () => {
    setMade((await attempt(libraryApi.makeTrigger({ name, agent_id: agent.id, scheme }))) ?? null);
    await queryClient.invalidateQueries({ queryKey: ['triggers'] });
  };
  return (
    <Dialog open onClose={onClose} title={t('triggers.newTitle', { name: agent.name })} about={t('triggers.newAbout')}>
      {made ? (
        <Shown trigger={made} />
      ) : (
        <form action={make} className="flex flex-col gap-4">
          <TextField label={t('common.name')} value={name} onChange={(event) => setName(event.target.value)} />
          <SelectField
            label={t('triggers.scheme')}
            choices={Object.entries(SCHEMES).map(([value, name]) => ({ value, label: t(name) }))}
            value={scheme}
            onChange={(event) => setScheme(event.target.value)}
          />
          <Button look="strong" type="submit" className="self-start" disabled={!name.trim()}>
            {t('triggers.make')}
          </Button>
        </form>
      )}
    </Dialog>
  );
}
