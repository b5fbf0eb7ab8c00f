import { ReactFlowProvider, useReactFlow } from '@xyflow/react';
import { useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { LoadingPage, Page } from '../app/Page';
import { Failed } from '../components/Pieces';
import { errorText } from '../api/errorText';
import { queryClient } from '../api/queries';
import { toast } from '../app/toasts';
import { useT } from '../i18n';
import { useAttempt } from '../library/Screen';
import { useExecution } from '../library/useExecution';
import { type Draft, draftApi, type Problem } from './api';
import type { Change } from './BlockNode';
import { Canvas } from './Canvas';
import { BuilderContext, type Panel, type Shared } from './context';
import { previewOf } from './difference';
import { addNode, makeNode, placesOf } from './document';
import { Header } from './Header';
import { Notices } from './Notices';
import { Palette } from './Palette';
import { Panels } from './Panels';
import type { Block, Blocks } from './pins';
import { BuilderStore, useBuilder } from './store';
import { DraftSync, useSync } from './sync';
import { useEditors } from './useEditors';
import { deleteChosen, duplicateChosen, useKeys } from './useKeys';
import { useSay, Words } from './words';

/** The builder of an agent, at /library/agents/{id}/edit. */
export default function Builder({ id }: { id: string }) {
  return (
    <Words>
      <Loaded key={id} id={id} />
    </Words>
  );
}

function Loaded({ id }: { id: string }) {
  const t = useT();
  const say = useSay();
  const draft = useQuery({ queryKey: ['draft', id], queryFn: () => draftApi.get(id), staleTime: Infinity, gcTime: 0 });
  const blocks = useQuery({ queryKey: ['builder', 'blocks'], queryFn: draftApi.blocks, staleTime: Infinity });
  const known = useMemo(() => blocks.data && new Map(blocks.data.results.map((one) => [one.id, one])), [blocks.data]);
  const error = draft.error ?? blocks.error;
  if (error)
    return (
      <Page title={say('builder.title')}>
        <Failed words={errorText(error, t)} onRetry={() => void Promise.all([draft.refetch(), blocks.refetch()])} />
      </Page>
    );
  if (!draft.data || !known) return <LoadingPage />;
  return (
    <ReactFlowProvider>
      <Opened id={id} first={draft.data} blocks={known} />
    </ReactFlowProvider>
  );
}

/** One store and one autosave per page; React may run effects twice, so both are made in an effect. */
function Opened({ id, first, blocks }: { id: string; first: Draft; blocks: Blocks }) {
  const [made, setMade] = useState<{ store: BuilderStore; sync: DraftSync } | null>(null);
  useEffect(() => {
    const store = new BuilderStore(first.graph);
    const sync = new DraftSync(id, store, first);
    setMade({ store, sync });
    return () => sync.close();
  }, [id, first]);
  return made ? <Desk id={id} blocks={blocks} {...made} /> : <LoadingPage />;
}

const NOTHING: ReadonlyMap<string, Change> = new Map();
const NO_LINKS: ReadonlySet<string> = new Set();
const BESIDE = 330;

function Desk({ id, blocks, store, sync }: { id: string; blocks: Blocks; store: BuilderStore; sync: DraftSync }) {
  const say = useSay();
  const attempt = useAttempt();
  const flow = useReactFlow();
  const { doc, chosen } = useBuilder(store);
  const { draft } = useSync(sync);
  const editors = useEditors(id, sync);
  const [panel, setPanel] = useState<Panel | null>('node');
  const [palette, setPalette] = useState(() => window.matchMedia('(min-width: 900px)').matches);
  const [run, setRun] = useState('');
  const [chosenLinks, setChosenLinks] = useState(NO_LINKS);
  const { states } = useExecution(run);

  const add = useCallback<Shared['add']>(
    (block: Block, values = {}, at) => {
      const last = store.doc.nodes.find((node) => store.chosen.has(node.id));
      const frame = document.querySelector('.builder')?.getBoundingClientRect();
      const middle = flow.screenToFlowPosition({
        x: (frame?.left ?? 0) + (frame?.width ?? 0) / 2 - 128,
        y: (frame?.top ?? 0) + (frame?.height ?? 0) / 3,
      });
      const place = last && placesOf(store.doc).get(last.id)!;
      const beside = place && { x: place.x + BESIDE, y: place.y };
      const node = makeNode(block.id, free(store, at ?? beside ?? middle), values);
      store.edit((now) => addNode(now, node));
      store.choose([node.id]);
      if (!at) window.setTimeout(() => void flow.fitView({ padding: 0.2, maxZoom: 1, duration: 200 }), 50);
    },
    [store, flow],
  );

  const open = useCallback(() => {
    setPanel('node');
    window.setTimeout(
      () => document.querySelector<HTMLElement>('.builder-fields :is(input, textarea, select)')?.focus(),
      60,
    );
  }, []);
  const search = () => {
    setPalette(true);
    window.setTimeout(() => document.querySelector<HTMLElement>('.builder-search')?.focus());
  };
  const fix = async () => {
    const answer = await attempt(draftApi.fix(id, store.doc));
    if (!answer) return;
    if (answer.fixes.length) store.edit(() => answer.graph);
    toast(answer.fixes.length ? say('problems.fixed', { count: answer.fixes.length }) : say('problems.notFixed'));
  };
  const arrange = async () => {
    const answer = await attempt(draftApi.arrange(id, store.doc));
    if (!answer) return;
    store.edit(() => answer.graph);
    window.setTimeout(() => void flow.fitView({ padding: 0.2, maxZoom: 1, duration: 200 }), 50);
  };
  const shared = useMemo<Shared>(
    () => ({ agent: id, store, sync, blocks, add, show: setPanel, run, showRun: setRun }),
    [id, store, sync, blocks, add, run],
  );
  const { proposal } = draft;
  const preview = useMemo(() => proposal && previewOf(doc, proposal.base, proposal.graph), [doc, proposal]);
  useKeys({ store, chosenLinks, locked: preview !== null, open, search, test: () => setPanel('test') });
  useEffect(() => {
    void queryClient.invalidateQueries({ queryKey: ['agent', id] });
  }, [id, draft.base_version]);
  const problems = useMemo<Problem[]>(() => draft.validation.errors, [draft.validation]);
  const looks = useMemo(
    () => ({ blocks, chosen, problems, states, pinned: draft.pinned, changes: preview?.changes ?? NOTHING }),
    [blocks, chosen, problems, states, draft.pinned, preview],
  );
  return (
    <BuilderContext value={shared}>
      <Header
        editors={editors}
        palette={palette}
        onPalette={() => setPalette(!palette)}
        panel={panel}
        onPanel={setPanel}
        onArrange={() => void arrange()}
      />
      <div className="relative flex min-h-0 flex-1">
        {palette && (
          <div className="builder-palette w-60 shrink-0 border-r border-line bg-page max-md:absolute max-md:inset-y-0 max-md:left-0 max-md:z-20 max-md:shadow-xl">
            <Palette onAdded={open} />
          </div>
        )}
        <div className="relative flex min-w-0 flex-1 flex-col">
          <div className="absolute inset-x-3 top-3 z-10 mx-auto max-w-2xl">
            <Notices />
          </div>
          <Canvas
            doc={preview?.doc ?? doc}
            looks={looks}
            chosenLinks={chosenLinks}
            onChooseLinks={setChosenLinks}
            onOpen={open}
            locked={preview !== null}
          />
        </div>
        {panel && (
          <Panels
            panel={panel}
            onPanel={setPanel}
            onFix={() => void fix()}
            onDelete={() => deleteChosen({ store, chosenLinks })}
            onDuplicate={() => duplicateChosen(store)}
          />
        )}
      </div>
    </BuilderContext>
  );
}

/** A place near this one on which no node lies yet. */
function free(store: BuilderStore, at: { x: number; y: number }): { x: number; y: number } {
  const taken = [...placesOf(store.doc).values()];
  const place = { ...at };
  while (taken.some((one) => Math.abs(one.x - place.x) < 240 && Math.abs(one.y - place.y) < 100)) place.y += 120;
  return place;
}
