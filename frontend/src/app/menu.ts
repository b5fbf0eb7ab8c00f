// Whether the drawer with the conversations is open on small screens.
import { createContext, useContext } from 'react';

export type Drawer = { open: boolean; set: (open: boolean) => void };
export const DrawerContext = createContext<Drawer>({ open: false, set: () => undefined });
export const useDrawer = () => useContext(DrawerContext);
