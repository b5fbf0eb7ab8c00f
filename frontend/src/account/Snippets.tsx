import { useState } from 'react';
import { SelectField } from '../components/Field';
import { CopyButton } from '../components/Pieces';
import { useT } from '../i18n';
import { type Program, PROGRAMS, snippet } from './connectSnippets';

/** Ready-made settings for programs that speak the OpenAI API or MCP, with this site's address. */
export function Snippets({ apiKey }: { apiKey: string }) {
  const t = useT();
  const [program, setProgram] = useState<Program>('python');
  const code = snippet(program, window.location.origin, apiKey || 'rk_…');
  return (
    <section aria-label={t('keys.connect')} className="panel flex flex-col gap-3 p-4">
      <div className="flex flex-wrap items-end justify-between gap-3">
        <div className="min-w-0 flex-1">
          <h3 className="font-medium">{t('keys.connect')}</h3>
          <p className="text-sm text-quiet">{t('keys.connectAbout')}</p>
        </div>
        <div className="w-44">
          <SelectField
            label={t('keys.program')}
            value={program}
            onChange={(event) => setProgram(event.target.value as Program)}
            choices={PROGRAMS.map(({ id, label }) => ({ value: id, label }))}
          />
        </div>
      </div>
      <div className="relative">
        <pre className="overflow-x-auto rounded-lg bg-code p-3 pr-10 text-xs" tabIndex={0}>
          <code>{code}</code>
        </pre>
        <span className="absolute top-1.5 right-1.5">
          <CopyButton text={code} />
        </span>
      </div>
    </section>
  );
}
