import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { readMode } from './data/client.ts';
import { goLive, queries } from './data/live.ts';
import { keepFocus } from './shell/keep-focus.ts';
import { router } from './shell/router.tsx';
import { StartError } from './shell/shell.tsx';
import { applyTheme, readTheme } from './shell/theme.ts';
import { preloadParts } from './ui/lazy-part.tsx';
import './ui/tokens.css';
import './ui/ui.css';
import './shell/shell.css';

/** The first screen is read before the rest of the page. */
const PRELOAD_AFTER_MS = 500;

applyTheme(readTheme());
keepFocus();
const place = document.getElementById('root');
if (place === null) throw new Error('index.html has no #root');
const root = createRoot(place);

/** Draws the page once it is known what it is connected to. */
async function start(): Promise<void> {
  try {
    goLive(await readMode());
  } catch (error) {
    root.render(<StartError error={error} onRetry={() => void start()} />);
    return;
  }
  root.render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}

await start();
setTimeout(preloadParts, PRELOAD_AFTER_MS);
