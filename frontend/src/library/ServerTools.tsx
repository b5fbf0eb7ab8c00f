import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../components/Button';
import { Checkbox, SelectField } from '../components/Field';
import { Badge, type Tone } from '../components/Pieces';
import { type Key, useT } from '../i18n';
import { queryClient } from '../api/queries';
import { libraryApi, type Rule, type ServerTool, type ToolServer } from './api';
import { useAttempt } from './Screen';

const STATES: Record<ServerTool['state'], [Key, Tone] | null> = {
  approved: null,
  new: ['connections.toolNew', 'attention'],
  changed: ['connections.toolChanged', 'attention'],
  gone: ['connections.toolGone', 'calm'],
};
const EFFECTS: Record<ServerTool['effect'], Key> = {
  pure: 'connections.pure',
  idempotent: 'connections.idempotent',
  foreign: 'connections.foreign',
};
export const RULES: Record<Rule, Key> = { allow: 'rule.allow', ask: 'rule.ask', deny: 'rule.deny' };

/** The tools of a server: what they do, whether a call asks first, and changes that wait for approval. */
export function ServerTools({ server }: { server: ToolServer }) {
  const rules = useQuery({ queryKey: ['tool-rules'], queryFn: libraryApi.toolRules }).data?.results ?? [];
  return (
    <ul className="divide-y divide-line">
      {server.tools.map((tool) => (
        <Row key={tool.id} server={server} tool={tool} rule={rules.find((row) => row.name === tool.known_as)?.rule} />
      ))}
    </ul>
  );
}

function Row({ server, tool, rule }: { server: ToolServer; tool: ServerTool; rule?: Rule }) {
  const t = useT();
  const [busy, setBusy] = useState(false);
  const attempt = useAttempt();
  const change = async (work: Promise<unknown>) => {
    setBusy(true);
    await attempt(work);
    setBusy(false);
    await queryClient.invalidateQueries({ queryKey: ['connections'] });
    await queryClient.invalidateQueries({ queryKey: ['tool-rules'] });
  };
  const state = STATES[tool.state];
  const effect = (tool.lowered_effect || tool.effect) as ServerTool['effect'];
  return (
    <li className="flex flex-col gap-2 py-3" aria-label={tool.name}>
      <div className="flex flex-wrap items-center gap-2">
        <span className="font-medium">{tool.title || tool.name}</span>
        {state && <Badge tone={state[1]}>{t(state[0])}</Badge>}
        <Badge>{t(EFFECTS[effect])}</Badge>
        <span className="ml-auto flex items-center gap-3">
          {server.can_change && tool.state === 'approved' && (
            <Checkbox
              label={t('connections.pinned')}
              checked={tool.pinned}
              onChange={(event) =>
                void change(libraryApi.changeServerTool(server.id, tool.id, { pinned: event.target.checked }))
              }
            />
          )}
          {rule && (
            <SelectField
              label={t('rule.title')}
              value={rule}
              onChange={(event) => void change(libraryApi.setToolRule(tool.known_as, event.target.value as Rule))}
              choices={(Object.keys(RULES) as Rule[]).map((value) => ({ value, label: t(RULES[value]) }))}
            />
          )}
        </span>
      </div>
      {tool.description && <p className="text-quiet break-words">{tool.description.slice(0, 500)}</p>}
      {tool.difference && (
        <div className="flex flex-col gap-2">
          <p>{t(tool.state === 'new' ? 'connections.newAbout' : 'connections.changedAbout')}</p>
          <Difference lines={tool.difference.split('\n')} />
          {server.can_change && (
            <Button
              look="strong"
              icon="check"
              busy={busy}
              className="w-fit"
              onClick={() => void change(libraryApi.approveServerTool(server.id, tool.id, tool.offered_digest))}
            >
              {t('connections.approve')}
            </Button>
          )}
        </div>
      )}
    </li>
  );
}

function Difference({ lines }: { lines: string[] }) {
  const tone = (line: string) =>
    line.startsWith('+') ? 'text-good' : line.startsWith('-') ? 'text-wrong' : 'text-quiet';
  return (
    <pre className="max-h-80 overflow-auto rounded-lg bg-hover p-3 text-xs break-words whitespace-pre-wrap">
      {lines.map((line, index) => (
        <div key={index} className={tone(line)}>
          {line}
        </div>
      ))}
    </pre>
  );
}
