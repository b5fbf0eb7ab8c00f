import { useState } from 'react';
import { Link } from 'wouter';
import { Button, IconButton } from '../components/Button';
import { Confirm } from '../components/Dialog';
import { Menu } from '../components/Menu';
import { Ago, Badge, CopyButton, Failed, Fold, Loading, Notice, Raw } from '../components/Pieces';
import { type Key, useT } from '../i18n';
import { queryClient, usePages } from '../api/queries';
import { errorText } from '../api/errorText';
import { libraryApi, type Trigger } from './api';
import { curlFor } from './curl';
import { Heading, Listed, More, useAttempt } from './Screen';
import { TestTrigger } from './TestTrigger';

export const SCHEMES: Record<string, Key> = {
  standard_webhooks: 'scheme.standard_webhooks',
  hmac_sha256: 'scheme.hmac_sha256',
  none: 'scheme.none',
};
const STATES: Record<string, Key> = {
  stored: 'delivery.stored',
  started: 'delivery.started',
  refused: 'delivery.refused',
  failed: 'delivery.failed',
};

export function Triggers() {
  const t = useT();
  const found = usePages(['triggers'], libraryApi.triggers);
  return (
    <>
      <Heading title={t('library.triggers')} about={t('triggers.about')} />
      <Listed answer={found} icon="bolt" empty={t('triggers.none')} hint={t('triggers.hint')}>
        {(rows) => (
          <ul className="flex flex-col gap-3">
            {rows.map((trigger) => (
              <Row key={trigger.id} trigger={trigger} />
            ))}
          </ul>
        )}
      </Listed>
    </>
  );
}

function Row({ trigger }: { trigger: Trigger }) {
  const t = useT();
  const [asking, setAsking] = useState(false);
  const [fresh, setFresh] = useState<Trigger | null>(null);
  const [testing, setTesting] = useState(false);
  const attempt = useAttempt();
  const change = async (work: Promise<unknown>) => {
    const answer = await attempt(work);
    await queryClient.invalidateQueries({ queryKey: ['triggers'] });
    return answer;
  };
  const rotate = async (what: 'address' | 'secret') =>
    setFresh(((await change(libraryApi.rotateTrigger(trigger.id, what))) as Trigger | undefined) ?? null);
  return (
    <li className="panel flex flex-col gap-2 p-4 text-sm">
      <div className="flex flex-wrap items-center gap-2">
        <span className="font-medium">{trigger.name}</span>
        <Badge>{SCHEMES[trigger.scheme] ? t(SCHEMES[trigger.scheme]!) : trigger.scheme}</Badge>
        {!trigger.enabled && <Badge>{t('common.off')}</Badge>}
        <Link href={`/library/agents/${trigger.agent_id}`} className="link text-[13px]">
          {trigger.agent_name}
        </Link>
        {trigger.agent_removed && <Badge>{t('run.agentRemoved')}</Badge>}
        <span className="ml-auto flex items-center gap-2">
          {!trigger.agent_removed && (
            <>
              <Button small icon="play" onClick={() => setTesting(true)}>
                {t('triggers.test')}
              </Button>
              <Button
                small
                aria-pressed={trigger.enabled}
                onClick={() => void change(libraryApi.changeTrigger(trigger.id, { enabled: !trigger.enabled }))}
              >
                {t(trigger.enabled ? 'common.switchOff' : 'common.switchOn')}
              </Button>
            </>
          )}
          <Menu
            trigger={<IconButton icon="more" size="small" label={t('triggers.actions', { name: trigger.name })} />}
            entries={[
              { label: t('triggers.newAddress'), icon: 'refresh', onSelect: () => void rotate('address') },
              { label: t('triggers.newSecret'), icon: 'key', onSelect: () => void rotate('secret') },
              'line',
              { label: t('common.delete'), icon: 'trash', danger: true, onSelect: () => setAsking(true) },
            ]}
          />
        </span>
      </div>
      <code className="text-xs break-all text-quiet">{trigger.url}</code>
      {fresh && <Shown trigger={fresh} />}
      <Fold title={t('triggers.example')}>
        <Raw value={curlFor(trigger, '')} />
      </Fold>
      {testing && <TestTrigger trigger={trigger} onClose={() => setTesting(false)} />}
      <Fold title={t('triggers.log')}>
        <Deliveries trigger={trigger.id} />
      </Fold>
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        onConfirm={() => void change(libraryApi.removeTrigger(trigger.id))}
        title={t('triggers.deleteTitle')}
        about={t('triggers.deleteAbout')}
        action={t('common.delete')}
      />
    </li>
  );
}

/** The URL and secret of a trigger, shown once. */
export function Shown({ trigger }: { trigger: Trigger }) {
  const t = useT();
  return (
    <Notice tone="good" icon="key">
      <p className="font-medium">{t('triggers.shownOnce')}</p>
      <p className="flex items-center gap-1">
        <code className="text-xs break-all">{trigger.url}</code> <CopyButton text={trigger.url} />
      </p>
      {trigger.secret && (
        <p className="flex items-center gap-1">
          <code className="text-xs break-all">{trigger.secret}</code> <CopyButton text={trigger.secret} />
        </p>
      )}
      <p className="pt-2 pb-1 font-medium">{t('triggers.example')}</p>
      <Raw value={curlFor(trigger, trigger.secret ?? '')} />
    </Notice>
  );
}

function Deliveries({ trigger }: { trigger: string }) {
  const t = useT();
  const attempt = useAttempt();
  const found = usePages(['deliveries', trigger], (cursor) => libraryApi.deliveries(trigger, cursor));
  if (found.error) return <Failed words={errorText(found.error, t)} onRetry={() => void found.refetch()} />;
  if (!found.data) return <Loading />;
  if (found.data.length === 0) return <p className="text-quiet">{t('triggers.noCalls')}</p>;
  return (
    <>
      <ol className="flex flex-col divide-y divide-line">
        {found.data.map((delivery) => (
          <li key={delivery.id} className="flex flex-wrap items-center gap-2 py-2">
            <Badge tone={delivery.error ? 'wrong' : 'calm'}>{t(STATES[delivery.state] ?? 'delivery.stored')}</Badge>
            <Ago when={delivery.received_at} />
            {delivery.execution_id && (
              <Link href={`/library/runs/${delivery.execution_id}`} className="link">
                {t('run.title')}
              </Link>
            )}
            <span className="min-w-0 flex-1 text-wrong">{delivery.error}</span>
            <Button
              small
              icon="refresh"
              onClick={() => void attempt(libraryApi.replay(trigger, delivery.id)).then(() => found.refetch())}
            >
              {t('triggers.replay')}
            </Button>
            <div className="w-full">
              <Fold title={t('triggers.payload')}>
                <Raw value={delivery.payload} />
              </Fold>
            </div>
          </li>
        ))}
      </ol>
      <More more={found.more} busy={found.busy} />
    </>
  );
}
