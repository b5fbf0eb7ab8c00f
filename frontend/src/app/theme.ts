import { useEffect } from 'react';
import { useMe } from '../api/queries';
import { recall } from '../browser/storage';
import { setTheme } from '../browser/theme';

/** A browser that has no choice of its own takes the account's. */
export function useThemeOfAccount(): void {
  const theme = useMe().data?.theme;
  useEffect(() => {
    if (theme && theme !== 'system' && recall('theme') === null) setTheme(theme);
  }, [theme]);
}
