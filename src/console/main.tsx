import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { readMode } from './data/client.ts';
import { goLive, queries } from './data/live.ts';
import { router } from './shell/router.tsx';
import { applyTheme, readTheme } from './shell/theme.ts';
import './ui/tokens.css';
import './shell/shell.css';

applyTheme(readTheme());
goLive(await readMode());
const place = document.getElementById('root');
if (place === null) throw new Error('index.html has no #root');
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
