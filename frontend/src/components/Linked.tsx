import type { ReactNode } from 'react';
import { addressOf, REFERENCES } from '../markdown/workspaceLinks';

/** Text in which references to files of the workspace are links to them. */
export function Linked({ text }: { text: string }): ReactNode {
  if (!text.includes('workspace://')) return text;
  const pieces = text.split(REFERENCES);
  return pieces.map((piece, place) => {
    const address = place % 2 ? addressOf(piece) : null;
    return address ? (
      <a key={place} href={address} target="_blank" rel="noreferrer" className="link break-all">
        {piece}
      </a>
    ) : (
      piece
    );
  });
}
