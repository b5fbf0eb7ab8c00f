import { type DragEvent, type ReactNode, useRef, useState } from 'react';
import { Icon } from '../components/icons';
import { useT } from '../i18n';

/** Attaches files dropped anywhere on the conversation. */
export function Dropzone({ onFiles, children }: { onFiles: (files: File[]) => void; children: ReactNode }) {
  const t = useT();
  const depth = useRef(0);
  const [over, setOver] = useState(false);
  const carriesFiles = (event: DragEvent) => event.dataTransfer.types.includes('Files');
  const moved = (by: number) => {
    depth.current = Math.max(0, depth.current + by);
    setOver(depth.current > 0);
  };
  return (
    <div
      className="relative flex min-h-0 flex-1 flex-col"
      onDragEnter={(event) => carriesFiles(event) && moved(1)}
      onDragLeave={(event) => carriesFiles(event) && moved(-1)}
      onDragOver={(event) => carriesFiles(event) && event.preventDefault()}
      onDrop={(event) => {
        if (!carriesFiles(event)) return;
        event.preventDefault();
        moved(-depth.current);
        onFiles([...event.dataTransfer.files]);
      }}
    >
      {children}
      {over && (
        <div className="pointer-events-none absolute inset-3 z-20 flex items-center justify-center gap-3 rounded-2xl border-2 border-dashed border-accent bg-accent-soft/90 text-accent-text">
          <Icon name="upload" size={24} /> {t('chat.dropHere')}
        </div>
      )}
    </div>
  );
}
