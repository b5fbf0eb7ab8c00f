import { Badge } from '../components/Pieces';
import type { BlockNames, Graph, GraphNode } from '../graph/model';
import { titleOf } from '../graph/model';
import { useT } from '../i18n';
import type { NodeRun } from './api';
import { Inputs, Outputs } from './Outputs';
import { statusKey, toneOf } from './status';

type Props = { graph: Graph; node: string; names: BlockNames; runs?: readonly NodeRun[] };

/** One block of a graph: its settings and prompt, where its values come from, and what went in and out in a run. */
export function NodePanel({ graph, node, names, runs = [] }: Props) {
  const t = useT();
  const found = graph.nodes.find((one) => one.id === node);
  if (!found) return null;
  const { title, about } = titleOf(found, names);
  const links = graph.links.filter((link) => link.sink === node);
  const titles = new Map(graph.nodes.map((one) => [one.id, titleOf(one, names).title]));
  return (
    <section className="panel flex flex-col gap-5 p-4 text-sm" aria-label={title}>
      <header>
        <h3 className="text-base font-semibold">{title}</h3>
        {about && <p className="text-quiet">{about}</p>}
      </header>
      <Settings node={found} />
      {links.length > 0 && (
        <div>
          <h4 className="pb-1 font-medium">{t('node.comesFrom')}</h4>
          <ul className="flex flex-col gap-1">
            {links.map((link) => (
              <li key={link.id}>
                {t('node.from', {
                  pin: pinOf(link.sinkName),
                  output: pinOf(link.sourceName),
                  block: titles.get(link.source) ?? '',
                })}
              </li>
            ))}
          </ul>
        </div>
      )}
      {runs.map((run, place) => (
        <OneRun key={run.id} run={run} count={runs.length} place={place} />
      ))}
    </section>
  );
}

function Settings({ node }: { node: GraphNode }) {
  const t = useT();
  const given = Object.entries(node.input_default).filter(([, value]) => value !== '' && value !== null);
  if (given.length === 0) return null;
  return (
    <div>
      <h4 className="pb-1 font-medium">{t('node.settings')}</h4>
      <Inputs inputs={readable(Object.fromEntries(given))} />
    </div>
  );
}

function OneRun({ run, count, place }: { run: NodeRun; count: number; place: number }) {
  const t = useT();
  return (
    <div className="flex flex-col gap-3 border-t border-line pt-4">
      <p className="flex items-center gap-2 font-medium">
        {count > 1 && t('node.runOf', { place: place + 1, count })}
        <Badge tone={toneOf(run.status)}>{t(statusKey(run.status))}</Badge>
      </p>
      {run.error && <p className="break-words text-wrong">{run.error}</p>}
      <div className="grid gap-4 lg:grid-cols-2">
        <div>
          <h4 className="pb-1 font-medium">{t('run.inputs')}</h4>
          <Inputs inputs={readable(run.inputs)} />
        </div>
        <div>
          <h4 className="pb-1 font-medium">{t('run.outputs')}</h4>
          <Outputs outputs={byPin(run.outputs)} ended />
        </div>
      </div>
    </div>
  );
}

/** The values of each output in order, from the pairs that the server has. */
export function byPin(pairs: unknown): Record<string, unknown[]> {
  const found: Record<string, unknown[]> = {};
  for (const pair of Array.isArray(pairs) ? (pairs as unknown[]) : []) {
    if (!Array.isArray(pair)) continue;
    const name = pinOf(String(pair[0]));
    (found[name] ??= []).push(pair[1]);
  }
  return found;
}

function readable(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [pinOf(name), value]));
}

/** `values_#_name` is the `name` of the values: in words, `values / name`. */
function pinOf(name: string): string {
  return name.split(/_[#$@]_/).join(' / ');
}
