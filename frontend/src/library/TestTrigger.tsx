import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { queryClient } from '../api/queries';
import { Button } from '../components/Button';
import { Dialog } from '../components/Dialog';
import { TextArea } from '../components/Field';
import { Loading, Notice } from '../components/Pieces';
import { useT } from '../i18n';
import { type Delivery, libraryApi, type Schema, type Trigger } from './api';
import { fieldsOf } from './schema';
import { useAttempt } from './Screen';

/** Calls a trigger from here with data to change, and says what came of it. */
export function TestTrigger({ trigger, onClose }: { trigger: Trigger; onClose: () => void }) {
  const t = useT();
  const { data } = useQuery({
    queryKey: ['agent', trigger.agent_id],
    queryFn: () => libraryApi.agent(trigger.agent_id),
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={t('triggers.testTitle', { name: trigger.name })}
      about={t('triggers.testAbout')}
    >
      {data ? <Form trigger={trigger} schema={data.input_schema} /> : <Loading />}
    </Dialog>
  );
}

function Form({ trigger, schema }: { trigger: Trigger; schema: Schema }) {
  const t = useT();
  const attempt = useAttempt();
  const [text, setText] = useState(() => JSON.stringify(sampleOf(schema), null, 2));
  const [problem, setProblem] = useState('');
  const [made, setMade] = useState<Delivery | null>(null);
  const test = async () => {
    const payload = parsed(text);
    setProblem(payload ? '' : t('form.noJson'));
    if (!payload) return;
    setMade((await attempt(libraryApi.testTrigger(trigger.id, payload))) ?? null);
    await queryClient.invalidateQueries({ queryKey: ['deliveries', trigger.id] });
  };
  return (
    <form action={test} className="flex flex-col gap-4">
      <TextArea
        label={t('triggers.payload')}
        className="font-mono text-xs"
        rows={6}
        value={text}
        problem={problem}
        onChange={(event) => setText(event.target.value)}
      />
      {made && (
        <Notice tone={made.error ? 'wrong' : 'good'} icon={made.error ? 'warning' : 'check'}>
          {made.error || t('triggers.testStarted')}{' '}
          {made.execution_id && (
            <Link href={`/library/runs/${made.execution_id}`} className="link">
              {t('card.openRun')}
            </Link>
          )}
        </Notice>
      )}
      <Button look="strong" icon="play" type="submit" className="self-start">
        {t('triggers.test')}
      </Button>
    </form>
  );
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** An example of what the agent takes. */
function sampleOf(schema: Schema): Record<string, unknown> {
  return Object.fromEntries(
    fieldsOf(schema).map((one) => [
      one.name,
      one.initial || (one.kind === 'number' ? 1 : one.kind === 'flag' ? true : (one.choices[0] ?? '…')),
    ]),
  );
}
