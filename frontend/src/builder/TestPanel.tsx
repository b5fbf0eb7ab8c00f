import { useState } from 'react';
import { Button } from '../components/Button';
import { Badge, Failed, Notice } from '../components/Pieces';
import { newId } from '../browser/ids';
import { ApiError } from '../api/http';
import { errorText } from '../api/errorText';
import { useT } from '../i18n';
import { libraryApi, type Schema } from '../library/api';
import { OpenReviews } from '../library/OpenReviews';
import { Outputs } from '../library/Outputs';
import { problemsIn } from '../library/schema';
import { SchemaForm } from '../library/SchemaForm';
import { useAttempt } from '../library/Screen';
import { hasEnded, statusKey, toneOf } from '../library/status';
import { useExecution } from '../library/useExecution';
import { draftApi } from './api';
import { useShared } from './context';
import { useSync } from './sync';
import { useSay } from './words';

/** Runs the draft with sample inputs; the nodes light up on the canvas meanwhile. */
export function TestPanel() {
  const say = useSay();
  const t = useT();
  const { agent, sync, run, showRun } = useShared();
  const { draft } = useSync(sync);
  const [busy, setBusy] = useState(false);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const { data: execution } = useExecution(run);
  const start = async (inputs: Record<string, unknown>) => {
    setBusy(true);
    setProblems({});
    try {
      const saved = await sync.flush();
      showRun((await draftApi.run(agent, saved.revision, inputs, newId())).id);
    } catch (error) {
      const fields = error instanceof ApiError ? problemsIn(error.fields) : {};
      setProblems(Object.keys(fields).length ? fields : { '': errorText(error, t) });
    }
    setBusy(false);
  };
  const pins = Object.keys(draft.pinned).length;
  const schema = draft.input_schema as Schema;
  return (
    <div className="flex flex-col gap-5 p-4">
      <div>
        <h2 className="text-[15px] font-semibold">{say('test.title')}</h2>
        <p className="pt-0.5 text-[13px] text-quiet">{say('test.about')}</p>
      </div>
      {pins > 0 && (
        <Notice tone="calm" icon="pin">
          {say('test.pinned', { count: pins })}
        </Notice>
      )}
      <SchemaForm
        key={JSON.stringify(schema)}
        schema={schema}
        given={execution?.source === 'draft' ? execution.inputs : undefined}
        action={say('test.run')}
        busy={busy}
        problems={problems}
        onSubmit={(values) => void start(values)}
      />
      {execution && <RunResult />}
    </div>
  );
}

/** How the run on the canvas went, and the way on from its failure. */
export function RunResult() {
  const say = useSay();
  const t = useT();
  const attempt = useAttempt();
  const { sync, run, showRun } = useShared();
  const { data } = useExecution(run);
  if (!data) return null;
  const again = async () => {
    const saved = await attempt(sync.flush());
    const started = saved && (await attempt(draftApi.retry(run, saved.changed, newId())));
    if (started) showRun(started.id);
  };
  return (
    <section aria-label={say('test.result')} className="flex flex-col gap-3 border-t border-line pt-4">
      <div className="flex items-center gap-2" role="status">
        <h3 className="text-sm font-medium">{say('test.result')}</h3>
        <Badge tone={toneOf(data.status)}>{t(statusKey(data.status))}</Badge>
        <span className="flex-1" />
        {!hasEnded(data.status) && (
          <Button small icon="stop" onClick={() => void attempt(libraryApi.cancelExecution(run))}>
            {say('test.stop')}
          </Button>
        )}
      </div>
      {data.status === 'REVIEW' && <OpenReviews execution={run} />}
      {data.error && <Failed words={data.error} />}
      {(data.status === 'FAILED' || data.status === 'TERMINATED') && (
        <div>
          <Button small icon="refresh" onClick={() => void again()}>
            {say('test.retry')}
          </Button>
          <p className="pt-1 text-[13px] text-quiet">{say('test.retryAbout')}</p>
        </div>
      )}
      <Outputs outputs={data.outputs} />
    </section>
  );
}
