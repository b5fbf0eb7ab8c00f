// The words of the builder, loaded with it and not with the first page.
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { Loading } from '../components/Pieces';
import { builder as english } from '../i18n/en/builder';
import { type Language, translatorOf, useSpeech, type Values } from '../i18n';

export type Word = keyof typeof english;
export type BuilderCatalogue = Record<Word, string>;
export type Say = (key: Word, values?: Values) => string;

const LOADERS: Record<Language, () => Promise<BuilderCatalogue>> = {
  en: () => Promise.resolve(english),
  de: () => import('../i18n/de/builder').then((module) => module.builder),
};
const Saying = createContext<Say>(translatorOf(english, 'en'));

export function Words({ children }: { children: ReactNode }) {
  const { language } = useSpeech();
  const [spoken, setSpoken] = useState<{ language: Language; catalogue: BuilderCatalogue } | null>(
    language === 'en' ? { language, catalogue: english } : null,
  );
  useEffect(() => {
    let current = true;
    void LOADERS[language]().then((catalogue) => current && setSpoken({ language, catalogue }));
    return () => {
      current = false;
    };
  }, [language]);
  const say = useMemo(() => spoken && translatorOf(spoken.catalogue, spoken.language), [spoken]);
  return say ? <Saying value={say}>{children}</Saying> : <Loading />;
}

export const useSay = (): Say => useContext(Saying);
