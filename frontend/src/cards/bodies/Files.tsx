// Results of the file tools: a card per file, with a picture if it is one.
import { FileLink, Picture } from '../../chat/Attached';
import { Fold, Raw } from '../../components/Pieces';
import { useT } from '../../i18n';
import { useFormat } from '../../i18n/format';
import { field, list, number, text } from '../../api/looseValues';
import { addressOf } from '../../markdown/workspaceLinks';
import type { BodyProps } from './index';

export function OneFile({ file }: { file: unknown }) {
  const format = useFormat();
  const url = addressOf(text(field(file, 'reference'))) ?? '';
  const path = text(field(file, 'path'));
  const type = text(field(file, 'media_type'));
  const size = number(field(file, 'size'));
  if (/^image\/(png|jpeg|gif|webp)$/.test(type)) return <Picture url={url} name={path} />;
  return (
    <FileLink
      url={url}
      name={path}
      about={[type, size === null ? '' : format.size(size)].filter(Boolean).join(' · ')}
    />
  );
}

export function FileWritten({ result }: BodyProps<'workspace_file_written'>) {
  return <OneFile file={result.file} />;
}

export function FileDeleted({ result }: BodyProps<'workspace_file_deleted'>) {
  return <p className="text-quiet line-through">{text(field(result.file, 'path'))}</p>;
}

export function FileList({ result }: BodyProps<'workspace_file_list'>) {
  const t = useT();
  const files = list(result.files);
  if (files.length === 0) return <p className="text-quiet">{t('card.noFiles')}</p>;
  return (
    <ul className="flex flex-wrap gap-2">
      {files.map((file, place) => (
        <li key={place}>
          <OneFile file={file} />
        </li>
      ))}
    </ul>
  );
}

export function FileContent({ result }: BodyProps<'workspace_file_content'>) {
  const t = useT();
  return (
    <div className="flex flex-col gap-2">
      <OneFile file={result.file} />
      <Fold title={t('card.showText')}>
        <Raw value={text(result.content)} />
      </Fold>
    </div>
  );
}
