import { type ReactNode, useState } from 'react';
import { Button } from '../components/Button';
import { SelectField, TextField } from '../components/Field';
import { Icon, type IconName } from '../components/icons';
import { Failed, Loading } from '../components/Pieces';
import { type Key, LANGUAGES, type Language, useSpeech, useT } from '../i18n';
import { api } from '../api/chat';
import { ApiError } from '../api/http';
import { queryClient, useMe } from '../api/queries';
import { setTheme, useTheme } from '../browser/theme';
import { toast } from '../app/toasts';
import type { Me, Theme } from '../api/types';
import { errorText } from '../api/errorText';
import { useChoice, useModelName } from '../chat/models';
import { Notifications } from './Notifications';

export function Settings() {
  const t = useT();
  const { data, error, refetch } = useMe();
  if (error) return <Failed words={errorText(error, t)} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <div className="flex max-w-xl flex-col gap-8">
      <Part title={t('settings.look')}>
        <ThemeChoice />
        <LanguageChoice />
      </Part>
      <ModelChoice me={data} />
      <Part title={t('settings.you')}>
        <Profile key={data.username} me={data} />
      </Part>
      <Part title={t('notify.title')}>
        <Notifications />
      </Part>
      <Part title={t('settings.security')}>
        <a href="/password/" className="link text-sm">
          {t('settings.password')}
        </a>
      </Part>
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="flex flex-col gap-4">
      <h2 className="text-lg font-semibold">{title}</h2>
      {children}
    </section>
  );
}

const THEMES: [Theme, IconName, Key][] = [
  ['light', 'sun', 'theme.light'],
  ['dark', 'moon', 'theme.dark'],
  ['system', 'screen', 'theme.system'],
];

function ThemeChoice() {
  const t = useT();
  const theme = useTheme();
  const choose = (chosen: Theme) => {
    setTheme(chosen);
    api.changeMe({ theme: chosen }).catch((error: unknown) => toast(errorText(error, t), 'wrong'));
  };
  return (
    <fieldset>
      <legend className="pb-1.5 text-sm font-medium">{t('settings.theme')}</legend>
      <div className="grid grid-cols-3 gap-2">
        {THEMES.map(([value, icon, name]) => (
          <label
            key={value}
            className="panel flex cursor-pointer flex-col items-center gap-2 rounded-xl px-3 py-3 text-sm hover:bg-hover has-checked:border-accent has-checked:bg-accent-soft has-focus-visible:outline-2 has-focus-visible:outline-accent"
          >
            <input
              type="radio"
              name="theme"
              className="sr-only"
              checked={theme === value}
              onChange={() => choose(value)}
            />
            <Icon name={icon} size={20} />
            {t(name)}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function LanguageChoice() {
  const { t, language, choose } = useSpeech();
  const choices = Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }));
  return (
    <SelectField
      label={t('settings.language')}
      choices={choices}
      value={language}
      onChange={(event) => void choose(event.target.value as Language)}
    />
  );
}

/** The model that answers where none is picked; not there where there is nothing to choose. */
function ModelChoice({ me }: { me: Me }) {
  const t = useT();
  const models = useChoice();
  const nameOf = useModelName();
  if (!models) return null;
  const choices = [
    { value: '', label: t('settings.siteModel') },
    ...models.models.filter(({ name }) => name).map(({ name }) => ({ value: name, label: nameOf(name) })),
  ];
  const choose = async (model: string) => {
    try {
      queryClient.setQueryData(['me'], await api.changeMe({ model }));
      await queryClient.invalidateQueries({ queryKey: ['models'] });
      toast(t('settings.saved'));
    } catch (error) {
      toast(errorText(error, t), 'wrong');
    }
  };
  return (
    <Part title={t('model.title')}>
      <SelectField
        label={t('settings.model')}
        choices={choices}
        value={me.model}
        onChange={(event) => void choose(event.target.value)}
      />
    </Part>
  );
}

function Profile({ me }: { me: Me }) {
  const t = useT();
  const [email, setEmail] = useState(me.email);
  const [zone, setZone] = useState(me.time_zone);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const save = async () => {
    setBusy(true);
    setProblem(null);
    try {
      queryClient.setQueryData(['me'], await api.changeMe({ email, time_zone: zone }));
      toast(t('settings.saved'));
    } catch (error) {
      if (error instanceof ApiError && Object.keys(error.fields).length) setProblem(error);
      else toast(errorText(error, t), 'wrong');
    }
    setBusy(false);
  };
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <TextField
        label={t('settings.email')}
        type="email"
        autoComplete="email"
        value={email}
        problem={problem?.fields.email?.[0]}
        onChange={(event) => setEmail(event.target.value)}
      />
      <TextField
        label={t('settings.timeZone')}
        list="time-zones"
        value={zone}
        problem={problem?.fields.time_zone?.[0]}
        about={
          here === zone ? undefined : (
            <button type="button" className="link cursor-pointer" onClick={() => setZone(here)}>
              {t('settings.useZone', { zone: here })}
            </button>
          )
        }
        onChange={(event) => setZone(event.target.value)}
      />
      <datalist id="time-zones">
        {Intl.supportedValuesOf('timeZone').map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Button look="strong" type="submit" busy={busy} className="self-start">
        {t('common.save')}
      </Button>
    </form>
  );
}
