// Small components that many pages use: badges, notices, empty states, times, disclosures, copy buttons.
import { type ReactNode, useEffect, useState } from 'react';
import { useT } from '../i18n';
import { copy } from '../browser/clipboard';
import { useFormat } from '../i18n/format';
import { Button, IconButton, Spinner } from './Button';
import { classes } from './classes';
import { Icon, type IconName } from './icons';
import { Linked } from './Linked';

export type Tone = 'calm' | 'busy' | 'good' | 'wrong' | 'attention';

const TONES: Record<Tone, string> = {
  calm: 'bg-hover text-quiet',
  busy: 'bg-accent-soft text-accent-text',
  good: 'bg-good-soft text-good',
  wrong: 'bg-wrong-soft text-wrong',
  attention: 'bg-notice text-on-notice',
};

export function Badge({ tone = 'calm', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={classes(
        'inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap',
        TONES[tone],
      )}
    >
      {children}
    </span>
  );
}

export function Notice({
  tone = 'attention',
  icon = 'info',
  children,
  action,
}: {
  tone?: Tone;
  icon?: IconName;
  children: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div
      className={classes('flex flex-wrap items-start gap-3 rounded-xl px-4 py-3 text-sm', TONES[tone])}
      role={tone === 'wrong' ? 'alert' : 'status'}
    >
      <Icon name={icon} className="mt-px" />
      <div className="min-w-0 flex-1 basis-44 break-words">{children}</div>
      {action && <div className="max-sm:ml-[30px]">{action}</div>}
    </div>
  );
}

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-3 px-6 py-16 text-center">
      <span className="rounded-2xl bg-hover p-4 text-quiet">
        <Icon name={icon} size={28} />
      </span>
      <p className="text-base font-medium">{title}</p>
      {children && <div className="max-w-sm text-sm text-quiet">{children}</div>}
    </div>
  );
}

export function Loading() {
  const t = useT();
  return (
    <div className="flex items-center justify-center gap-2 p-10 text-sm text-quiet" role="status">
      <Spinner /> {t('common.loading')}
    </div>
  );
}

export function Failed({ words, onRetry }: { words: string; onRetry?: () => void }) {
  const t = useT();
  return (
    <Notice
      tone="wrong"
      icon="warning"
      action={
        onRetry && (
          <Button small look="plain" onClick={onRetry}>
            {t('common.tryAgain')}
          </Button>
        )
      }
    >
      {words}
    </Notice>
  );
}

/** A relative time such as "3 min ago", kept up to date; the exact time on hover. */
export function Ago({ when }: { when: string }) {
  const format = useFormat();
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = window.setInterval(() => tick((count) => count + 1), 30_000);
    return () => window.clearInterval(timer);
  }, []);
  return (
    <time dateTime={when} title={format.moment(when)}>
      {format.ago(when)}
    </time>
  );
}

export function CopyButton({ text, label }: { text: string | (() => string); label?: string }) {
  const t = useT();
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = window.setTimeout(() => setDone(false), 1500);
    return () => window.clearTimeout(timer);
  }, [done]);
  const take = async () => setDone(await copy(typeof text === 'string' ? text : text()));
  return (
    <IconButton
      size="small"
      icon={done ? 'check' : 'copy'}
      label={done ? t('common.copied') : (label ?? t('common.copy'))}
      onClick={() => void take()}
    />
  );
}

export function Fold({ title, open, children }: { title: ReactNode; open?: boolean; children: ReactNode }) {
  return (
    <details className="fold group/fold" open={open}>
      <summary className="flex w-fit cursor-pointer items-center gap-1 rounded text-[13px] text-quiet hover:text-ink">
        <Icon name="right" size={14} className="transition-transform group-open/fold:rotate-90" />
        {title}
      </summary>
      <div className="pt-2">{children}</div>
    </details>
  );
}

/** Raw data in a disclosure. */
export function Raw({ value }: { value: unknown }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return (
    <div className="group/raw relative">
      <pre
        className="max-h-80 overflow-auto rounded-lg bg-code p-3 text-xs leading-relaxed whitespace-pre-wrap"
        tabIndex={0}
      >
        <Linked text={text ?? ''} />
      </pre>
      <span className="absolute top-1.5 right-1.5 rounded-lg bg-code">
        <CopyButton text={text ?? ''} />
      </span>
    </div>
  );
}
