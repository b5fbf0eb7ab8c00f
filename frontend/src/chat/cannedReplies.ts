// What buttons say to the model in the person's place.
import { type Translate, translator, useT } from '../i18n';
import { en } from '../i18n/en';
import { OFFLINE, useConfig } from '../api/queries';

const english = translator(en, 'en');

/** The person's language, unless the model is the one that comes along: that knows only English. */
export function useCannedReplies(): Translate {
  const t = useT();
  return useConfig().data?.model === OFFLINE ? english : t;
}
