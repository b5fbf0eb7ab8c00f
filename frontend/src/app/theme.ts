import { useEffect } from 'react';
import { useMe } from '../api/queries';
import { recall } from '../browser/storage';
import { setTheme } from '../browser/theme';

/** Without a choice in this browser, the account's theme is used. */
export function useThemeOfAccount(): void {
  const theme = useMe().data?.theme;
  useEffect(() => {
    if (theme && theme !== 'system' && recall('theme') === null) setTheme(theme);
  }, [theme]);
}
