import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { BlockNames } from '../graph/model';
import { type BlockInfo, libraryApi } from './api';

/** The names of blocks by id, also of those that are not installed; graphs contain only ids. */
export function useBlockNames(): BlockNames {
  const { data } = useQuery({ queryKey: ['blocks'], queryFn: allBlocks, staleTime: Infinity });
  const elsewhere = useQuery({
    queryKey: ['blocks', 'elsewhere'],
    queryFn: libraryApi.blocksElsewhere,
    staleTime: Infinity,
  });
  return useMemo(() => {
    if (!data) return new Map();
    const missing = (elsewhere.data ?? []).map(({ id, name, provider }) => [id, { name, category: provider }] as const);
    const here = data.map(({ id, name, category }) => [id, { name, category: readable(category) }] as const);
    return new Map([...missing, ...here]);
  }, [data, elsewhere.data]);
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
