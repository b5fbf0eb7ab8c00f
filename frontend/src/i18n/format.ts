// Numbers, sizes and times as the person's language writes them.
import { useMemo } from 'react';
import { useSpeech } from '.';

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

export function formatter(language: string) {
  const date = new Intl.DateTimeFormat(language, { dateStyle: 'medium' });
  const moment = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' });
  const clock = new Intl.DateTimeFormat(language, { timeStyle: 'short' });
  const shortDay = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short' });
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' });
  const plain = new Intl.NumberFormat(language);
  const compact = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 });
  const money = (digits: number) =>
    new Intl.NumberFormat(language, { style: 'currency', currency: 'USD', maximumFractionDigits: digits });
  return {
    date: (when: string | Date) => date.format(new Date(when)),
    moment: (when: string | Date) => moment.format(new Date(when)),
    clock: (when: string | Date) => clock.format(new Date(when)),
    shortDay: (when: string | Date) => shortDay.format(new Date(when)),
    number: (value: number) => plain.format(value),
    compact: (value: number) => compact.format(value),
    money: (value: number) => money(value !== 0 && Math.abs(value) < 0.1 ? 4 : 2).format(value),
    ago: (when: string | Date, now = Date.now()) => {
      const seconds = (new Date(when).getTime() - now) / 1000;
      const [unit, length] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1];
      return relative.format(Math.round(seconds / length), unit);
    },
    size: (bytes: number) => {
      const names = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const;
      const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), names.length - 1);
      const style = {
        style: 'unit',
        unit: names[power]!,
        unitDisplay: power ? 'short' : 'long',
        maximumFractionDigits: power ? 1 : 0,
      } as const;
      return new Intl.NumberFormat(language, style).format(bytes / 1000 ** power);
    },
    span: (seconds: number) => {
      const unit = seconds < 1 ? 'millisecond' : seconds < 90 ? 'second' : seconds < 5400 ? 'minute' : 'hour';
      const value = seconds / { millisecond: 0.001, second: 1, minute: 60, hour: 3600 }[unit];
      const style = {
        style: 'unit',
        unit,
        unitDisplay: 'short',
        maximumFractionDigits: value < 10 && unit !== 'millisecond' ? 1 : 0,
      } as const;
      return new Intl.NumberFormat(language, style).format(value);
    },
  };
}

export type Format = ReturnType<typeof formatter>;

export function useFormat(): Format {
  const { language } = useSpeech();
  return useMemo(() => formatter(language), [language]);
}
