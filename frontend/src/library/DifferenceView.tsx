import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { Failed, Loading } from '../components/Pieces';
import { type Graph, readGraph, titleOf } from '../graph/model';
import { useT } from '../i18n';
import { text } from '../api/looseValues';
import { errorText } from '../api/errorText';
import { type Change, libraryApi, type Parts } from './api';
import { useBlockNames } from './useBlockNames';

/** The difference between two versions. */
export function DifferenceView({ agent, from, to }: { agent: string; from: number; to: number }) {
  const t = useT();
  const names = useBlockNames();
  const { data, error } = useQuery({
    queryKey: ['agent', agent, 'diff', from, to],
    queryFn: () => libraryApi.difference(agent, from, to),
    staleTime: Infinity,
  });
  const graphs = [useGraph(agent, from), useGraph(agent, to)];
  if (error) return <Failed words={errorText(error, t)} />;
  if (!data) return <Loading />;
  const titles = new Map(
    graphs.flatMap((graph) => graph.nodes.map((node) => [node.id, titleOf(node, names).title] as const)),
  );
  const nodeName = (node: Record<string, unknown>) =>
    titles.get(text(node.id)) ?? names.get(text(node.block_id))?.name ?? text(node.id).slice(0, 8);
  const end = (node: unknown, pin: unknown) => [titles.get(text(node)), text(pin)].filter(Boolean).join(' · ');
  const linkName = (link: Record<string, unknown>) =>
    `${end(link.source_id, link.source_name)} → ${end(link.sink_id, link.sink_name)}`;
  const nothing = empty(data.nodes) && empty(data.links) && data.graph.length === 0;
  return (
    <div className="mt-3 flex flex-col gap-3 border-t border-line pt-3">
      {nothing && <p className="text-quiet">{t('diff.nothing')}</p>}
      <Fields changes={data.graph} />
      <PartList title={t('diff.nodes')} parts={data.nodes} nameOf={nodeName} titles={titles} />
      <PartList title={t('diff.links')} parts={data.links} nameOf={linkName} titles={titles} />
    </div>
  );
}

function useGraph(agent: string, version: number): Graph {
  const { data } = useQuery({
    queryKey: ['agent', agent, 'version', version],
    queryFn: () => libraryApi.version(agent, version),
    staleTime: Infinity,
  });
  return useMemo(() => readGraph(data?.graph), [data]);
}

const empty = (parts: Parts) => parts.added.length + parts.removed.length + parts.changed.length === 0;

type PartsProps = {
  title: string;
  parts: Parts;
  nameOf: (part: Record<string, unknown>) => string;
  titles: ReadonlyMap<string, string>;
};

function PartList({ title, parts, nameOf, titles }: PartsProps) {
  const t = useT();
  if (empty(parts)) return null;
  return (
    <section>
      <h3 className="pb-1 text-xs font-medium text-quiet">{title}</h3>
      <ul className="flex flex-col gap-1">
        {parts.added.map((part, place) => (
          <Line key={`a${place}`} sign="+" said={t('diff.added')} className="bg-good-soft text-good">
            {nameOf(part)}
          </Line>
        ))}
        {parts.removed.map((part, place) => (
          <Line key={`r${place}`} sign="−" said={t('diff.removed')} className="bg-wrong-soft text-wrong">
            {nameOf(part)}
          </Line>
        ))}
        {parts.changed.map((part) => (
          <li key={part.id}>
            <p className="py-1 text-xs">{titles.get(part.id)}</p>
            <Fields changes={part.changes} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Line({
  sign,
  said,
  className,
  children,
}: {
  sign: string;
  said: string;
  className: string;
  children: ReactNode;
}) {
  return (
    <li className={`flex gap-2 rounded-md px-2 py-1 font-mono text-xs ${className}`}>
      <span aria-hidden="true">{sign}</span>
      <span className="sr-only">{said}</span>
      {children}
    </li>
  );
}

function Fields({ changes }: { changes: Change[] }) {
  const t = useT();
  if (changes.length === 0) return null;
  return (
    <table className="w-full table-fixed text-left font-mono text-xs">
      <tbody>
        {changes.map((change) => (
          <tr key={change.field} className="align-top">
            <th scope="row" className="w-1/4 truncate py-1 pr-3 font-normal text-quiet">
              {change.field}
            </th>
            <td className="rounded-l-md bg-wrong-soft px-2 py-1 break-words text-wrong" aria-label={t('diff.before')}>
              {shown(change.before)}
            </td>
            <td className="rounded-r-md bg-good-soft px-2 py-1 break-words text-good" aria-label={t('diff.after')}>
              {shown(change.after)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
