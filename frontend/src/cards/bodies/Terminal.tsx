import { Badge } from '../../components/Pieces';
import { useT } from '../../i18n';
import { field, list, number, text, texts } from '../../api/looseValues';
import { OneFile } from './Files';
import type { BodyProps } from './index';

/** A command, its output, exit code and files. */
export function Terminal({ result, input }: BodyProps<'bash_exec'>) {
  const t = useT();
  const code = number(result.exit_code);
  const printed = [text(result.stdout), text(result.stderr)].filter(Boolean).join('\n');
  const files = list(result.files);
  const command = text(field(input, 'command'));
  return (
    <div className="flex flex-col gap-3">
      {(command || printed) && (
        <pre
          tabIndex={0}
          className="max-h-72 overflow-auto rounded-lg bg-[#15181f] p-3 font-mono text-xs leading-relaxed whitespace-pre-wrap text-[#e7e9ef]"
        >
          {command && (
            <span className="text-[#9fb4ff]">
              <span aria-hidden="true">$ </span>
              {command}
              {printed && '\n'}
            </span>
          )}
          {printed}
        </pre>
      )}
      <span className="flex flex-wrap gap-2">
        <Badge tone={code === 0 ? 'good' : 'wrong'}>{t('card.exitCode', { code: code ?? '?' })}</Badge>
        {result.timed_out === true && <Badge tone="wrong">{t('card.timedOut')}</Badge>}
        {result.truncated === true && <Badge>{t('card.truncated')}</Badge>}
      </span>
      {files.length > 0 && (
        <ul className="flex flex-wrap gap-2">
          {files.map((file, place) => (
            <li key={place}>
              <OneFile file={file} />
            </li>
          ))}
        </ul>
      )}
      {texts(result.files_left_out).length > 0 && (
        <p className="text-quiet">{t('card.leftOut', { names: texts(result.files_left_out).join(', ') })}</p>
      )}
    </div>
  );
}
