import { type ComponentType, lazy } from 'react';

type Module<Props> = { default: ComponentType<Props> };

/** A page that is fetched when it is needed. One that was fetched ahead is shown at once, without a placeholder. */
export function lazyPage<Props extends object>(fetch: () => Promise<Module<Props>>) {
  let ready: ComponentType<Props> | null = null;
  const load = async () => {
    const module = await fetch();
    ready = module.default;
    return module;
  };
  const Lazy = lazy(load);
  const Page = (props: Props) => {
    const Shown = ready ?? Lazy;
    return <Shown {...props} />;
  };
  return { Page, load };
}
