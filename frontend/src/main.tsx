import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/App';
import { TooltipProvider } from './components/Tooltip';
import { Languages, loadLanguage } from './i18n';
import { hints } from './live/hints';
import { queryClient } from './api/queries';
import { reloadAfterUpdate } from './browser/reloadAfterUpdate';
import './styles.css';

const root = document.getElementById('root');
if (root) {
  reloadAfterUpdate();
  hints.start();
  void loadLanguage().then((spoken) =>
    createRoot(root).render(
      <StrictMode>
        <Languages first={spoken}>
          <QueryClientProvider client={queryClient}>
            <TooltipProvider delayDuration={400}>
              <App />
            </TooltipProvider>
          </QueryClientProvider>
        </Languages>
      </StrictMode>,
    ),
  );
}
