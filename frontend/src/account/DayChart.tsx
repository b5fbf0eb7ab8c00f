import { useState } from 'react';
import { useFormat } from '../i18n/format';
import type { Day } from './api';
import { bars, labelled, scaleTop } from './chart';

const [WIDTH, HEIGHT, LEFT, FOOT] = [380, 130, 52, 24];

type Props = { title: string; days: Day[]; valueOf: (day: Day) => number; show: (value: number) => string };

/** One value per day as bars, and as a table for screen readers. */
export function DayChart({ title, days, valueOf, show }: Props) {
  const format = useFormat();
  const [chosen, setChosen] = useState<number | null>(null);
  const values = days.map(valueOf);
  const top = scaleTop(values);
  const drawn = bars([...values, top], WIDTH * ((days.length + 1) / Math.max(days.length, 1)), HEIGHT).slice(0, -1);
  const labels = new Set(labelled(days.length, 5));
  const day = chosen === null ? undefined : days[chosen];
  return (
    <figure className="panel p-5">
      <figcaption className="flex items-baseline justify-between gap-4 pb-4">
        <span className="text-sm font-medium">{title}</span>
        <span className="text-[13px] text-quiet tabular-nums">
          {day
            ? `${format.shortDay(`${day.date}T12:00`)}: ${show(valueOf(day))}`
            : show(values.reduce((sum, value) => sum + value, 0))}
        </span>
      </figcaption>
      <svg
        viewBox={`0 -8 ${LEFT + WIDTH + 12} ${HEIGHT + FOOT + 8}`}
        className="w-full"
        aria-hidden="true"
        onMouseLeave={() => setChosen(null)}
      >
        {[0, 0.5, 1].map((share) => (
          <g key={share}>
            <line
              x1={LEFT}
              x2={LEFT + WIDTH}
              y1={HEIGHT * (1 - share)}
              y2={HEIGHT * (1 - share)}
              stroke="var(--color-line)"
              strokeDasharray={share ? '3 4' : undefined}
            />
            <text
              x={LEFT - 8}
              y={HEIGHT * (1 - share)}
              textAnchor="end"
              dominantBaseline="middle"
              fontSize="11"
              fill="var(--color-quiet)"
            >
              {show(top * share)}
            </text>
          </g>
        ))}
        {drawn.map((bar, place) => (
          <g key={place} onMouseEnter={() => setChosen(place)}>
            <rect x={LEFT + bar.x} y={0} width={bar.width} height={HEIGHT} fill="transparent" />
            <rect
              x={LEFT + bar.x}
              y={HEIGHT - bar.height}
              width={bar.width}
              height={bar.height}
              rx={Math.min(3, bar.width / 3)}
              fill="var(--color-accent)"
              opacity={chosen === null || chosen === place ? 1 : 0.45}
            />
            {labels.has(place) && (
              <text
                x={LEFT + bar.x + bar.width / 2}
                y={HEIGHT + 16}
                textAnchor="middle"
                fontSize="11"
                fill="var(--color-quiet)"
              >
                {format.shortDay(`${days[place]!.date}T12:00`)}
              </text>
            )}
          </g>
        ))}
      </svg>
      <table className="sr-only">
        <caption>{title}</caption>
        <tbody>
          {days.map((entry) => (
            <tr key={entry.date}>
              <th scope="row">{format.date(`${entry.date}T12:00`)}</th>
              <td>{show(valueOf(entry))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
