import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { BlockNames } from '../graph/model';
import { type BlockInfo, libraryApi } from './api';

/** The names of blocks by id; graphs contain only ids. */
export function useBlockNames(): BlockNames {
  const { data } = useQuery({ queryKey: ['blocks'], queryFn: allBlocks, staleTime: Infinity });
  return useMemo(
    () => new Map((data ?? []).map((block) => [block.id, { name: block.name, category: readable(block.category) }])),
    [data],
  );
}

const readable = (category: string) =>
  category.charAt(0).toUpperCase() + category.slice(1).toLowerCase().replaceAll('_', ' ');

async function allBlocks(): Promise<BlockInfo[]> {
  const found: BlockInfo[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof libraryApi.blocks>> = await libraryApi.blocks(cursor);
    found.push(...page.results);
    cursor = page.next;
  } while (cursor);
  return found;
}
