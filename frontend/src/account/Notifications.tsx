import { notifyManager, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button, IconButton } from '../components/Button';
import { Checkbox, TextField } from '../components/Field';
import { Ago, Failed, Loading } from '../components/Pieces';
import { type Key, useSpeech, useT } from '../i18n';
import { errorText } from '../api/errorText';
import { queryClient } from '../api/queries';
import { toast } from '../app/toasts';
import { type NotificationSettings, notificationsApi, type PushDevice } from '../notifications/api';
import { deviceId, permission, switchOff, switchOn } from '../notifications/device';

const KINDS: [keyof NotificationSettings, Key][] = [
  ['answers', 'notify.answers'],
  ['questions', 'notify.questions'],
  ['reviews', 'notify.reviews'],
  ['runs', 'notify.runs'],
];

const KEY = ['notification-settings'];

/** What a person is notified of, when not, and on which devices. */
export function Notifications() {
  const t = useT();
  const { data, error, refetch } = useQuery({
    queryKey: KEY,
    queryFn: notificationsApi.settings,
  });
  if (error) return <Failed words={errorText(error, t)} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <div className="flex flex-col gap-5">
      <ThisDevice />
      <Kinds settings={data} />
      <QuietHours settings={data} />
      <Devices settings={data} />
    </div>
  );
}

/** The settings with what was changed here and is not saved yet; a change that is refused is taken back. */
function useChanges(settings: NotificationSettings) {
  const t = useT();
  const [pending, setPending] = useState<Partial<NotificationSettings>>({});
  const forget = (change: Partial<NotificationSettings>) =>
    setPending((now) => Object.fromEntries(Object.entries(now).filter(([name]) => !(name in change))));
  const save = async (change: Partial<NotificationSettings>) => {
    setPending((now) => ({ ...now, ...change }));
    try {
      queryClient.setQueryData(KEY, await notificationsApi.change(change));
      toast(t('settings.saved'));
    } catch (error) {
      toast(errorText(error, t), 'wrong');
    }
    notifyManager.schedule(() => forget(change)); // after the saved settings are here
  };
  return { shown: { ...settings, ...pending }, save };
}

function ThisDevice() {
  const { t, language } = useSpeech();
  const [state, setState] = useState(() => permission());
  const [busy, setBusy] = useState(false);
  const on = state === 'granted';
  const turn = async () => {
    setBusy(true);
    const found = await switchOn(language);
    setState(permission());
    if (found === 'denied') toast(t('notify.denied'), 'wrong');
    else toast(t(found === 'push' ? 'notify.pushOn' : 'notify.pageOn'));
    await queryClient.invalidateQueries({ queryKey: ['push'] });
    setBusy(false);
  };
  if (state === 'missing') return <p className="text-sm text-quiet">{t('notify.missing')}</p>;
  return (
    <div className="flex flex-wrap items-center gap-3">
      <p className="min-w-0 flex-1 basis-60 text-sm text-quiet">{t(on ? 'notify.isOn' : 'notify.about')}</p>
      <Button small busy={busy} icon="bell" onClick={() => void turn()}>
        {t(on ? 'notify.renew' : 'notify.turnOn')}
      </Button>
    </div>
  );
}

function Kinds({ settings }: { settings: NotificationSettings }) {
  const t = useT();
  const { shown, save } = useChanges(settings);
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="pb-1.5 text-sm font-medium">{t('notify.kinds')}</legend>
      {KINDS.map(([name, label]) => (
        <Checkbox
          key={name}
          label={t(label)}
          checked={Boolean(shown[name])}
          onChange={(event) => void save({ [name]: event.target.checked })}
        />
      ))}
    </fieldset>
  );
}

function QuietHours({ settings }: { settings: NotificationSettings }) {
  const t = useT();
  const { save } = useChanges(settings);
  const [from, setFrom] = useState(settings.quiet_from?.slice(0, 5) ?? '');
  const [until, setUntil] = useState(settings.quiet_until?.slice(0, 5) ?? '');
  return (
    <form
      className="flex flex-wrap items-end gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        void save({ quiet_from: from || null, quiet_until: until || null });
      }}
    >
      <TextField
        label={t('notify.quietFrom')}
        type="time"
        value={from}
        onChange={(event) => setFrom(event.target.value)}
      />
      <TextField
        label={t('notify.quietUntil')}
        type="time"
        value={until}
        onChange={(event) => setUntil(event.target.value)}
      />
      <Button type="submit">{t('notify.quietSave')}</Button>
      <p className="basis-full text-[13px] text-quiet">{t('notify.quietAbout')}</p>
    </form>
  );
}

function Devices({ settings }: { settings: NotificationSettings }) {
  const t = useT();
  const { shown, save } = useChanges(settings);
  const { data } = useQuery({ queryKey: ['push'], queryFn: notificationsApi.push });
  const devices = data?.subscriptions ?? [];
  if (devices.length === 0) return null;
  const test = () =>
    notificationsApi
      .test()
      .then(() => toast(t('notify.testSent')))
      .catch((error: unknown) => toast(errorText(error, t), 'wrong'));
  return (
    <section className="flex flex-col gap-3" aria-label={t('notify.devices')}>
      <h3 className="text-sm font-medium">{t('notify.devices')}</h3>
      <ul className="flex flex-col gap-1">
        {devices.map((device) => (
          <Device key={device.id} device={device as PushDevice} />
        ))}
      </ul>
      <Checkbox
        label={t('notify.allDevices')}
        checked={shown.all_devices}
        onChange={(event) => void save({ all_devices: event.target.checked })}
      />
      <Button small className="self-start" onClick={() => void test()}>
        {t('notify.test')}
      </Button>
    </section>
  );
}

function Device({ device }: { device: PushDevice }) {
  const t = useT();
  const name = device.name || device.host;
  const remove = async () => {
    try {
      if (device.id === deviceId()) await switchOff();
      else await notificationsApi.unsubscribe(device.id);
    } catch (error) {
      toast(errorText(error, t), 'wrong');
    }
    await queryClient.invalidateQueries({ queryKey: ['push'] });
  };
  return (
    <li className="flex items-center gap-2 text-sm">
      <span className="min-w-0 flex-1 truncate">{name}</span>
      <span className="text-[13px] text-quiet">
        <Ago when={device.used_at} />
      </span>
      <IconButton icon="trash" size="small" label={t('notify.remove', { name })} onClick={() => void remove()} />
    </li>
  );
}
