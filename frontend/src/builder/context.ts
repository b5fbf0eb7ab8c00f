// What every part of the builder shares.
import { createContext, useContext } from 'react';
import type { Point } from '../graph/model';
import type { Block, Blocks } from './pins';
import type { BuilderStore } from './store';
import type { DraftSync } from './sync';

export type Panel = 'node' | 'test' | 'runs' | 'chat';

export type Shared = {
  agent: string;
  store: BuilderStore;
  sync: DraftSync;
  blocks: Blocks;
  /** Adds a node beside the chosen one, or in the middle of what is seen, and chooses it. */
  add: (block: Block, values?: Record<string, unknown>, at?: Point) => void;
  show: (panel: Panel) => void;
  run: string; // the execution on the canvas
  showRun: (id: string) => void;
};

export const BuilderContext = createContext<Shared | null>(null);

export function useShared(): Shared {
  const shared = useContext(BuilderContext);
  if (!shared) throw new Error('Used outside the builder.');
  return shared;
}
