import { lazy, Suspense } from 'react';
import { IconButton } from '../components/Button';
import { classes } from '../components/classes';
import { Loading } from '../components/Pieces';
import type { Panel } from './context';
import { Inspector } from './Inspector';
import { RunsPanel } from './RunsPanel';
import { TestPanel } from './TestPanel';
import { useSay, type Word } from './words';

const ChatPanel = lazy(() => import('./ChatPanel').then((module) => ({ default: module.ChatPanel })));
export const PANELS: [Panel, Word][] = [
  ['node', 'panel.node'],
  ['test', 'panel.test'],
  ['runs', 'panel.runs'],
  ['chat', 'panel.chat'],
];

type Props = {
  panel: Panel;
  onPanel: (panel: Panel | null) => void;
  onFix: () => void;
  onDelete: () => void;
  onDuplicate: () => void;
};

/** The panel at the side; on a phone it lies over the canvas. */
export function Panels({ panel, onPanel, ...actions }: Props) {
  const say = useSay();
  return (
    <aside
      aria-label={say('panel.label')}
      className="flex w-[22rem] shrink-0 flex-col border-l border-line bg-page max-md:absolute max-md:inset-x-0 max-md:bottom-0 max-md:z-20 max-md:h-[62%] max-md:w-full max-md:rounded-t-2xl max-md:border-t max-md:shadow-2xl"
    >
      <div className="flex items-center gap-1 border-b border-line px-2 py-1.5">
        <div className="flex flex-1 gap-1" role="tablist" aria-label={say('panel.label')}>
          {PANELS.map(([name, word]) => (
            <button
              key={name}
              type="button"
              role="tab"
              aria-selected={panel === name}
              aria-controls="builder-panel"
              id={`builder-tab-${name}`}
              className={classes(
                'cursor-pointer rounded-lg px-2.5 py-1.5 text-[13px] font-medium',
                panel === name ? 'bg-chosen text-ink' : 'text-quiet hover:bg-hover hover:text-ink',
              )}
              onClick={() => onPanel(name)}
            >
              {say(word)}
            </button>
          ))}
        </div>
        <IconButton size="small" icon="close" label={say('panel.close')} onClick={() => onPanel(null)} />
      </div>
      <div
        id="builder-panel"
        role="tabpanel"
        aria-labelledby={`builder-tab-${panel}`}
        tabIndex={0}
        className="min-h-0 flex-1 overflow-y-auto -outline-offset-2"
      >
        {panel === 'node' && <Inspector {...actions} />}
        {panel === 'test' && <TestPanel />}
        {panel === 'runs' && <RunsPanel />}
        {panel === 'chat' && (
          <Suspense fallback={<Loading />}>
            <ChatPanel />
          </Suspense>
        )}
      </div>
    </aside>
  );
}
