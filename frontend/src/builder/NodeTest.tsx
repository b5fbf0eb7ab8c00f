import { useState } from 'react';
import { Button } from '../components/Button';
import { Failed, Fold, Notice } from '../components/Pieces';
import { newId } from '../browser/ids';
import { errorText } from '../api/errorText';
import { ApiError } from '../api/http';
import { useT } from '../i18n';
import type { BlockRun } from '../library/api';
import { Outputs } from '../library/Outputs';
import { useAttempt } from '../library/Screen';
import { useExecution } from '../library/useExecution';
import { draftApi } from './api';
import { useShared } from './context';
import type { NodeDoc } from './document';
import type { Block } from './pins';
import { useSync } from './sync';
import { useSay } from './words';

/** Runs one node alone, and pins what it gave so that test runs do not pay for it again. */
export function NodeTest({ node, block }: { node: NodeDoc; block: Block }) {
  const say = useSay();
  const t = useT();
  const attempt = useAttempt();
  const { agent, sync, run } = useShared();
  const { draft } = useSync(sync);
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState<BlockRun | null>(null);
  const [failure, setFailure] = useState('');
  const { data: execution } = useExecution(run);
  const last = execution?.nodes?.find((one) => one.node_id === node.id);
  const pinned = draft.pinned[node.id];
  const start = async () => {
    setBusy(true);
    setFailure('');
    try {
      await sync.flush();
      setResult(await draftApi.runNode(agent, node.id, {}, newId()));
    } catch (error) {
      setFailure(
        error instanceof ApiError && Object.keys(error.fields).length
          ? Object.entries(error.fields)
              .map(([name, lines]) => `${name}: ${lines.join(' ')}`)
              .join('\n')
          : errorText(error, t),
      );
    }
    setBusy(false);
  };
  const pin = async (given: Parameters<typeof draftApi.pin>[2]) => {
    await attempt(sync.flush());
    const changed = await attempt(draftApi.pin(agent, node.id, given));
    if (changed) sync.take(changed);
  };
  const unpin = async () => {
    const changed = await attempt(draftApi.unpin(agent, node.id));
    if (changed) sync.take(changed);
  };
  const pairs = result && Object.entries(result.outputs).flatMap(([name, values]) => values.map((one) => [name, one]));
  return (
    <section aria-label={say('nodeTest.title')} className="flex flex-col gap-3 border-t border-line pt-4">
      <div className="flex flex-wrap items-center gap-2">
        <Button small icon="play" busy={busy} onClick={() => void start()}>
          {say('nodeTest.run')}
        </Button>
        {pinned ? (
          <Button small icon="pin" onClick={() => void unpin()}>
            {say('nodeTest.unpin')}
          </Button>
        ) : (
          <>
            {result?.status === 'completed' && (
              <Button small icon="pin" onClick={() => void pin({ outputs: pairs as [string, unknown][] })}>
                {say('nodeTest.pin')}
              </Button>
            )}
            {!result && last?.status === 'COMPLETED' && (
              <Button small icon="pin" onClick={() => void pin({ execution_id: run })}>
                {say('nodeTest.pinLast')}
              </Button>
            )}
          </>
        )}
      </div>
      {block.costs && !pinned && <p className="text-[13px] text-quiet">{say('nodeTest.costs')}</p>}
      {failure && <Failed words={failure} />}
      {result?.error && (
        <Notice tone="wrong" icon="warning">
          {result.error}
        </Notice>
      )}
      {result?.status === 'review' && <Notice>{say('nodeTest.review')}</Notice>}
      {result?.status === 'completed' && <Outputs outputs={result.outputs} />}
      {pinned && (
        <Fold title={say('nodeTest.pinned')} open>
          <Outputs outputs={grouped(pinned)} />
        </Fold>
      )}
      {!result && !pinned && last && last.outputs.length > 0 && (
        <Fold title={say('nodeTest.last')}>
          <Outputs outputs={grouped(last.outputs)} />
        </Fold>
      )}
    </section>
  );
}

export function grouped(pairs: readonly (readonly unknown[])[]): Record<string, unknown[]> {
  const found: Record<string, unknown[]> = {};
  for (const [name, value] of pairs) (found[String(name)] ??= []).push(value);
  return found;
}
