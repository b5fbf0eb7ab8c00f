// The words of the pages in the person's language. English is always there; others are fetched when chosen.
import { createContext, type ReactNode, useContext, useMemo, useState } from 'react';
import { recall, remember } from '../browser/storage';
import { en } from './en';

export type Key = keyof typeof en;
export type Catalogue = Record<Key, string>;
export type Values = Record<string, string | number>;
export type Translate = (key: Key, values?: Values) => string;
export type Language = keyof typeof LANGUAGES;

export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const;
const LOADERS: Record<Language, () => Promise<Catalogue>> = {
  en: () => Promise.resolve(en),
  de: () => import('./de').then((module) => module.de),
};
const CHOICE = 'language';

type Speech = { t: Translate; language: Language; choose: (language: Language) => Promise<void> };
const Speaking = createContext<Speech>({ t: translator(en, 'en'), language: 'en', choose: async () => undefined });

export type Spoken = { language: Language; catalogue: Catalogue };

/** The language chosen here, else the first of the browser's that there is a catalogue for. */
export async function loadLanguage(): Promise<Spoken> {
  const wished = [recall(CHOICE), ...navigator.languages.map((tag) => tag.slice(0, 2))];
  const language = wished.find((tag): tag is Language => tag !== null && tag in LANGUAGES) ?? 'en';
  return speak(language);
}

export function Languages({ first, children }: { first: Spoken; children: ReactNode }) {
  const [spoken, setSpoken] = useState(first);
  const speech = useMemo(
    () => ({
      language: spoken.language,
      t: translator(spoken.catalogue, spoken.language),
      choose: async (language: Language) => {
        remember(CHOICE, language);
        tellServer(language);
        setSpoken(await speak(language));
      },
    }),
    [spoken],
  );
  return <Speaking value={speech}>{children}</Speaking>;
}

export function useSpeech(): Speech {
  return useContext(Speaking);
}

export function useT(): Translate {
  return useSpeech().t;
}

export function translator(catalogue: Catalogue, language: string): Translate {
  return translatorOf(catalogue, language);
}

/** `{name}` is filled in; where a text has two forms divided by `|`, `count` chooses. */
export function translatorOf<K extends string>(
  catalogue: Record<K, string>,
  language: string,
): (key: K, values?: Values) => string {
  const rules = new Intl.PluralRules(language);
  const numbers = new Intl.NumberFormat(language);
  return (key, values = {}) => {
    const [one, many] = catalogue[key].split('|');
    const text = many !== undefined && rules.select(Number(values.count)) !== 'one' ? many : (one ?? '');
    return text.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = values[name];
      return typeof value === 'number' ? numbers.format(value) : (value ?? '');
    });
  };
}

async function speak(language: Language): Promise<Spoken> {
  const catalogue = await LOADERS[language]();
  document.documentElement.lang = language;
  return { language, catalogue };
}

/** The pages that the server draws (password, administration, errors) read the choice from a cookie. */
function tellServer(language: Language): void {
  document.cookie = `ratchet_language=${language}; path=/; max-age=31536000; samesite=lax`;
}
