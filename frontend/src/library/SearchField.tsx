import { Icon } from '../components/icons';

export function SearchField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <span className="relative">
      <Icon name="search" size={15} className="absolute top-2.5 left-3 text-quiet" />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className="h-9 w-52 rounded-lg border border-line-strong bg-card pr-3 pl-9 text-sm placeholder:text-quiet"
      />
    </span>
  );
}
