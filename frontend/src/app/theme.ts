import { useEffect } from 'react';
import { useMe } from '../lib/queries';
import { recall } from '../lib/storage';
import { setTheme } from '../lib/theme';

/** A browser that has no choice of its own takes the account's. */
export function useThemeOfAccount(): void {
  const theme = useMe().data?.theme;
  useEffect(() => {
    if (theme && theme !== 'system' && recall('theme') === null) setTheme(theme);
  }, [theme]);
}
