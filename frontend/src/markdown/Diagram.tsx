import { useEffect, useState } from 'react';
import { CodeBlock, type CustomRendererProps } from 'streamdown';
import { useDark } from '../browser/theme';
import { Fold } from '../components/Pieces';
import { useT } from '../i18n';
import { drawDiagram } from './diagramFrame';

type Drawn = { url: string } | { problem: string } | null;

/** A Mermaid diagram as a picture, with its source below; while it is written, and if it is wrong, its source. */
export function Diagram({ code, isIncomplete }: CustomRendererProps) {
  const t = useT();
  const drawn = useDrawn(code, isIncomplete);
  const source = <CodeBlock code={code} language="mermaid" isIncomplete={isIncomplete} lineNumbers={false} />;
  if (!drawn) return source;
  if ('problem' in drawn)
    return (
      <>
        {source}
        <p className="text-[13px] text-quiet">{t('markdown.diagramWrong', { problem: drawn.problem })}</p>
      </>
    );
  return (
    <figure className="my-4 flex flex-col gap-2">
      <div
        className="overflow-x-auto rounded-xl border border-line bg-card p-3"
        tabIndex={0}
        role="group"
        aria-label={t('markdown.diagram')}
      >
        <img src={drawn.url} alt={t('markdown.diagram')} className="diagram mx-auto max-w-full" />
      </div>
      <figcaption>
        <Fold title={t('markdown.diagramSource')}>{source}</Fold>
      </figcaption>
    </figure>
  );
}

function useDrawn(code: string, isIncomplete: boolean): Drawn {
  const dark = useDark();
  const [drawn, setDrawn] = useState<Drawn>(null);
  useEffect(() => {
    if (isIncomplete) return;
    let url = '';
    let left = false;
    drawDiagram(code, dark).then(
      (svg) => {
        if (left) return;
        url = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
        setDrawn({ url });
      },
      (error: unknown) => !left && setDrawn({ problem: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      left = true;
      URL.revokeObjectURL(url);
    };
  }, [code, dark, isIncomplete]);
  return drawn;
}
