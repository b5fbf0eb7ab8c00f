// The models that this person may pick, and how they are called on the page.
import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { api } from '../api/chat';
import { OFFLINE } from '../api/queries';
import type { Schemas } from '../api/types';
import { useT } from '../i18n';

export type Models = Schemas['Models'];

export const useModels = () => useQuery({ queryKey: ['models'], queryFn: api.models, staleTime: 30_000 }).data;

/** The models, if there is something to choose. */
export function useChoice(): Models | undefined {
  const models = useModels();
  return models && models.models.length > 1 ? models : undefined;
}

/** Names of models for people: short, and in words for those that have none of their own. */
export function useModelName(): (name: string) => string {
  const t = useT();
  const models = useModels();
  return useCallback(
    (name) => {
      const label = models?.models.find((model) => model.name === name)?.label ?? name;
      if (label === '') return t('model.default');
      return label === OFFLINE ? t('chat.offlineModel') : label;
    },
    [t, models],
  );
}

/** Whether a model is known not to see images. */
export function isBlind(models: Models | undefined, picked: string): boolean {
  const name = picked || models?.default;
  return models?.models.find((model) => model.name === name)?.sees_images === false;
}
