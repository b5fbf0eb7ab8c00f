import { useState } from 'react';
import { errorText } from '../api/errorText';
import { toast } from '../app/toasts';
import { Button } from '../components/Button';
import { Dialog } from '../components/Dialog';
import { TextArea, TextField } from '../components/Field';
import { useT } from '../i18n';
import { accountApi, type ApiKey, type KeyLimits } from './api';

type Props = { row: ApiKey; onClose: () => void; onSaved: () => void };

const lines = (names: unknown) => (Array.isArray(names) ? names.join('\n') : '');
const names = (text: string) => {
  const found = text
    .split(/[\n,]/)
    .map((name) => name.trim())
    .filter(Boolean);
  return found.length ? found : null;
};
const amount = (text: string) => text.trim() || null;

const EXAMPLE_MODELS = 'copilot\nagent/*';

/** What a key may be used for under /v1; an empty field is no limit. */
export function KeyLimitsDialog({ row, onClose, onSaved }: Props) {
  const t = useT();
  const [models, setModels] = useState(lines(row.allowed_models));
  const [tools, setTools] = useState(lines(row.allowed_tools));
  const [rate, setRate] = useState(row.requests_per_minute?.toString() ?? '');
  const [day, setDay] = useState(row.day_limit ?? '');
  const [month, setMonth] = useState(row.month_limit ?? '');
  const save = async () => {
    const limits: KeyLimits = {
      allowed_models: names(models),
      allowed_tools: names(tools),
      requests_per_minute: rate.trim() ? Number(rate) : null,
      day_limit: amount(day),
      month_limit: amount(month),
    };
    try {
      await accountApi.changeKey(row.id, limits);
      onSaved();
      onClose();
    } catch (error) {
      toast(errorText(error, t), 'wrong');
    }
  };
  return (
    <Dialog open onClose={onClose} title={t('keys.limitsTitle', { name: row.name })} about={t('keys.limitsAbout')}>
      <form action={save} className="flex flex-col gap-4">
        <TextArea
          label={t('keys.models')}
          about={t('keys.modelsAbout')}
          placeholder={EXAMPLE_MODELS}
          value={models}
          onChange={(event) => setModels(event.target.value)}
        />
        <TextArea
          label={t('keys.tools')}
          about={t('keys.toolsAbout')}
          value={tools}
          onChange={(event) => setTools(event.target.value)}
        />
        <TextField
          label={t('keys.rate')}
          inputMode="numeric"
          pattern="[0-9]*"
          value={rate}
          onChange={(event) => setRate(event.target.value)}
        />
        <div className="grid grid-cols-2 gap-3">
          <TextField
            label={t('keys.day')}
            inputMode="decimal"
            value={day}
            onChange={(event) => setDay(event.target.value)}
          />
          <TextField
            label={t('keys.month')}
            inputMode="decimal"
            value={month}
            onChange={(event) => setMonth(event.target.value)}
          />
        </div>
        <div className="flex justify-end gap-2">
          <Button type="button" onClick={onClose}>
            {t('common.cancel')}
          </Button>
          <Button look="strong" type="submit">
            {t('common.save')}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
