import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../components/Button';
import { Ago, Badge, Failed, Loading } from '../components/Pieces';
import { errorText } from '../api/errorText';
import { useT } from '../i18n';
import { type Execution, libraryApi } from '../library/api';
import { statusKey, toneOf } from '../library/status';
import { useExecution } from '../library/useExecution';
import { useShared } from './context';
import { grouped } from './NodeTest';
import { same } from './merge';
import { titleOf } from './pins';
import { useBuilder } from './store';
import { RunResult } from './TestPanel';
import { useSay } from './words';

/** The latest runs: one is shown on the canvas, and compared with a second one. */
export function RunsPanel() {
  const say = useSay();
  const t = useT();
  const { agent, run, showRun } = useShared();
  const [other, setOther] = useState('');
  const { data, error, refetch } = useQuery({
    queryKey: ['builder', 'runs', agent, run],
    queryFn: () => libraryApi.executions({ agent }, null),
    refetchInterval: 10_000,
  });
  if (error) return <Failed words={errorText(error, t)} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <div className="flex flex-col gap-4 p-4">
      <h2 className="text-[15px] font-semibold">{say('runs.title')}</h2>
      {data.results.length === 0 && <p className="text-sm text-quiet">{say('runs.none')}</p>}
      <ul className="flex flex-col gap-1.5">
        {data.results.slice(0, 20).map((one) => (
          <li key={one.id} className="flex items-center gap-2 rounded-lg border border-line px-2.5 py-1.5 text-[13px]">
            <Badge tone={toneOf(one.status)}>{t(statusKey(one.status))}</Badge>
            <span className="min-w-0 flex-1 truncate text-quiet">
              <Ago when={one.queued_at} />
            </span>
            <Button
              small
              look={one.id === run ? 'strong' : 'plain'}
              aria-pressed={one.id === run}
              onClick={() => showRun(one.id)}
            >
              {say('runs.show')}
            </Button>
            <Button
              small
              aria-pressed={one.id === other}
              look={one.id === other ? 'strong' : 'plain'}
              disabled={!run || one.id === run}
              onClick={() => setOther(one.id === other ? '' : one.id)}
            >
              {say('runs.compare')}
            </Button>
          </li>
        ))}
      </ul>
      {run && other ? <Compared one={run} two={other} /> : run && <RunResult />}
    </div>
  );
}

function Compared({ one, two }: { one: string; two: string }) {
  const say = useSay();
  const t = useT();
  const { store, blocks } = useShared();
  const { doc } = useBuilder(store);
  const [first, second] = [useExecution(one).data, useExecution(two).data];
  if (!first || !second) return <Loading />;
  const ids = [...new Set([...(first.nodes ?? []), ...(second.nodes ?? [])].map((run) => run.node_id))];
  const rows = ids.map((id) => ({ id, sides: [first, second].map((run) => sideOf(run, id)) }));
  const nameOf = (id: string) => {
    const node = doc.nodes.find((item) => item.id === id);
    return node ? titleOf(node, blocks).title : id.slice(0, 8);
  };
  return (
    <section aria-label={say('runs.compared')} className="flex flex-col gap-2 border-t border-line pt-4">
      <h3 className="text-sm font-medium">{say('runs.compared')}</h3>
      <div className="overflow-x-auto" tabIndex={0} role="group" aria-label={say('runs.compared')}>
        <table className="w-full text-left text-[12px]">
          <thead>
            <tr className="text-quiet">
              <th className="py-1 pr-2 font-medium">{say('runs.node')}</th>
              <th className="py-1 pr-2 font-medium">{say('runs.first')}</th>
              <th className="py-1 font-medium">{say('runs.second')}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ id, sides }) => (
              <tr
                key={id}
                className="border-t border-line align-top"
                data-differs={!same(sides[0], sides[1]) || undefined}
              >
                <td className="py-1.5 pr-2 font-medium">
                  {nameOf(id)}
                  {!same(sides[0], sides[1]) && <span className="block text-on-notice">{say('runs.differs')}</span>}
                </td>
                {sides.map((side, place) => (
                  <td key={place} className="max-w-40 py-1.5 pr-2 break-words text-quiet">
                    {side ? `${t(statusKey(side.status))} ${JSON.stringify(side.outputs).slice(0, 300)}` : '–'}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function sideOf(run: Execution, id: string): { status: string; outputs: Record<string, unknown[]> } | null {
  const rows = (run.nodes ?? []).filter((one) => one.node_id === id);
  const last = rows.at(-1);
  return last ? { status: last.status, outputs: grouped(rows.flatMap((one) => one.outputs)) } : null;
}
