import { useState } from 'react';
import { useT } from '../i18n';

/**
 * How far something is. A tool that tells is believed; for one that does not, the bar slows down on its way and never
 * claims to be done.
 */
export function Progress({ share, label, since }: { share?: number | null; label: string; since?: string }) {
  const t = useT();
  const [gone] = useState(() => secondsSince(since));
  const known = typeof share === 'number' && share > 0;
  const percent = known ? Math.round(Math.min(share, 1) * 100) : undefined;
  return (
    <div className="flex items-center gap-3">
      <div
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
        className="h-1.5 flex-1 overflow-hidden rounded-full bg-hover"
      >
        {known ? (
          <div
            className="h-full rounded-full bg-accent transition-[width] duration-300"
            style={{ width: `${percent}%` }}
          />
        ) : (
          <div className="slowing h-full rounded-full bg-accent" style={{ animationDelay: `-${gone}s` }} />
        )}
      </div>
      {known && (
        <span className="w-10 text-right text-xs text-quiet tabular-nums">
          {t('common.percent', { percent: percent! })}
        </span>
      )}
    </div>
  );
}

function secondsSince(since: string | undefined): number {
  return since ? Math.max(0, Math.round((Date.now() - new Date(since).getTime()) / 1000)) : 0;
}
