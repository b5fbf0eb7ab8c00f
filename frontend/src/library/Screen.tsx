// The common parts of library screens: a heading with actions, and a list with loading, error and empty states.
import { type ReactNode, useEffect } from 'react';
import { Button } from '../components/Button';
import { Empty, Failed, Loading } from '../components/Pieces';
import type { IconName } from '../components/icons';
import { useT } from '../i18n';
import { toast } from '../app/toasts';
import { errorText } from '../api/errorText';

export function Heading({ title, about, children }: { title: string; about?: ReactNode; children?: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Ratchet`;
  }, [title]);
  return (
    <div className="flex flex-wrap items-start justify-between gap-3 pb-5">
      <div className="min-w-0">
        <h2 className="text-xl font-semibold tracking-tight break-words">{title}</h2>
        {about && <div className="pt-1 text-sm text-quiet">{about}</div>}
      </div>
      <div className="flex flex-wrap gap-2">{children}</div>
    </div>
  );
}

type ListProps<T> = {
  answer: { data?: readonly T[]; error: Error | null; refetch: () => unknown; more?: () => void; busy?: boolean };
  icon: IconName;
  empty: string;
  hint?: ReactNode;
  children: (rows: readonly T[]) => ReactNode;
};

export function Listed<T>({ answer, icon, empty, hint, children }: ListProps<T>) {
  const t = useT();
  if (answer.error) return <Failed words={errorText(answer.error, t)} onRetry={() => void answer.refetch()} />;
  if (!answer.data) return <Loading />;
  if (answer.data.length === 0) {
    return (
      <Empty icon={icon} title={empty}>
        {hint}
      </Empty>
    );
  }
  return (
    <>
      {children(answer.data)}
      <More {...answer} />
    </>
  );
}

/** A button that loads the next page of a list, if there is one. */
export function More({ more, busy }: { more?: () => void; busy?: boolean }) {
  const t = useT();
  if (!more) return null;
  return (
    <Button className="mx-auto mt-6 flex" busy={busy} onClick={more}>
      {t('common.more')}
    </Button>
  );
}

/** Runs a request; errors are shown as a toast. */
export function useAttempt() {
  const t = useT();
  return async <T,>(work: Promise<T>): Promise<T | undefined> => {
    try {
      return await work;
    } catch (error) {
      toast(errorText(error, t), 'wrong');
      return undefined;
    }
  };
}
