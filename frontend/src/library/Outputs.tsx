import { lazy, Suspense } from 'react';
import { FileLink, Picture } from '../chat/Attached';
import { CopyButton, Raw } from '../components/Pieces';
import { useT } from '../i18n';
import { addressOf } from '../markdown/workspaceLinks';

const Markdown = lazy(() => import('../markdown/Markdown').then((module) => ({ default: module.Markdown })));

/** The outputs of a run by name, values in order. */
export function Outputs({ outputs, ended }: { outputs: Record<string, unknown[]>; ended?: boolean }) {
  const t = useT();
  const names = Object.entries(outputs);
  if (names.length === 0)
    return <p className="text-sm text-quiet">{t(ended ? 'run.endedWithoutOutputs' : 'run.noOutputs')}</p>;
  return (
    <dl className="flex flex-col gap-4 text-sm">
      {names.map(([name, values]) => (
        <div key={name}>
          <dt className="pb-1 text-[13px] font-medium text-quiet">{name}</dt>
          {(Array.isArray(values) ? values : [values]).map((value, place) => (
            <dd key={place} className="pb-2">
              <Value value={value} />
            </dd>
          ))}
        </div>
      ))}
    </dl>
  );
}

/** The inputs of a run by name. */
export function Inputs({ inputs }: { inputs: Record<string, unknown> }) {
  const t = useT();
  if (Object.keys(inputs).length === 0) return <p className="text-sm text-quiet">{t('run.noInputs')}</p>;
  return <Outputs outputs={Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, [value]]))} />;
}

function Value({ value }: { value: unknown }) {
  if (typeof value !== 'string') return <Raw value={value} />;
  const address = /^workspace:\/\/\S+$/.test(value) ? addressOf(value) : null;
  if (address)
    return /#image\//.test(value) ? (
      <Picture url={address} name="" />
    ) : (
      <FileLink url={address} name="" about={value} />
    );
  return (
    <div className="group/value relative rounded-lg bg-code px-3 py-2 pr-10">
      <Suspense fallback={<p className="whitespace-pre-wrap">{value}</p>}>
        <Markdown text={value} live={false} />
      </Suspense>
      <span className="absolute top-1 right-1">
        <CopyButton text={value} />
      </span>
    </div>
  );
}
