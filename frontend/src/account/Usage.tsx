import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../components/Button';
import { Failed, Loading } from '../components/Pieces';
import { type Key, useT } from '../i18n';
import { useFormat } from '../i18n/format';
import { useGathered } from '../api/queries';
import { errorText } from '../api/errorText';
import { accountApi, type Allowance } from './api';
import { DayChart } from './DayChart';

const SPANS: [number, Key][] = [
  [7, 'usage.week'],
  [30, 'usage.month'],
  [90, 'usage.quarter'],
];

export function Usage() {
  const t = useT();
  const format = useFormat();
  const [days, setDays] = useState(30);
  const { data, error, refetch } = useQuery({
    queryKey: ['usage', days],
    queryFn: () => accountApi.usage(days),
    placeholderData: (before) => before,
  });
  useGathered(
    (hint) => hint.type === 'turn.finished' || hint.type === 'reconnected',
    () => void refetch(),
  );
  if (error) return <Failed words={errorText(error, t)} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  const tokens = data.totals.input_tokens + data.totals.output_tokens;
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-lg font-semibold">{t('usage.title')}</h2>
        <div className="flex gap-1" role="group" aria-label={t('usage.span')}>
          {SPANS.map(([span, name]) => (
            <Button
              key={span}
              small
              look={span === days ? 'plain' : 'quiet'}
              aria-pressed={span === days}
              onClick={() => setDays(span)}
            >
              {t(name)}
            </Button>
          ))}
        </div>
      </div>
      <div className="grid gap-4 sm:grid-cols-2 lg:grid-cols-4">
        <Figure
          name={t('usage.cost')}
          value={format.money(data.totals.cost)}
          about={t('usage.credits', { count: Math.round(data.totals.credits) })}
        />
        <Figure
          name={t('usage.tokens')}
          value={format.compact(tokens)}
          about={t('usage.inAndOut', { input: data.totals.input_tokens, output: data.totals.output_tokens })}
        />
        <Budget name={t('usage.budgetDay')} allowance={data.budget.day} />
        <Budget name={t('usage.budgetMonth')} allowance={data.budget.month} />
      </div>
      <div className="grid gap-4 lg:grid-cols-2">
        <DayChart title={t('usage.costByDay')} days={data.days} valueOf={(day) => day.cost} show={format.money} />
        <DayChart
          title={t('usage.tokensByDay')}
          days={data.days}
          valueOf={(day) => day.input_tokens + day.output_tokens}
          show={format.compact}
        />
      </div>
    </div>
  );
}

function Figure({ name, value, about }: { name: string; value: string; about: string }) {
  return (
    <div className="panel flex flex-col gap-1 p-4">
      <span className="text-[13px] text-quiet">{name}</span>
      <span className="text-2xl font-semibold tracking-tight tabular-nums">{value}</span>
      <span className="text-[13px] text-quiet">{about}</span>
    </div>
  );
}

/** The amount spent, and the limit if there is one. */
function Budget({ name, allowance }: { name: string; allowance: Allowance }) {
  const t = useT();
  const format = useFormat();
  const { limit, spent, resets_at: again } = allowance;
  if (limit === null) return <Figure name={name} value={format.money(spent)} about={t('usage.noLimit')} />;
  const share = limit > 0 ? Math.min(spent / limit, 1) : 1;
  return (
    <div className="panel flex flex-col gap-1 p-4">
      <span className="text-[13px] text-quiet">{name}</span>
      <span className="text-2xl font-semibold tracking-tight tabular-nums">{format.money(spent)}</span>
      <div
        className="my-1 h-1.5 overflow-hidden rounded-full bg-hover"
        role="meter"
        aria-label={name}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={spent}
      >
        <div className={share >= 1 ? 'h-full bg-wrong' : 'h-full bg-accent'} style={{ width: `${share * 100}%` }} />
      </div>
      <span className="text-[13px] text-quiet">
        {t('usage.ofLimit', { limit: format.money(limit), when: format.moment(again) })}
      </span>
    </div>
  );
}
