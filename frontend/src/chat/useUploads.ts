// The attachments of the message being written, from selection to upload.
import { useRef, useState } from 'react';
import { useT } from '../i18n';
import { newId } from '../browser/ids';
import { useConfig } from '../api/queries';
import { toast } from '../app/toasts';
import type { WorkspaceFile } from '../api/types';
import { upload } from '../api/upload';
import { errorText } from '../api/errorText';

export type Upload = {
  key: string;
  name: string;
  type: string;
  share: number;
  done?: WorkspaceFile;
  problem?: string;
  stop: AbortController;
};

export function useUploads() {
  const t = useT();
  const limits = useConfig().data?.limits;
  const [uploads, setUploads] = useState<Upload[]>([]);
  const count = useRef(0);
  const change = (key: string, change: Partial<Upload>) =>
    setUploads((all) => all.map((entry) => (entry.key === key ? { ...entry, ...change } : entry)));

  const add = (files: File[]) => {
    for (const file of files) {
      if (limits && count.current >= limits.attachments)
        return toast(t('chat.tooManyFiles', { count: limits.attachments }), 'wrong');
      if (limits && file.size > limits.file_bytes) {
        toast(t('chat.fileTooLarge', { name: file.name, megabytes: Math.floor(limits.file_bytes / 2 ** 20) }), 'wrong');
        continue;
      }
      count.current += 1;
      const entry: Upload = { key: newId(), name: file.name, type: file.type, share: 0, stop: new AbortController() };
      setUploads((all) => [...all, entry]);
      upload(file, (share) => change(entry.key, { share }), entry.stop.signal).then(
        (done) => change(entry.key, { done, share: 1 }),
        (error: unknown) => {
          if (error instanceof DOMException) return;
          change(entry.key, { problem: errorText(error, t) });
        },
      );
    }
  };
  const remove = (key: string) => {
    count.current -= 1;
    uploads.find((entry) => entry.key === key)?.stop.abort();
    setUploads((all) => all.filter((entry) => entry.key !== key));
  };
  const take = (): WorkspaceFile[] => {
    const files = uploads.flatMap((entry) => entry.done ?? []);
    count.current = 0;
    setUploads([]);
    return files;
  };
  return { uploads, add, remove, take, busy: uploads.some((entry) => !entry.done && !entry.problem) };
}
