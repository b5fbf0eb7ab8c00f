// Whether the drawer with the conversations is open, on screens too small to show it always.
import { createContext, useContext } from 'react';

export type Drawer = { open: boolean; set: (open: boolean) => void };
export const DrawerContext = createContext<Drawer>({ open: false, set: () => undefined });
export const useDrawer = () => useContext(DrawerContext);
