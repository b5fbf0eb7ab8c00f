// The messages that buttons send to the model for the user.
import { type Translate, translator, useT } from '../i18n';
import { en } from '../i18n/en';
import { OFFLINE, useConfig } from '../api/queries';

const english = translator(en, 'en');

/** The user's language, or English for the offline model, which knows no other. */
export function useCannedReplies(): Translate {
  const t = useT();
  return useConfig().data?.model === OFFLINE ? english : t;
}
